"""A live picture of one cluster's modules: what the catalog needs, watched from the first moment until `close`."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kymatui.adapters.sessions.cluster.cluster_target import read_cluster_target
from kymatui.adapters.sessions.cluster.completion_cache import save_session_names
from kymatui.adapters.sessions.cluster.configured_rules import read_configured_rules
from kymatui.adapters.sessions.cluster.object_read import read_object
from kymatui.adapters.sessions.cluster.session_options import SessionOptions
from kymatui.adapters.sessions.feeds.community_catalogs import CommunityCatalogs
from kymatui.adapters.sessions.feeds.crd_metadata import CrdMetadata, crd_name
from kymatui.adapters.sessions.feeds.event_feeds import EventFollower
from kymatui.adapters.sessions.feeds.feeds import Feeds
from kymatui.adapters.sessions.feeds.garbage_collector import raise_gc_thresholds
from kymatui.adapters.sessions.feeds.owned_feeds import OwnedFollower
from kymatui.adapters.sessions.feeds.watched_kinds import (
    DEFINITION,
    DEFINITIONS,
    KYMA_KINDS,
    KYMA_NAMESPACE,
    WATCHED_KINDS,
    WORKLOADS,
    module_kinds,
)
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Object, Snapshot
from kymatui.errors import ForbiddenError, KymatuiError, NotFoundError, ServerError, ThrottledError

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.client import Client
    from kymatui.adapters.kube.objects.api_resource import ApiResource
    from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
    from kymatui.adapters.kube.watch.watch import WatchTiming
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.domain.kyma.maintenance_windows import ControllerSettings
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.domain.remote.watcher_chains import WatcherChain

_PROBE = 120.0  # between two looks for kinds where the definitions cannot be watched
# Definitions come in bursts, and a new one is served a moment after it is there: seconds between the looks.
_SETTLE = (0.25, 1.0, 2.0, 4.0, 8.0, 16.0)


def open_session(options: SessionOptions, timing: WatchTiming | None = None) -> CatalogSession:
    """Reads the configuration; raises ConfigurationError where it cannot be used. Nothing is sent before `start`."""
    from kymatui.adapters.kube.api.client import Client
    from kymatui.adapters.kube.api.discovery import Discovery
    from kymatui.adapters.kube.api.discovery_cache import DiscoveryCache
    from kymatui.adapters.kube.auth.connection import connect
    from kymatui.adapters.kube.transport.transport import Transport

    connection = connect(options.kubeconfig, options.context, options.namespace)
    transport = Transport(connection, read_only=options.read_only)
    cache = DiscoveryCache(connection.endpoint.server, f"{connection.context}/{connection.user}")
    rules = read_configured_rules(options.maintenance_policy, options.restricted_modules)
    return CatalogSession(Client(transport, Discovery(transport, cache)), options, timing, rules)


class CatalogSession:
    """Follows everything that a catalog is made of. Kinds are found by discovery, again whenever definitions change."""

    def __init__(
        self,
        client: Client,
        options: SessionOptions,
        timing: WatchTiming | None = None,
        rules: ControllerSettings | None = None,
    ) -> None:
        from kymatui.adapters.kube.watch.watch_cache import ChangeBell

        self.client = client
        self._options = options
        self._on_change: Callable[[], None] = lambda: None
        self._bell = ChangeBell(self._call)
        self._feeds = Feeds(client, self._changed, timing, once=options.once)
        self._events = EventFollower(self._feeds)
        self._owned = OwnedFollower(self._feeds, client.discovery)
        self._definitions = CrdMetadata()
        self._rules = rules
        self._catalogs = CommunityCatalogs(options.catalogs, self._changed)
        self._told: tuple[Object, ...] = ()
        self._look = threading.Event()
        self._state = threading.Condition()
        self._closed = threading.Event()
        self._failure: KymatuiError | None = None
        self._looked_at: object = None
        self._seen_definitions: frozenset[str] = frozenset()
        self._tries = 0
        self._due: float | None = None
        self._resources: Mapping[str, ApiResource] = {}
        self._modules: dict[tuple[str, str], str] = {}
        self._thread = threading.Thread(target=self._direct, name="catalog-session", daemon=True)

    # what front ends use

    @property
    def name(self) -> str:
        """Return the context's name."""
        return self.client.transport.connection.context

    title = ""
    """A cluster is named after its context."""
    kyma: RuntimeKey | None = None
    """Only the Kyma of a runtime is on another cluster."""
    notes: Sequence[str] = ()
    is_connected = True

    @property
    def namespace(self) -> str:
        return self.client.transport.connection.namespace

    @property
    def cluster(self) -> KubeCluster:
        from kymatui.adapters.sessions.cluster.cluster_access import cluster_of

        return cluster_of(self.client)

    @property
    def home(self) -> KubeCluster:
        return self.cluster

    @property
    def kymas(self) -> Sequence[Object]:
        """Return the Kymas that are edited."""
        return self._feeds.objects(KYMA_KINDS[0].feed)

    def pair(self) -> None:
        """Return None: there is one cluster."""

    def chains(self) -> tuple[WatcherChain, ...]:
        return ()

    @property
    def target(self) -> ClusterTarget:
        """Return the cluster as plans and confirmations name it."""
        return read_cluster_target(self.client)

    @property
    def read_only(self) -> bool:
        """Return whether the session refuses every write request."""
        return self.client.transport.read_only

    @property
    def feeds(self) -> Mapping[str, Feed]:
        """Return each feed's state by resource name, including catalogs from outside the cluster."""
        return {**self._feeds.states(), **self._catalogs.feeds()}

    @property
    def failure(self) -> KymatuiError | None:
        """Why the server cannot be asked at present; None while it can."""
        return self._failure

    @property
    def requests(self) -> Mapping[str, int]:
        """Return the number of requests sent, by verb."""
        return dict(self.client.transport.counts)

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of read requests sent, and of requests that can write."""
        transport = self.client.transport
        return transport.counts.total() - transport.writes, transport.writes

    def start(self, on_change: Callable[[], None]) -> None:
        """Begins to watch. `on_change` is called from any thread, and then not again until `snapshot` was called."""
        raise_gc_thresholds()
        self._on_change = on_change
        self._feeds.expect(fixed.feed for fixed in WATCHED_KINDS)
        self._catalogs.start()
        self._thread.start()

    def _call(self) -> None:
        self._on_change()

    def snapshot(self) -> Snapshot:
        """Everything that is known now; never waits for the server."""
        self._bell.looked()
        feeds = self._feeds
        return Snapshot(
            cluster=self.name,
            kymas=feeds.objects(KYMA_KINDS[0].feed),
            templates=feeds.objects(KYMA_KINDS[1].feed),
            release_metas=feeds.objects(KYMA_KINDS[2].feed),
            manifests=feeds.objects(KYMA_KINDS[3].feed),
            module_resources=self._module_resources(),
            workloads=tuple(item for fixed in WORKLOADS for item in feeds.objects(fixed.feed)),
            definitions=self._definitions.of(feeds.objects(DEFINITIONS), self._resources),
            events=self._events.objects(),
            owned=self._owned.objects(),
            places=self._owned.places(),
            feeds=self.feeds,
            taken_at=time.time(),
            outside=self._catalogs.templates,
            raw_manifests=self._catalogs.raw_manifests,
            rules=self._rules,
        )

    def tell_templates(self, templates: tuple[Object, ...]) -> None:
        """Templates that are not in this cluster, though their modules may be: a control plane's own.

        Their resources are followed, too.
        """
        if templates is not self._told:
            self._told = templates
            self._wake()

    def follow_events(self, refs: Iterable[ObjectRef]) -> None:
        """Follows the events of these objects (and what else happens in their namespaces) until the next call.

        One list and watch a namespace, for a few namespaces; with no objects none. Not to be called by two threads.
        """
        self._events.follow(refs)
        self._bell.ring()

    def follow_owned(self, refs: Iterable[ObjectRef]) -> None:
        """Follows the kinds of these objects where they are, and the Pods and the like of workloads among them.

        Until the next call; with no objects nothing. Not to be called by two threads. What discovery cannot tell now is
        not followed.
        """
        with contextlib.suppress(KymatuiError):
            self._owned.follow(refs)
        self._bell.ring()

    def read(self, ref: ObjectRef) -> Object:
        """Return one object whole, of a Secret its metadata alone. Asks the server, and raises what it answers."""
        return read_object(self.client, ref)

    def retry(self) -> None:
        """Asks the server now for what failed, is forbidden, or is not there."""
        self.client.discovery.invalidate()
        self._feeds.retry()
        self._catalogs.retry()
        self._wake()

    def close(self) -> None:
        """Ends all watches; waits two seconds at most. The names that were seen are kept for shells to complete."""
        connection = self.client.transport.connection
        if not self._closed.is_set() and not connection.given:  # what a Secret leads to has no context to complete for
            save_session_names(connection.key, self.snapshot())
        self._closed.set()
        self._look.set()
        with self._state:
            self._state.notify_all()
        self._catalogs.close()
        self._feeds.close()
        self.client.transport.close()

    def wait_complete(self, timeout: float) -> bool:
        """Waits until every kind has been listed or refused; False where that took too long.

        Raises what keeps the server from being asked at all: no connection, refused credentials, a broken plugin, a
        login page; at once where waiting does not help, else when the time is over.
        """
        deadline = time.monotonic() + timeout
        with self._state:
            while not self._complete():
                left = deadline - time.monotonic()
                if self._failure is not None and (left <= 0 or not _passes(self._failure)):
                    raise self._failure
                if left <= 0 or self._closed.is_set():
                    return False
                self._state.wait(left)
        return True

    def require_kyma(self) -> None:
        """Raises where nothing of Kyma can be shown: it is not there, may not be read, or fails.

        Modules from elsewhere can be shown on any cluster.
        """
        if self._catalogs.templates:
            return
        states = self.feeds
        found = [states[fixed.feed] for fixed in KYMA_KINDS if fixed.feed in states]
        kinds = {feed.state for feed in found}
        if kinds <= {FeedState.ABSENT}:
            raise NotFoundError(
                f"the cluster of {self.name!r} has no Kyma: it serves none of the kinds of {KYMA_KINDS[0].group}",
                hint="install Kyma's CustomResourceDefinitions and lifecycle-manager, choose another --context, "
                "or try `kymatui demo`",
            )
        said = next((feed.message for feed in found if feed.state in (FeedState.FORBIDDEN, FeedState.FAILED)), "")
        if kinds <= {FeedState.ABSENT, FeedState.FORBIDDEN}:
            raise ForbiddenError(
                f"you may read nothing of Kyma in the cluster of {self.name!r}: {said}",
                hint=f"ask for the right to list and watch {KYMA_KINDS[0].group}, or use another --context",
            )
        if kinds <= {FeedState.ABSENT, FeedState.FORBIDDEN, FeedState.FAILED}:
            raise ServerError(f"the cluster of {self.name!r} lists nothing of Kyma: {said}", hint="try again later")

    # the director: which kinds are watched

    def _direct(self) -> None:
        attempt = 0
        while not self._closed.is_set():
            self._look.clear()
            try:
                self._arrange()
                self._failure, attempt = None, 0
            except KymatuiError as error:
                attempt += 1
                self._failure = error
                self._feeds.failed(str(error))
                self._bell.ring()
            with self._state:
                self._state.notify_all()
            self._look.wait(self._pause(attempt))

    def _pause(self, attempt: int) -> float | None:
        if attempt:
            return float(min(30.0, 0.5 * 2 ** min(attempt - 1, 6)))
        if self._due is not None:
            return max(0.0, self._due - time.monotonic())
        definitions = self._feeds.states().get(DEFINITIONS)
        followed = definitions is not None and definitions.state in (FeedState.LIVE, FeedState.SYNCING)
        return None if followed else _PROBE

    def _arrange(self) -> None:
        looked_at = self._inputs()
        self._notice_definitions()
        for fixed in WATCHED_KINDS:
            resource = self.client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
            if resource is None:
                self._feeds.absent(fixed.feed, f"the cluster does not serve {fixed.kind} of {fixed.group}")
            else:
                self._follow(fixed.feed, resource)
        self._arrange_modules()
        self._resources = {resource.name: resource for resource in self.client.discovery.known()}
        self._settled()
        self._looked_at = looked_at

    def _follow(self, feed: str, resource: ApiResource) -> None:
        from kymatui.adapters.kube.watch.projections import MetadataOnly, Workload

        decode: Any = {"apps": Workload, DEFINITION.group: MetadataOnly}.get(resource.group)
        wanted = (self._options.namespace, KYMA_NAMESPACE, self.namespace)
        self._feeds.follow(
            feed,
            resource,
            namespaces=tuple(dict.fromkeys(name for name in wanted if name)),
            decode=decode,
            metadata_only=resource.group == DEFINITION.group,
            missing=self._missing,
        )

    def _arrange_modules(self) -> None:
        wanted: dict[tuple[str, str], str] = {}
        for (group, kind), versions in self._wanted_kinds().items():
            resource = self.client.discovery.find_kind(group, kind, versions)
            if resource is None:
                # The plural is unknown here: kubectl takes the kind in its place, and so does this name.
                wanted[group, kind] = f"{kind.lower()}.{group}"
                self._feeds.absent(wanted[group, kind], f"the cluster does not serve {kind} of {group}")
            else:
                wanted[group, kind] = resource.name
                self._follow(resource.name, resource)
        for key, name in self._modules.items():
            if wanted.get(key) != name and name not in wanted.values():
                self._feeds.drop(name)
        self._modules = wanted

    def _wanted_kinds(self) -> dict[tuple[str, str], tuple[str, ...]]:
        return module_kinds((*self._feeds.objects(KYMA_KINDS[1].feed), *self._told), self._catalogs.templates)

    def _notice_definitions(self) -> None:
        """Kinds that came or went make what is known of the server old; asked again until all are served."""
        now = frozenset(crd_name(item) for item in self._feeds.objects(DEFINITIONS))
        known = {resource.name for resource in self.client.discovery.known()}
        if now != self._seen_definitions:
            outdated = bool(now - known) or bool((self._seen_definitions - now) & known)
            self._seen_definitions, self._tries = now, 0
            self._due = time.monotonic() + _SETTLE[0] if outdated else None
        elif self._due is not None and time.monotonic() >= self._due:
            self.client.discovery.invalidate()
            self._tries += 1
            self._due = time.monotonic() + _SETTLE[self._tries] if self._tries < len(_SETTLE) else None

    def _settled(self) -> None:
        """Once every definition is served, and nothing else, there is no need to look again."""
        known = {resource.name for resource in self.client.discovery.known()}
        if self._tries and not self._seen_definitions - known:
            self._due = None

    def _missing(self) -> None:
        """A kind that was there is answered with 404."""
        self.client.discovery.invalidate()
        self._wake()

    def _changed(self) -> None:
        if self._inputs() != self._looked_at:
            self._wake()
        with self._state:
            self._state.notify_all()
        self._bell.ring()

    def _inputs(self) -> object:
        """Return the inputs that select the watched kinds; the same tuples until one changes."""
        templates, outside = self._feeds.objects(KYMA_KINDS[1].feed), self._catalogs.templates
        return _Same(templates), _Same(outside), _Same(self._told), _Same(self._feeds.objects(DEFINITIONS))

    def _wake(self) -> None:
        self._look.set()

    def _complete(self) -> bool:
        states = self.feeds.values()
        listed = bool(states) and all(feed.state is not FeedState.SYNCING for feed in states)
        looking = self._look.is_set() or (self._due is not None and not self._tries)
        return listed and not looking and self._looked_at == self._inputs()

    # reading

    def _module_resources(self) -> dict[GroupVersionKind, tuple[Object, ...]]:
        found: dict[GroupVersionKind, tuple[Object, ...]] = {}
        for name in dict(self._modules).values():
            kind = self._feeds.kind(name)
            if kind is not None:
                found[kind] = self._feeds.objects(name)
        return found


def _passes(failure: KymatuiError) -> bool:
    """Return whether a failure may be temporary, such as a busy or failing server."""
    return isinstance(failure, ThrottledError) or (isinstance(failure, ServerError) and failure.status >= 500)


class _Same:
    """Compares by identity."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]
