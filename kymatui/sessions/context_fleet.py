"""The contexts of a kubeconfig as a fleet for a screen: read whole once, then followed by a few watches each.

Of a context that is not open nothing is kept but its row. Four watches at the most deliver versions of objects without
the objects; when these differ from what was read, the context is read again.

The contexts of a campaign: each is connected to by itself, and known by the identity of its cluster.
"""

from __future__ import annotations

import gc
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from kymatui.adapters.kube.transport.heartbeat import HeartbeatTiming
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.adapters.kube.watch.watch_cache import ChangeBell
from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.domain.fleet.clusters import ClusterStatus, FleetCluster
from kymatui.domain.fleet.fleet_tracker import MAX_CHANGES, FleetChange, FleetSnapshot, RuntimeKey, runtime_changes
from kymatui.domain.fleet.runtimes import Runtime
from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kubernetes.object_meta import resource_version_of
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma_edit.module_edit import ModuleEdit
from kymatui.domain.plans.cluster_target import ALL_CONTEXTS, ClusterName, ClusterTarget
from kymatui.domain.snapshot.cluster_index import KYMA_FEED
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.logins import LOGINS
from kymatui.engine.cluster.ports import cluster_identity
from kymatui.errors import ConfigurationError, KymatuiError, ReadOnlyError, RefusedError, UnreachableError
from kymatui.sessions.cluster.catalog_session import CatalogSession, open_session
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.context_reader import (
    ContextReader,
    describe_context,
    failed_cluster,
    is_login_failure,
    read_cluster,
    read_session,
)
from kymatui.sessions.contexts import ContextEntry, options_of
from kymatui.sessions.control_plane.campaign_fleet import begun_runtimes
from kymatui.sessions.feeds.feeds import KYMA_KINDS, RECORDS, Feeds, raise_gc_thresholds

if TYPE_CHECKING:
    from kymatui.actions.edits.campaign import ListedFleet
    from kymatui.actions.session import Session


_WATCHED: Final = (KYMA_KINDS[0], *KYMA_KINDS[2:], RECORDS[0])
"""Kymas, release metas, Manifests and kymatui's inventories: what a module's state or version changes with."""
_READ: Final = 30.0  # seconds in which a context has to be listed
_AGAIN: Final = Backoff(300.0, 300.0, 0.7, 1.3)
"""Seconds until a context is read again without a change, for no watch tells of Deployments; spread over time."""
_PAUSE: Final = 5.0  # seconds between two readings of a context that changes
_BACKOFF: Final = Backoff(10.0, 300.0, 0.8, 1.2)
_TICK: Final = 1.0
_TIMING: Final = WatchTiming(pulse=HeartbeatTiming(quiet=60.0, ready=300.0))


class ContextWatch:
    """A few watches of one context; `changed` is called from their threads."""

    def __init__(self, options: SessionOptions, entry: ContextEntry, changed: Callable[[], None]) -> None:
        self._cluster = open_cluster(options_of(options, entry))
        self._feeds = Feeds(self._cluster.client, changed, _TIMING)
        self.read: frozenset[str] = frozenset()
        """The versions of the objects as they were read."""

    def start(self) -> None:
        """Begin to watch; raises what discovery raises."""
        client = self._cluster.client
        for fixed in _WATCHED:
            resource = client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
            if resource is not None:
                self._feeds.expect_rows(fixed.feed, resource_version_of)
                self._feeds.follow(
                    fixed.feed,
                    resource,
                    namespaces=tuple(filter(None, ("kyma-system", client.transport.connection.namespace))),
                    decode=MetadataOnly,
                    metadata_only=True,
                    labels=fixed.labels,
                )

    @property
    def silence(self) -> Feed | None:
        """Return the feed of a server that stopped answering, None while it answers."""
        states = self._feeds.states().values()
        return next((feed for feed in states if feed.state is FeedState.STALE), None)

    @property
    def is_outdated(self) -> bool:
        """Return whether objects have other versions than were read; False until all are listed."""
        states = self._feeds.states()
        if any(feed.state in (FeedState.SYNCING, FeedState.FAILED, FeedState.STALE) for feed in states.values()):
            return False
        return frozenset(str(version) for name in states for version in self._feeds.objects(name)) != self.read

    @property
    def traffic(self) -> int:
        return self._cluster.client.transport.counts.total()

    def close(self) -> None:
        self._feeds.close(timeout=0.0)
        self._cluster.close()


