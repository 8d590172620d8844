"""What was observed in one cluster, as plain JSON objects, with how each kind's feed is doing.

Adapters fill a `Snapshot`; the domain reads rows and explanations out of it; nothing here asks a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kymatui.domain.kubernetes.refs import GroupVersionKind

if TYPE_CHECKING:
    from kymatui.domain.kyma.maintenance_windows import ControllerSettings

Object = Mapping[str, Any]

CATALOG_FEED = "catalog "
"""Begins the names of the feeds of catalogs outside of the cluster."""


RUNTIME_FEED = "runtime"
"""Under this name a snapshot of a runtime says how the runtime itself is doing, apart from its control plane."""

_PLACE = " in "

NamespacedKind = tuple[str, str, str]
"""Group, kind and namespace, "" for a kind that has none."""


def namespaced_feed(plural: str, namespace: str) -> str:
    """The name of the feed of a kind that is followed in one namespace only, while somebody looks there."""
    return f"{plural}{_PLACE}{namespace}"


def is_namespaced_feed(name: str) -> bool:
    """Whether a feed comes and goes with what is looked at."""
    return _PLACE in name and not name.startswith(CATALOG_FEED)


class FeedState(StrEnum):
    """How much a list of one kind can be believed."""

    SYNCING = "syncing"  # the first list is under way
    LIVE = "live"  # listed, and a watch is open
    STALE = "stale"  # was live; the server has not answered since `since`
    FORBIDDEN = "forbidden"  # this user may not list the kind
    ABSENT = "absent"  # the cluster does not serve the kind
    FAILED = "failed"  # it never answered; `message` says why


@dataclass(frozen=True, slots=True)
class Feed:
    """The condition of one kind's list and watch; `since` in seconds of the Unix clock, 0 before the first list."""

    state: FeedState
    since: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that is known of one cluster at one moment.

    `module_resources` holds the custom resources of modules by kind (the version that is asked for); `workloads` the
    Deployments, StatefulSets and DaemonSets that can be managers; `feeds` is keyed by resource name, as in
    "moduletemplates.operator.kyma-project.io" or "deployments.apps". `outside` holds ModuleTemplates of catalogs that
    are not in the cluster; their feeds are named `CATALOG_FEED` and the address. `owned` holds what controllers
    made of what is looked at (ReplicaSets, Pods, Jobs) and other objects of modules, where that is followed; `places`
    tells where everything of a kind is among them. `raw_manifests` are the workloads of known versions, by module and
    version; `rules` are lifecycle-manager's own configuration, as far as it is known here. `joined` says that the Kyma
    and the catalog are a control plane's, and all the rest is of its runtime.
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
    places: frozenset[NamespacedKind] = frozenset()
    raw_manifests: Mapping[tuple[str, str], tuple[Object, ...]] = field(default_factory=dict)
    rules: ControllerSettings | None = None
    joined: bool = False
