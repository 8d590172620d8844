"""The kinds that a catalog is made of: found by discovery, watched, and found again whenever CRDs change."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from msgspec.structs import replace

from kymatui.actions.operator_lease import LEASE
from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.projections import MetadataOnly, Workload
from kymatui.adapters.kube.watch.watch_cache import ChangeBell
from kymatui.domain.installed import INVENTORIES, RecordedInstallation, read_installations
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kyma_keeper import ELECTION, KeeperLease, read_lease, write_since
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.ownership import LABEL_PART_OF, read_owner
from kymatui.domain.snapshot.cluster_index import (
    INVENTORY_FEED,
    RELEASE_FEED,
    RELEASE_MAP_FEED,
    WORKLOAD_FEEDS,
    WORKLOADS,
    asked_keepers,
    choose_kyma,
)
from kymatui.domain.snapshot.snapshots import FeedState, Object, namespaced_feed
from kymatui.engine.jobs.identity import is_dead
from kymatui.errors import KymatuiError, NotFoundError
from kymatui.sessions.feeds.community_catalogs import CommunityCatalogs
from kymatui.sessions.feeds.feed_director import FeedDirector
from kymatui.sessions.feeds.feeds import (
    DEFINITIONS,
    KYMA_KINDS,
    KYMA_NAMESPACE,
    WATCHED_KINDS,
    Feeds,
    WatchedKind,
    module_kinds,
)

_PROBE = 120.0
"""Seconds between two calls of `arrange` where CRDs cannot be watched."""

_SETTLE = (0.25, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds between two discoveries: CRDs come in bursts, and a new one is served a moment after it is created."""


