"""The observed objects of one cluster as plain JSON, with the status of each list.

Adapters fill a `Snapshot`; the domain computes rows and explanations from it, without a server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.errors import KymatuiError, UnauthorizedError

if TYPE_CHECKING:
    from kymatui.domain.kyma.kyma_keeper import KeeperLease
    from kymatui.domain.kyma.maintenance_windows import ControllerSettings


Made = TypeVar("Made")


class ReadCache:
    """The cache of the last result of each computation, with its input objects.

    Inputs are compared by identity, so the objects of a snapshot must never be changed in place. A cache is for one
    caller: two threads that share one lose time, but stay correct.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[object, ...], tuple[Sequence[object], ...], object]] = {}

    def recall(
        self, name: str, inputs: tuple[Sequence[object], ...], make: Callable[[], Made], *others: object
    ) -> Made:
        """Return the last result under this name if inputs and `others` are the same, else compute it."""
        kept = self._kept.get(name)
        if kept is not None and kept[0] == others and all(map(same_items, kept[1], inputs)):
            return kept[2]  # type: ignore[return-value]  # what is kept under one name is made by one function
        value = make()
        self._kept[name] = (others, inputs, value)
        return value

    def forget_others(self, prefix: str, names: Iterable[str]) -> None:
        """Delete the results under names with this prefix, except for `names`."""
        keys = {prefix + name for name in names}
        for name in list(self._kept):  # copied in one step: another thread may add names meanwhile
            if name.startswith(prefix) and name not in keys:
                self._kept.pop(name, None)


def same_items(values: Sequence[object], other: Sequence[object]) -> bool:
    return values is other or (len(values) == len(other) and all(a is b for a, b in zip(values, other, strict=True)))


Object = Mapping[str, Any]

CATALOG_FEED = "catalog "
"""The prefix of feed names of catalogs outside the cluster."""


LOGIN_REJECTED = "The cluster rejects your login"

RUNTIME_FEED = "runtime"
"""The feed name for the runtime's own connection, apart from its control plane."""

EVENTS = "events"
"""The plural of the kind whose feeds have no objects of a module."""

PODS = "pods"
"""The plural of Pods, which are followed where a manager is not ready."""

_PLACE = " in "

NamespacedKind = tuple[str, str, str]
"""Group, kind and namespace, "" for a cluster-scoped kind."""


def namespaced_feed(plural: str, namespace: str) -> str:
    """Return the feed name of a kind that is followed in one namespace, while a screen needs it."""
    return f"{plural}{_PLACE}{namespace}"


def followed_kind(name: str) -> str:
    """Return the plural of a kind that is followed in one namespace, "" for all other feeds."""
    plural, separator, _ = name.partition(_PLACE)
    return plural if separator and not name.startswith(CATALOG_FEED) else ""


def is_namespaced_feed(name: str) -> bool:
    """Return whether a feed is followed only while a screen needs it."""
    return bool(followed_kind(name))


def count_listed(feeds: Mapping[str, Feed]) -> tuple[int, int]:
    """Return how many lists of a cluster came or were refused, and how many are awaited in all."""
    own = [feed for name, feed in feeds.items() if not name.startswith(CATALOG_FEED)]
    return sum(feed.state is not FeedState.SYNCING for feed in own), len(own)


class FeedState(StrEnum):
    """The states of a list and its watch."""

    SYNCING = "syncing"  # the first list is loading
    LIVE = "live"  # listed, and a watch is open
    STALE = "stale"  # was live; the server has not answered since `since`
    FORBIDDEN = "forbidden"  # the user may not list the kind
    ABSENT = "absent"  # the cluster does not serve the kind
    FAILED = "failed"  # the server never answered; `message` says why


class Feed(Struct, frozen=True):
    """The status of one list and its watch; `since` is in seconds of the Unix clock, 0 before the list.

    A list that failed for a reason that may pass is requested again before `retried_until`, on the same clock.
    `hint` says what to do about `message`; `is_login_rejected` means that only another login helps.
    """

    state: FeedState
    since: float = 0.0
    message: str = ""
    retried_until: float = 0.0
    hint: str = ""
    is_login_rejected: bool = False

    @classmethod
    def of_error(cls, state: FeedState, since: float, error: KymatuiError, retried_until: float = 0.0) -> Feed:
        """Return the status of a list, or a connection, that an error keeps from being read."""
        return cls(state, since, str(error), retried_until, error.hint, isinstance(error, UnauthorizedError))

    @property
    def login_advice(self) -> str:
        """Return what to do about a rejected login: "Log in again"."""
        hint = self.hint or "log in again"
        return f"{hint[:1].upper()}{hint[1:]}"


class Snapshot(Struct, frozen=True):
    """All observed objects of one cluster at one moment.

    `module_resources` has the module CRs by requested kind; `workloads` the Deployments, StatefulSets and
    DaemonSets that may be managers; `feeds` is keyed by resource name, as in
    "moduletemplates.operator.kyma-project.io" or "deployments.apps". `outside` has the ModuleTemplates of catalogs
    outside the cluster; their feeds are named `CATALOG_FEED` plus the address. `owned` has objects that controllers
    created (ReplicaSets, Pods, Jobs) and other module objects, where these are followed; `namespaced_kinds` tells where
    a kind is fully listed among them. `raw_manifests` are the workloads of known versions, by module and version;
    `rules` is the known configuration of lifecycle-manager. `joined` means that Kyma and catalog are the control
    plane's and all else is the runtime's; `runtime_kyma` is then the runtime's own Kyma, if it is known,
    `runtime_only` has the modules that only this one requests, and `taken_over` the users' templates
    on the runtime that the catalog sync overwrites. `inventories` are kymatui's ConfigMaps, `releases` the metadata of
    Helm's records. While a run on an installation is unfinished, `leases` are those that a living run may hold, None
    if they are not listed, and `applied` has the metadata of its objects by its record, as far as all are listed.
    `keeper_lease` is what works on the Kyma by its Lease, None where that is not read.
    """

    cluster: str
    kymas: tuple[Object, ...] = ()
    templates: tuple[Object, ...] = ()
    release_metas: tuple[Object, ...] = ()
    manifests: tuple[Object, ...] = ()
    module_resources: Mapping[GroupVersionKind, tuple[Object, ...]] = field(default_factory=dict)
    workloads: tuple[Object, ...] = ()
    definitions: tuple[Object, ...] = ()
    events: tuple[Object, ...] = ()
    feeds: Mapping[str, Feed] = field(default_factory=dict)
    taken_at: float = 0.0
    outside: tuple[Object, ...] = ()
    owned: tuple[Object, ...] = ()
    namespaced_kinds: frozenset[NamespacedKind] = frozenset()
    raw_manifests: Mapping[tuple[str, str], tuple[Object, ...]] = field(default_factory=dict)
    rules: ControllerSettings | None = None
    joined: bool = False
    runtime_kyma: Object | None = None
    runtime_only: frozenset[str] = frozenset()
    taken_over: tuple[Object, ...] = ()
    inventories: tuple[Object, ...] = ()
    releases: tuple[Object, ...] = ()
    leases: tuple[Object, ...] | None = None
    applied: Mapping[ObjectRef, tuple[Object, ...]] = field(default_factory=dict)
    keeper_lease: KeeperLease | None = None