class _NoControlPlane:
    """What only a control plane has."""

    title = ""
    namespace = ""
    requested_runtime = ""
    straight_to: RuntimeKey | None = None

    @property
    def home(self) -> KubeCluster:
        raise ConfigurationError("contexts have no common control plane")

    def rules(self, namespace: str) -> Any:
        raise ConfigurationError(f"contexts have no control plane with {namespace}")

    def chains(self) -> Any:
        raise ConfigurationError("contexts have no Watchers")

    def follow_objects(self, on_change: Callable[[], None]) -> Any:
        raise ConfigurationError("contexts have no common catalog")


class ContextFleet(_NoControlPlane):
    """Implements the fleet's side of a screen with contexts in the place of runtimes; their namespace is ""."""

    def __init__(self, options: SessionOptions, entries: Sequence[ContextEntry]) -> None:
        self.options = RemoteOptions(options)
        self._entries = {entry.name: entry for entry in entries}
        self._bell = ChangeBell()
        self._lock = threading.Lock()
        self._clusters = {("", entry.name): describe_context(entry) for entry in entries}
        self._runtimes: Mapping[RuntimeKey, Runtime] = {key: c.as_runtime() for key, c in self._clusters.items()}
        self._changes: tuple[FleetChange, ...] = ()
        self._watches: dict[str, ContextWatch] = {}
        self._rung: set[str] = set()
        self._failures: dict[str, int] = {}
        self._reads = 0
        self._closed = threading.Event()
        self._reader = ContextReader(self._read, self._fail)

    @property
    def name(self) -> str:
        return format_count(len(self._entries), "context")

    @property
    def read_only(self) -> bool:
        return self.options.control.read_only

    @property
    def target(self) -> ClusterTarget:
        return ClusterTarget("", contexts=tuple(self._entries), read_only=self.read_only)

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of requests for rows; none of them can write."""
        return self._reads + sum(watch.traffic for watch in tuple(self._watches.values())), 0

    def entry(self, name: str) -> ContextEntry:
        return self._entries[name]

    def start(self, on_change: Callable[[], None]) -> None:
        """Begin to read. `on_change` is called from any thread, and then not again until `picture` was called."""
        raise_gc_thresholds()
        LOGINS.in_background |= {entry.user for entry in self._entries.values()}
        self._bell.on_change = on_change
        for entry in self._entries.values():
            self._reader.submit(entry)
        self._reader.start()
        threading.Thread(target=self._tick, name="context-logins", daemon=True).start()

    def picture(self) -> FleetSnapshot:
        """Return all that is known now; never wait for a server."""
        self._bell.looked()
        self._look_at_watches()
        with self._lock:
            clusters, runtimes, changes = dict(self._clusters), self._runtimes, self._changes
        return FleetSnapshot(
            self.name,
            runtimes,
            changes=changes,
            feeds={KYMA_FEED: Feed(FeedState.LIVE, time.time())},
            taken_at=time.time(),
            clusters={key: _with_login(cluster, self._entries[key[1]]) for key, cluster in clusters.items()},
        )

    def runtime(self, key: RuntimeKey) -> CatalogSession:
        """Return the session of one context, whose plugin may have the terminal; nothing is sent before its `start`."""
        LOGINS.in_background -= {self._entries[key[1]].user}
        return open_session(options_of(self.options.control, self._entries[key[1]]))

    def retry(self) -> None:
        """Read all contexts that are not read, and those that no watch follows."""
        for key, cluster in dict(self._clusters).items():
            if not cluster.is_read or key[1] not in self._watches:
                self.read_again(key[1])

    def read_again(self, name: str) -> None:
        """Read one context now; its plugin may ask again."""
        self._reader.retry(self._entries[name])

    def close(self) -> None:
        """End all watches; wait for nothing."""
        LOGINS.in_background -= {entry.user for entry in self._entries.values()}
        self._closed.set()
        self._reader.close()
        for watch in tuple(self._watches.values()):
            watch.close()

    def listed(self, *, edits_kymas: bool = True) -> ListedFleet:
        """Return what opens contexts for a campaign."""
        return listed_contexts(self.options.control, self._entries, edits_kymas=edits_kymas)

    def require_kyma(self) -> None:
        """Raise nothing: a context without Kyma is a row."""

    # reading

    def _read(self, entry: ContextEntry) -> KymatuiError | None:
        if self._closed.is_set():
            return None
        try:
            cluster, versions = read_session(self.options.control, entry, _READ, lambda s: self._row(entry, s))
        except KymatuiError as error:
            self._fail(entry, error)
            return error
        self._failures.pop(entry.name, None)
        self._put(cluster)
        if cluster.status is not ClusterStatus.CONTROL_PLANE:  # whose fleet has a screen of its own
            self._watch(entry, versions)
            self._reader.submit(entry, after=_AGAIN.delay(0))
        return None

    def _row(self, entry: ContextEntry, session: CatalogSession) -> tuple[FleetCluster, frozenset[str]]:
        snapshot = session.snapshot()
        lists = (snapshot.kymas, snapshot.release_metas, snapshot.manifests, snapshot.inventories)
        self._reads += session.traffic[0]
        return read_cluster(entry, session), frozenset(resource_version_of(raw) for objects in lists for raw in objects)

    def _fail(self, entry: ContextEntry, error: KymatuiError) -> None:
        self._put(failed_cluster(entry, error, self._clusters[("", entry.name)]))
        if not is_login_failure(entry, error) and not isinstance(error, ConfigurationError):
            failures = self._failures[entry.name] = self._failures.get(entry.name, -1) + 1
            self._reader.submit(entry, after=_BACKOFF.delay(failures))

    def _watch(self, entry: ContextEntry, versions: frozenset[str]) -> None:
        watch = self._watches.get(entry.name)
        if watch is not None:
            watch.read = versions
            return
        watch = ContextWatch(self.options.control, entry, lambda: self._ring(entry.name))
        watch.read = versions
        self._watches[entry.name] = watch
        if self._closed.is_set():
            watch.close()
        else:
            watch.start()

    def _ring(self, name: str) -> None:
        self._rung.add(name)
        self._bell.ring()

    def _look_at_watches(self) -> None:
        """Read the contexts again whose watches delivered something else; note those that stopped answering."""
        while self._rung:
            name = self._rung.pop()
            watch, cluster = self._watches.get(name), self._clusters[("", name)]
            if watch is None:
                continue
            silence = watch.silence
            if silence is not None and cluster.is_read:
                self._put(replace(cluster, status=ClusterStatus.STALE, reason=silence.message, hint=silence.hint))
            elif silence is None and (watch.is_outdated or cluster.status is ClusterStatus.STALE):
                self._reader.submit(self._entries[name], after=max(0.0, cluster.seen + _PAUSE - time.time()))

    def _put(self, cluster: FleetCluster) -> None:
        key = ("", cluster.context)
        with self._lock:
            before, after = self._runtimes[key], cluster.as_runtime()
            now, was_read = time.time(), self._clusters[key].catalog is not None
            changes = runtime_changes(key, before, after, now) if was_read and cluster.is_read else ()
            self._clusters[key] = cluster
            if after != before:
                self._runtimes = {**self._runtimes, key: after}
            self._changes = (*changes, *self._changes)[:MAX_CHANGES]
        self._bell.ring()

    def _tick(self) -> None:
        """Let the rows say who logs in, which no server tells; and free what readings leave behind.

        Their objects refer to each other. They are young while nothing is read, so that a collection takes a moment;
        once they are old, only a full one would free them.
        """
        before: tuple[object, ...] = ()
        collected, idle = 0, 0
        while not self._closed.wait(_TICK):
            idle = 0 if self._reader.is_busy else idle + 1
            if idle > 1 and collected != self._reads:
                collected = self._reads
                gc.collect(1)
            logins = LOGINS.running
            if logins != before:
                before = logins
                self._bell.ring()


def _with_login(cluster: FleetCluster, entry: ContextEntry) -> FleetCluster:
    """Return a context that waits for its plugin as one that needs a login."""
    if cluster.status is not ClusterStatus.CONNECTING or not entry.plugin:
        return cluster
    login = next((login for login in LOGINS.running if login.plugin == entry.plugin.partition(" ")[0]), None)
    if login is None or not login.text.strip():
        return cluster
    reason = login.last_lines.splitlines()[-1] if login.user == entry.user else f"waits for the login of {login.user}"
    return replace(cluster, status=ClusterStatus.LOGIN, reason=reason)


_LISTED: Final = 30.0  # seconds in which a context has to be listed


def listed_contexts(
    options: SessionOptions, entries: Mapping[str, ContextEntry], *, edits_kymas: bool = True, writes: bool = True
) -> ListedFleet:
    """Return what opens the contexts of a campaign; one that only plans opens those that are read-only, too."""

    def listed(runtimes: Sequence[str]) -> AbstractContextManager[ContextCampaign]:
        return nullcontext(ContextCampaign(options, entries, runtimes, edits_kymas=edits_kymas, writes=writes))

    return listed


class ContextCampaign:
    """Implements the port of a campaign; a context is named IDENTITY/NAME, or /NAME before its cluster is read."""

    has_contexts = True
    home = ALL_CONTEXTS

    def __init__(
        self,
        options: SessionOptions,
        entries: Mapping[str, ContextEntry],
        runtimes: Sequence[str],
        *,
        edits_kymas: bool,
        writes: bool,
    ) -> None:
        self._options, self._entries, self._edits_kymas, self._writes = options, entries, edits_kymas, writes
        names = tuple(split_name(name)[1] for name in runtimes)
        self.target = ClusterTarget("", contexts=names, read_only=options.read_only)
        self._search = threading.Lock()
        self._contexts: Mapping[str, ContextEntry] | None = None
        self._logins: defaultdict[str, _PluginLogin] = defaultdict(_PluginLogin)

    def name_runtime(self, runtime: str, session: Session) -> str:
        """Return the context with the identity of its cluster."""
        return f"{cluster_identity(session.cluster)}/{session.name}"

    def begun(self, cluster: ClusterName, toggle: ModuleEdit) -> frozenset[str]:
        return begun_runtimes(cluster, toggle)

    def open(self, runtime: str, on_change: Callable[[], None]) -> CatalogSession:
        """Return the session of a context, which is listed. Raise what keeps it from being, or from being edited.

        Where a plan or a journal has the identity of its cluster, that decides: contexts are renamed and reused.
        """
        identity, name = split_name(runtime)
        entry = self._entries.get(name)
        session = self._opened(entry, on_change) if entry is not None else None
        if session is not None and (not identity or cluster_identity(session.cluster) in ("", identity)):
            return session
        if session is not None:
            session.close()
        entry = self._context_of(identity)
        if entry is None:
            change = "is another cluster now" if session is not None else "does not exist"
            raise RefusedError(f"context {name} {change}, and no other context has the cluster of the plan")
        return self._opened(entry, on_change)

    def _opened(self, entry: ContextEntry, on_change: Callable[[], None]) -> CatalogSession:
        if entry.read_only and self._writes:
            raise ReadOnlyError(f"context {entry.name} is read-only (configuration)")
        if entry.problem:
            raise ConfigurationError(entry.problem)
        session = open_session(options_of(self._options, entry))
        try:
            with self._logins[entry.plugin].turn(entry) if entry.plugin else nullcontext():
                session.start(on_change)
                if not session.wait_complete(_LISTED):
                    raise UnreachableError(f"{entry.name} was not listed within {_LISTED:g} s")
                if self._edits_kymas:
                    session.require_kyma()
            if self._edits_kymas and len(session.kymas) != 1:
                raise RefusedError(f"{entry.name} has {len(session.kymas)} Kymas; edit its runtimes with --remote")
        except BaseException:
            session.close()
            raise
        return session

    def _context_of(self, identity: str) -> ContextEntry | None:
        """Return the context of a cluster; the first call asks all contexts."""
        with self._search:
            if self._contexts is None:
                entries = tuple(self._entries.values())
                self._contexts = dict(zip(run_for_each(entries, self._identity, None), entries, strict=True))
            return self._contexts.get(identity) if identity else None

    def _identity(self, entry: ContextEntry) -> str:
        """Return the identity of a context's cluster, "" where it cannot be read."""
        try:
            with closing(open_cluster(options_of(self._options, entry))) as cluster:
                return cluster_identity(cluster)
        except KymatuiError:
            return ""


class _PluginLogin:
    """The login of one credential plugin: the first of its contexts logs in; if that fails, no other one tries."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_done = False
        self._error: KymatuiError | None = None

    @contextmanager
    def turn(self, entry: ContextEntry) -> Iterator[None]:
        with nullcontext() if self._is_done else self._lock:
            if self._error is not None:
                raise self._error
            try:
                yield
            except KymatuiError as error:
                self._error = error if is_login_failure(entry, error) else None
                raise
            finally:
                self._is_done = True