class CatalogFeeds:
    """Watches Kyma's kinds, workloads, CRDs, and the kinds of the module CRs that templates name."""

    def __init__(
        self, client: Client, feeds: Feeds, catalogs: CommunityCatalogs, namespace: str, bell: ChangeBell
    ) -> None:
        self._client = client
        self._feeds = feeds
        self._catalogs = catalogs
        self._namespace = namespace
        self._bell = bell
        self.director = FeedDirector("catalog-session", self.arrange, self.pause, feeds, bell)
        self._control_plane_templates: tuple[Object, ...] = ()
        self._crds = CrdMetadata()
        self.installed = InstalledFeeds(client, feeds)
        self.keeper = KeeperWatch()
        self._keepers: tuple[object, object, frozenset[Actor]] = ((), (), frozenset())
        self._arranged_for: object = None
        self._seen_crds: frozenset[str] = frozenset()
        self._tries = 0
        self._due: float | None = None
        self._resources: Mapping[str, ApiResource] = {}
        self._modules: dict[tuple[str, str], str] = {}

    def expect(self) -> None:
        """Mark every kind as loading before anything is known of the server."""
        self._feeds.expect(fixed.feed for fixed in WATCHED_KINDS)

    def use_namespace(self, namespace: str) -> None:
        """Read this namespace of kinds that may not be listed in all; for those that are watched from now on."""
        self._namespace = namespace

    def add_templates(self, templates: tuple[Object, ...]) -> bool:
        """Follow the module CRs of templates that another cluster has too; return whether they are new."""
        changed = templates is not self._control_plane_templates
        self._control_plane_templates = templates
        return changed

    def arrange(self) -> None:
        """Watch what the cluster serves now of everything that is needed. Raise what discovery raises."""
        arranged_for = self._inputs()
        self._notice_crds()
        for fixed in WATCHED_KINDS:
            if (resource := self._feeds.find(fixed)) is not None:
                self._follow(fixed.feed, resource, fixed)
        self.installed.arrange(self._namespaces)
        kyma = choose_kyma(self._feeds.objects(KYMA_KINDS[0].feed))
        namespace = read_ref(kyma).namespace if kyma is not None else KYMA_NAMESPACE
        if self.keeper.refresh(self._client, self._asked_keepers, (namespace,)):
            self._bell.ring()
        self._arrange_modules()
        self._resources = {resource.name: resource for resource in self._client.discovery.known()}
        if self._tries and not self._seen_crds - self._resources.keys():
            self._due = None  # every CRD is served
        self._arranged_for = arranged_for

    def pause(self) -> float | None:
        """Return the seconds until `arrange` is due; None while a change says so itself."""
        if self._due is not None:
            return max(0.0, self._due - time.monotonic())
        crds = self._feeds.states().get(DEFINITIONS)
        followed = crds is not None and crds.state in (FeedState.LIVE, FeedState.SYNCING)
        return self.keeper.pause if followed else _PROBE

    @property
    def is_outdated(self) -> bool:
        """Return whether templates or CRDs have changed since `arrange`."""
        return self._arranged_for != self._inputs()

    @property
    def is_settled(self) -> bool:
        """Return whether `arrange` has seen everything, and no CRD waits for its first discovery."""
        return not self.is_outdated and (self._due is None or bool(self._tries))

    @property
    def crds(self) -> tuple[Object, ...]:
        """Return the metadata of every CRD."""
        return self._crds.of(self._feeds.objects(DEFINITIONS), self._resources)

    def module_crs(self) -> dict[GroupVersionKind, tuple[Object, ...]]:
        """Return the module CRs by kind."""
        objects: dict[GroupVersionKind, tuple[Object, ...]] = {}
        for name in dict(self._modules).values():
            kind = self._feeds.kind(name)
            if kind is not None:
                objects[kind] = self._feeds.objects(name)
        return objects

    def _follow(self, feed: str, resource: ApiResource, fixed: WatchedKind | None = None) -> None:
        metadata_only = fixed is not None and fixed.metadata_only
        decode: Any = MetadataOnly if metadata_only else Workload if resource.group == "apps" else None
        self._feeds.follow(
            feed,
            resource,
            namespaces=self._namespaces,
            decode=decode,
            metadata_only=metadata_only,
            labels=fixed.labels if fixed is not None else "",
            missing=self._rediscover,
        )

    @property
    def _asked_keepers(self) -> frozenset[Actor]:
        """Return whose Leases are read; found again only if a Kyma or Manifest changed."""
        kymas, manifests = self._feeds.objects(KYMA_KINDS[0].feed), self._feeds.objects(KYMA_KINDS[3].feed)
        if self._keepers[0] is not kymas or self._keepers[1] is not manifests:
            self._keepers = kymas, manifests, asked_keepers(kymas, manifests)
        return self._keepers[2]

    @property
    def _namespaces(self) -> tuple[str, ...]:
        """Return the namespaces that are read of what may not be listed in all."""
        namespaces = (self._namespace, KYMA_NAMESPACE, self._client.transport.connection.namespace)
        return tuple(dict.fromkeys(name for name in namespaces if name))

    def _arrange_modules(self) -> None:
        names: dict[tuple[str, str], str] = {}
        templates = (*self._feeds.objects(KYMA_KINDS[1].feed), *self._control_plane_templates)
        defaults = tuple(
            installation.default_cr.kind
            for installation in self.installed.installations
            if installation.default_cr is not None
        )
        for (group, kind), versions in module_kinds(templates, self._catalogs.templates, defaults).items():
            resource = self._client.discovery.find_kind(group, kind, versions)
            if resource is None:
                # The plural is unknown here: kubectl takes the kind in its place, and so does this name.
                names[group, kind] = f"{kind.lower()}.{group}"
                self._feeds.absent(names[group, kind], f"the cluster does not serve {kind} of {group}")
            else:
                names[group, kind] = resource.name
                self._follow(resource.name, resource)
        for key, name in self._modules.items():
            if names.get(key) != name and name not in names.values():
                self._feeds.drop(name)
        self._modules = names

    def _notice_crds(self) -> None:
        """Discard discovery when CRDs came or went; again until all are served."""
        now = frozenset(crd_name(item) for item in self._feeds.objects(DEFINITIONS))
        known = {resource.name for resource in self._client.discovery.known()}
        if now != self._seen_crds:
            outdated = bool(now - known) or bool((self._seen_crds - now) & known)
            self._seen_crds, self._tries = now, 0
            self._due = time.monotonic() + _SETTLE[0] if outdated else None
        elif self._due is not None and time.monotonic() >= self._due:
            self._client.discovery.invalidate()
            self._tries += 1
            self._due = time.monotonic() + _SETTLE[self._tries] if self._tries < len(_SETTLE) else None

    def _rediscover(self) -> None:
        """Answer a 404 for a kind that was served."""
        self._client.discovery.invalidate()
        self.director.wake()

    def _inputs(self) -> object:
        """Return the inputs that select the watched kinds; the same tuples until one changes."""
        templates, outside = self._feeds.objects(KYMA_KINDS[1].feed), self._catalogs.templates
        crds = self._feeds.objects(DEFINITIONS)
        installed = self.installed.installations
        inputs = map(_Same, (templates, outside, self._control_plane_templates, crds, installed))
        return *inputs, self._asked_keepers, self.installed.perhaps_gone


class _Same:
    """Compares by identity."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]


# Definitions as far as names and readiness go: their metadata is watched, the rest is known from discovery.
#
# Whole definitions are megabytes. What discovery serves is established.


class CrdMetadata:
    """Makes each definition once: who compares by identity sees only those that changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._from: tuple[Sequence[Object], Mapping[str, ApiResource]] = ((), {})
        self._made: dict[int, tuple[Object, ApiResource | None, Object]] = {}
        self._all: tuple[Object, ...] = ()

    def of(self, items: Sequence[Object], served: Mapping[str, ApiResource]) -> tuple[Object, ...]:
        """Return the CRDs of these objects with their `served` resources; the same tuple until a change."""
        with self._lock:
            if self._from[0] is not items or self._from[1] is not served:
                self._made = {id(item): self._one(item, served) for item in items}
                self._all = tuple(definition for _, _, definition in self._made.values())
                self._from = items, served
            return self._all

    def _one(self, item: Object, served: Mapping[str, ApiResource]) -> tuple[Object, ApiResource | None, Object]:
        resource = served.get(crd_name(item))
        known = self._made.get(id(item))
        if known is not None and known[0] is item and known[1] == resource:
            return known
        return item, resource, _definition(item, resource)


def _definition(item: Object, resource: ApiResource | None) -> Object:
    plural, _, group = crd_name(item).partition(".")
    names = {"plural": plural, "kind": resource.kind if resource is not None else ""}
    scope = "Namespaced" if resource is None or resource.namespaced else "Cluster"
    definition: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": item.get("metadata") or {},
        "spec": {"group": group, "names": names, "scope": scope},
    }
    if resource is not None:
        conditions = [{"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established")]
        definition["status"] = {"conditions": conditions}
    return definition


def crd_name(item: Object) -> str:
    metadata = item.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, Mapping) else ""


def _workload_name(item: Object) -> tuple[str, str, str]:
    metadata = item.get("metadata")
    namespace = str(metadata.get("namespace") or "") if isinstance(metadata, Mapping) else ""
    return str(item.get("kind") or ""), namespace, crd_name(item)


def _lacks_workloads(
    installation: RecordedInstallation, listed: frozenset[str], existing: set[tuple[str, str, str]]
) -> bool:
    """Return whether a complete installation of kymatui had workloads, and none of them exists."""
    if installation.is_unfinished or not installation.is_own:
        return False
    names = {(ref.kind.kind, ref.namespace, ref.name) for ref in installation.refs if ref.kind.kind in WORKLOADS}
    return bool(names) and {kind for kind, _, _ in names} <= listed and names.isdisjoint(existing)


_VERBS: Final = ("get", "list", "watch")
LEASES: Final = ApiResource("coordination.k8s.io", "v1", "Lease", "leases", True, _VERBS)
_LEASE_FEED: Final = namespaced_feed("leases", "all namespaces")
_OF_HELM: Final = "app.kubernetes.io/managed-by=Helm"
_MOST: Final = 40  # kinds and namespaces of one installation that are listed
_LISTED: Final = (FeedState.LIVE, FeedState.STALE)


class InstalledFeeds:
    """Watches records of installations, and of unfinished and perhaps deleted ones which of their objects exist."""

    def __init__(self, client: Client, feeds: Feeds) -> None:
        self._client = client
        self._feeds = feeds
        self._releases: tuple[object, object, tuple[Object, ...]] = ((), (), ())
        self._read: tuple[object, object, tuple[RecordedInstallation, ...]] = ((), (), ())
        self._parts: dict[ObjectRef, tuple[RecordedInstallation, tuple[str, ...]]] = {}
        self._extra: frozenset[str] = frozenset()
        self._gone: tuple[tuple[object, ...], tuple[RecordedInstallation, ...]] = ((), ())

    @property
    def inventories(self) -> tuple[Object, ...]:
        return self._feeds.objects(INVENTORY_FEED)

    @property
    def releases(self) -> tuple[Object, ...]:
        """Return the metadata of the current revision of each Helm release; the same tuple until a change."""
        secrets, maps = self._feeds.objects(RELEASE_FEED), self._feeds.objects(RELEASE_MAP_FEED)
        if self._releases[0] is not secrets or self._releases[1] is not maps:
            self._releases = secrets, maps, (*secrets, *maps)
        return self._releases[2]

    @property
    def installations(self) -> tuple[RecordedInstallation, ...]:
        """Return what the records say; read again only if one changed."""
        inventories, releases = self.inventories, self.releases
        if self._read[0] is not inventories or self._read[1] is not releases:
            self._read = inventories, releases, read_installations(inventories, releases)
        return self._read[2]

    @property
    def perhaps_gone(self) -> tuple[RecordedInstallation, ...]:
        """Return what kymatui installed with workloads of which none exists; read again only if these changed."""
        listed = frozenset(kind for kind in WORKLOADS if self._is_listed(WORKLOAD_FEEDS[kind]))
        installations, workloads = self.installations, [self._feeds.objects(WORKLOAD_FEEDS[kind]) for kind in WORKLOADS]
        compared = listed, *map(_Same, (installations, *workloads))
        if compared != self._gone[0]:
            existing = {_workload_name(raw) for objects in workloads for raw in objects} if installations else set()
            self._gone = compared, tuple(entry for entry in installations if _lacks_workloads(entry, listed, existing))
        return self._gone[1]

    @property
    def leases(self) -> tuple[Object, ...] | None:
        """Return the Leases whose holder may live, None if they are not listed."""
        if not self._is_listed(_LEASE_FEED):
            return None
        objects = self._feeds.objects(_LEASE_FEED)
        return tuple(raw for raw in objects if not is_dead(str((raw.get("spec") or {}).get("holderIdentity") or "")))

    def applied(self) -> dict[ObjectRef, tuple[Object, ...]]:
        """Return the objects of the followed installations by their records, as far as all of them are listed."""
        bodies = {}
        for record, (installation, names) in dict(self._parts).items():
            if all(map(self._is_listed, names)):
                objects = (raw for name in names if name != DEFINITIONS for raw in self._feeds.objects(name))
                bodies[record] = tuple(
                    raw for raw in objects if not installation.is_chart or read_owner(raw) == installation.owner
                )
        return bodies

    def arrange(self, namespaces: tuple[str, ...]) -> None:
        """Follow the objects of unfinished and perhaps deleted installations, and Leases.

        Leases are followed in `namespaces` where not all may be listed.
        """
        unfinished = [entry for entry in self.installations if entry.is_unfinished]
        followed = set()
        if unfinished:
            followed.add(_LEASE_FEED)
            self._feeds.follow(_LEASE_FEED, LEASES, namespaces=namespaces, labels=INVENTORIES)
        parts = {}
        for installation in (*unfinished, *self.perhaps_gone):
            kinds = list(dict.fromkeys((ref.kind, ref.namespace) for ref in installation.refs))
            if installation.inventory is not None and len(kinds) <= _MOST:
                parts[installation.record] = installation, tuple(dict.fromkeys(self._follow(installation, kinds)))
                followed.update(name for name in parts[installation.record][1] if name != DEFINITIONS)
        self._parts = parts
        for name in self._extra - followed:
            self._feeds.drop(name)
        self._extra = frozenset(followed)

    def _follow(self, installation: RecordedInstallation, kinds: list[tuple[GroupVersionKind, str]]) -> Iterator[str]:
        """Follow what has the marks of an installation; yield the names of the feeds."""
        labels = _OF_HELM if installation.is_chart else f"{LABEL_PART_OF}={installation.owner.name}"
        for kind, namespace in kinds:
            resource = self._client.discovery.find_kind(kind.group, kind.kind, (kind.version,))
            if resource is None:  # a kind that is not served has no objects
                continue
            if resource.name == DEFINITIONS:
                yield DEFINITIONS
                continue
            name = f"{namespaced_feed(resource.name, namespace or 'the cluster')} of {installation.record.path}"
            self._feeds.follow(name, resource, only=namespace, labels=labels, decode=MetadataOnly, metadata_only=True)
            yield name

    def _is_listed(self, name: str) -> bool:
        feed = self._feeds.states().get(name)
        return feed is not None and feed.state in _LISTED


# What works on the Kymas of a cluster, by its Lease: read once, or now and then.

KEEPER_PERIOD: Final = 30.0  # seconds between two readings
_PATIENCE: Final = 2.0  # seconds until a server that does not answer is given up
_MOST_NAMESPACES: Final = 5  # that are asked: those with the most Kymas
_MOST_OBJECTS: Final = 20  # whose writers are read where a Lease says that nothing runs


class KeeperLeases:
    """The Leases that several sessions of a cluster read, each once in 30 s for all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[tuple[frozenset[Actor], frozenset[str]], tuple[float, KeeperLease | None]] = {}

    def read(self, client: Client, keepers: frozenset[Actor], namespaces: frozenset[str]) -> KeeperLease | None:
        """Return what runs; a Lease that was renewed between two readings proves it, whatever the clocks say."""
        with self._lock:
            read_at, before = self._answers.get((keepers, namespaces), (None, None))
            if read_at is not None and time.monotonic() - read_at < KEEPER_PERIOD:
                return before
            lease = read_keeper(client, keepers, namespaces)
            if before is not None and lease is not None and lease.is_renewed_since(before):
                lease = replace(lease, works=True, unread="")
            self._answers[keepers, namespaces] = time.monotonic(), lease
            return lease


class KeeperWatch:
    """Reads the Leases of what may work on the Kymas of a session, now and then; `lease` is None without one."""

    def __init__(self, leases: KeeperLeases | None = None) -> None:
        self.lease: KeeperLease | None = None
        self._leases = leases or KeeperLeases()
        self._asked: object = None
        self._due = 0.0

    @property
    def pause(self) -> float | None:
        """Return the seconds until `refresh` is due, None before it had something to ask for."""
        return max(0.0, self._due - time.monotonic()) if self._asked is not None else None

    def refresh(self, client: Client, keepers: frozenset[Actor], namespaces: Iterable[str]) -> bool:
        """Read the Leases if that is due; return whether what runs has changed. `namespaces` are those of the Kymas."""
        key = keepers, frozenset(namespaces)
        if key == self._asked and self.pause:
            return False
        before, self.lease = self.lease, self._leases.read(client, *key) if keepers else None
        self._asked, self._due = key if keepers else None, time.monotonic() + KEEPER_PERIOD
        return _known(before) != _known(self.lease)


def _known(lease: KeeperLease | None) -> tuple[Actor, bool, bool] | None:
    return None if lease is None else (lease.keeper, lease.works, bool(lease.unread))


def lease_namespaces(kymas: Iterable[str]) -> tuple[str, ...]:
    """Return where to look for lifecycle-manager's Lease, by the namespace of each Kyma: it runs beside them."""
    return tuple(name for name, _ in Counter(kymas).most_common(_MOST_NAMESPACES))


def read_keeper(client: Client, keepers: Iterable[Actor], namespaces: Collection[str]) -> KeeperLease | None:
    """Return what runs of these, by the Leases, else what does not; None where there is no Lease.

    A server that hangs is given up after 2 s.
    """
    leases = [lease for keeper in sorted(keepers) if (lease := _lease_of(client, keeper, sorted(namespaces)))]
    return min(leases, key=lambda lease: (not lease.works, bool(lease.unread)), default=None)


def _lease_of(client: Client, keeper: Actor, namespaces: Sequence[str]) -> KeeperLease | None:
    """Return the Lease that works, else one that is unread: it may be the one that counts."""
    cancel = threading.Event()
    timer = threading.Timer(_PATIENCE, cancel.set)
    timer.daemon = True
    timer.start()
    leases = []
    try:
        for namespace in (LEASE.namespace,) if keeper is Actor.OPERATOR else namespaces:
            if (lease := _read(client, keeper, namespace, cancel)) is not None:
                is_known = lease.works or lease.unread
                leases.append(lease if is_known else _doubted(client, lease, namespaces, cancel))
    except KymatuiError as error:  # callers go by what was written
        leases.append(KeeperLease("", keeper=keeper, unread=str(error)))
    finally:
        timer.cancel()
    return min(leases, key=lambda lease: (not lease.works, not lease.unread), default=None)


def _read(client: Client, keeper: Actor, namespace: str, cancel: threading.Event) -> KeeperLease | None:
    """Return what a Lease reports; None where lifecycle-manager has none: it may run without."""
    is_own = keeper is Actor.OPERATOR
    try:
        raw = client.get(LEASES, LEASE.name if is_own else ELECTION, namespace, cancel=cancel)
    except NotFoundError:
        return KeeperLease("", keeper=keeper) if is_own else None
    return read_lease(raw, client.transport.server_time(), is_dead if is_own else lambda _: False, keeper)


def _doubted(client: Client, lease: KeeperLease, namespaces: Sequence[str], cancel: threading.Event) -> KeeperLease:
    """Return the Lease of what does not run, as unread if it has written since: it may run without leader election."""
    for namespace, fixed in product(namespaces, (KYMA_KINDS[0], KYMA_KINDS[3])):
        resource = client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
        page = next(client.pages(resource, namespace, limit=_MOST_OBJECTS, cancel=cancel), None) if resource else None
        if page is not None and (written := write_since(lease, page.items, client.transport.server_time())):
            return replace(lease, unread=f"{lease.evidence}, but it wrote {written} later")
    return lease
