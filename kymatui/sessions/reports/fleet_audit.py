"""An audit of a control plane's runtimes: eight at once, ten seconds each; what cannot be looked at is a finding."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.audit import inspect_modules, is_access_error, known_users
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditKind, AuditScope, Inspection, join_scopes
from kymatui.domain.audit.fleet_rules import (
    ACCESS,
    UNREACHABLE,
    chain_findings,
    orphan_secret_finding,
    unreachable_finding,
)
from kymatui.domain.audit.ignores import IgnoreEntry
from kymatui.domain.audit.leftover_rules import ignored_manifest_finding, orphan_manifest_finding
from kymatui.domain.audit.report import AuditReport, audit_catalog, audit_runtime, findings_with_keeper, judge_findings
from kymatui.domain.audit.state_rules import UNREAD, check_kyma
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MODULE_NAME, field_managers, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.kyma_keeper import find_keeper, why_stopped
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.remote.watcher_chains import ControlPlaneObjects, build_chains
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Object, Snapshot
from kymatui.engine.cluster.concurrency import cancelled_after
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER
from kymatui.errors import CancelledError, ClusterError, KymatuiError, NotFoundError
from kymatui.sessions.cluster.catalog_feeds import lease_namespaces, read_keeper
from kymatui.sessions.cluster.catalog_session import CatalogSession
from kymatui.sessions.cluster.cluster_access import cluster_of, open_cluster, require_namespace
from kymatui.sessions.cluster.controller_rules import read_controller_rules
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.fleet_lists import list_kind, unread_feed
from kymatui.sessions.control_plane.pair_session import kyma_resource
from kymatui.sessions.control_plane.runtime_clients import CONNECT_SECONDS, RuntimeConnector
from kymatui.sessions.control_plane.watcher_objects import read_control_side, read_runtime_side
from kymatui.sessions.feeds.feeds import KYMA_KINDS, WatchedKind, raise_gc_thresholds

MAX_PARALLEL: Final = 8  # runtimes that are read at the same time
_WAITING: Final = 2 * MAX_PARALLEL  # audits that are submitted ahead of their turn
_LOOK: Final = 0.2  # seconds until a cancellation is noticed


class AuditProgress(Struct, frozen=True):
    """How far an audit is: runtimes that were looked at, all of them, and those that could not be."""

    done: int
    total: int
    unreached: int


def audit_fleet(
    options: RemoteOptions,
    ignores: Sequence[IgnoreEntry] = (),
    *,
    timeout: float = CONNECT_SECONDS,
    deep: bool = False,
    progress: Callable[[AuditProgress], None] = lambda _: None,
    cancel: threading.Event | None = None,
) -> tuple[AuditReport, tuple[str, ...]]:
    """Return the report on all runtimes, and what is not known of the control plane's configuration, in sentences.

    With `deep` every object that modules consist of is read, too: a request an object. `progress` is called from this
    thread. Raises what keeps the control plane from being listed, and CancelledError soon after `cancel` is set.
    Nothing is written, whatever the options say.
    """
    raise_gc_thresholds()
    control = replace(options.control, read_only=True, catalogs=(), once=True)
    stop = cancel or threading.Event()
    with closing(open_cluster(control)) as home:
        if control.namespace:
            require_namespace(home, control.namespace)
        plane = ControlPlaneAudit(home, control, stop)
        runtimes = _FleetAudit(plane, control, timeout, stop, deep=deep)
        findings = [*plane.findings(), *runtimes.run(progress)]
        users = known_users(home)
        reads, writes = home.client.transport.traffic
        scopes = (AuditScope(users=users, reads=reads, writes=writes), *runtimes.scopes)
        scope = join_scopes(AuditKind.FLEET, (name for _, name in plane.keys), scopes, has_objects=deep)
        return judge_findings(home.name, "", time.time(), findings, ignores, scope), plane.notes


class _FleetAudit:
    """One audit; what a runtime does costs itself only."""

    def __init__(
        self, plane: ControlPlaneAudit, control: SessionOptions, timeout: float, stop: threading.Event, *, deep: bool
    ) -> None:
        self._plane, self._control, self._timeout, self._stop, self._deep = plane, control, timeout, stop, deep
        self.scopes: list[AuditScope] = []
        """The requests to each runtime that was reached."""
        self._lock = threading.Lock()
        self._open: dict[int, Callable[[], None]] = {}

    def run(self, progress: Callable[[AuditProgress], None]) -> list[AuditFinding]:
        """Return the findings of all runtimes. Few are begun ahead, so that what is not looked at yet costs nothing."""
        total, done, bad = len(self._plane.keys), 0, 0
        findings: list[AuditFinding] = []
        ahead, keys = set[Future[list[AuditFinding]]](), iter(self._plane.keys)
        pool = ThreadPoolExecutor(MAX_PARALLEL, thread_name_prefix="audit")
        try:
            while True:
                while len(ahead) < _WAITING and (key := next(keys, None)) is not None:
                    ahead.add(pool.submit(self._audit_runtime, key))
                if not ahead:
                    return findings
                ended, ahead = wait(ahead, _LOOK, FIRST_COMPLETED)
                if self._stop.is_set():
                    raise CancelledError(f"stopped: {done} of {format_count(total, 'runtime')} read")
                for task in ended:
                    runtime_findings = task.result()
                    findings += runtime_findings
                    done, bad = (
                        done + 1,
                        bad + any(finding.rule in (UNREACHABLE, ACCESS) for finding in runtime_findings),
                    )
                    progress(AuditProgress(done, total, bad))
        finally:
            self._stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            self._let_go()

    def _audit_runtime(self, key: RuntimeKey) -> list[AuditFinding]:
        began, name = time.monotonic(), key[1]
        if self._stop.is_set():
            return []
        try:
            connector = RuntimeConnector(self._plane.home, key, timeout=self._timeout)
            with self._closing(connector.cancel):
                session = connector.open_session(self._control)
        except KymatuiError as error:
            return [unreachable_finding(name, str(error), access=is_access_error(error))]
        try:
            with self._closing(session.close):
                side = self._plane.side(key)
                if side is None:
                    return []
                session.add_templates(side.templates)
                session.start(lambda: None)
                session.wait_complete(max(0.1, self._timeout - (time.monotonic() - began)))
                return list(self._found(RuntimePair(name, side, session.snapshot()), session))
        except KymatuiError as error:
            return [unreachable_finding(name, str(error), access=is_access_error(error))]
        finally:
            reads, writes = session.traffic
            self.scopes.append(AuditScope(reads=reads, writes=writes))
            session.close()

    def _found(self, pair: RuntimePair, session: CatalogSession) -> Iterator[AuditFinding]:
        """Yield the findings; a runtime that is slow with further requests gets some more time, and no more."""
        with cancelled_after(self._timeout * (10 if self._deep else 1)) as late, self._closing(late.set):
            try:
                runtime = cluster_of(session.client)
                inspection = self._inspected(runtime, pair, late)
                watched = self._plane.watchers
                linked = build_chains(watched, read_runtime_side(runtime, late)) if watched is not None else ()
            except CancelledError:  # the time of this runtime is over; its other findings stay
                words = "what is installed was not listed in time"
                yield AuditFinding(UNREAD, words, object="installations", actor=Actor.CLUSTER, runtime=pair.name)
                inspection, linked = None, ()
        yield from audit_runtime(pair, time.time(), inspection, linked)

    def _inspected(self, runtime: KubeCluster, pair: RuntimePair, cancel: threading.Event) -> Inspection:
        snapshot = join_snapshots(pair)
        return inspect_modules(
            runtime, snapshot, build_catalog(snapshot, time.time()), objects=self._deep, cancel=cancel
        )

    @contextmanager
    def _closing(self, close: Callable[[], None]) -> Iterator[None]:
        """Register a connection, so that a cancel closes it."""
        me = threading.get_ident()
        with self._lock:
            self._open[me] = close
        try:
            if self._stop.is_set():
                close()
            yield
        finally:
            with self._lock:
                self._open.pop(me, None)

    def _let_go(self) -> None:
        with self._lock:
            open_now = tuple(self._open.values())
        for close in open_now:
            threading.Thread(target=close, name="audit-close", daemon=True).start()


_KYMAS, _TEMPLATES, _METAS, _MANIFESTS = KYMA_KINDS
_SECRETS: Final = WatchedKind("secrets", "", "Secret", ("v1",))
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class ControlPlaneAudit:
    """A control plane with the names of its runtimes. `notes` tell in sentences what is not known of its configuration.

    Raises what keeps its Kymas from being listed.
    """

    def __init__(self, home: KubeCluster, options: SessionOptions, cancel: threading.Event) -> None:
        self.home, self._options, self._cancel = home, options, cancel
        self._feeds: dict[str, Feed] = {_KYMAS.feed: Feed(FeedState.LIVE, time.time())}
        resource = kyma_resource(home)
        kymas = list(self._metadata(resource, ""))
        self.keys: tuple[RuntimeKey, ...] = tuple(sorted(map(_key, kymas)))
        self._keeper = find_keeper(kymas) or Actor.KLM
        self._namespaces = tuple(dict.fromkeys(namespace for namespace, _ in self.keys))
        namespaces = lease_namespaces(namespace for namespace, _ in self.keys)
        self._lease = read_keeper(home.client, (self._keeper,), namespaces) if namespaces else None
        templates, metas = self._listed(_TEMPLATES), self._listed(_METAS)
        self._catalogs = {name: (_within(templates, name), _within(metas, name)) for name in self._namespaces}
        rules = {name: read_controller_rules(home, name, options) for name in self._namespaces}
        self._rules: dict[str, ControllerSettings] = {name: rules for name, (rules, _) in rules.items()}
        self.notes = tuple(dict.fromkeys(note for _, notes in rules.values() for note in notes))
        self._manifests: dict[RuntimeKey, list[str]] = defaultdict(list)
        self._left = tuple(self._left_over())
        self.watchers = self._watchers()

    # what is its own

    def findings(self) -> Iterator[AuditFinding]:
        """Yield the findings of the control plane itself: catalog, Watchers, and leftovers of runtimes."""
        stopped = why_stopped(self._keeper, (), self._lease)
        yield from findings_with_keeper(self._own_findings(), self._keeper, stopped=stopped)

    def _own_findings(self) -> Iterator[AuditFinding]:
        now = time.time()
        for name in self._namespaces:
            yield from audit_catalog(self._snapshot(name, (), ()), now)
        bare = self._snapshot("", (), ())
        yield from check_kyma(AuditInput(bare, build_catalog(bare, now), now))
        yield from self._left
        if self.watchers is not None:
            yield from chain_findings(build_chains(self.watchers, None))

    def _left_over(self) -> Iterator[AuditFinding]:
        """Yield Manifests and access Secrets without a Kyma; only their names and labels are read."""
        known = frozenset(self.keys)
        for fixed in (_MANIFESTS, _SECRETS):
            resource = self.home.client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
            if resource is None:
                self._feeds[fixed.feed] = Feed(FeedState.ABSENT, time.time())
                continue
            try:
                for raw in self._metadata(resource, LABEL_KYMA_NAME):
                    labels = JsonReader(raw).child("metadata").labels("labels")
                    (namespace, name), kyma = _key(raw), labels[LABEL_KYMA_NAME]
                    if (namespace, kyma) in known:
                        if fixed is _MANIFESTS:
                            self._manifests[namespace, kyma].append(name)
                        continue
                    ref = ObjectRef(resource.gvk, namespace, name)
                    if fixed is _SECRETS:
                        yield orphan_secret_finding(ref, kyma)
                    else:
                        yield orphan_manifest_finding(ref, kyma, labels.get(LABEL_MODULE_NAME, ""))
                if fixed is _MANIFESTS:
                    yield from self._ignored(resource)
            except ClusterError as error:
                self._feeds[fixed.feed] = unread_feed(error)
            else:
                self._feeds[fixed.feed] = Feed(FeedState.LIVE, time.time())

    def _ignored(self, manifests: ApiResource) -> Iterator[AuditFinding]:
        """Yield the Manifests outside of the Kymas' namespaces that no operator writes and no label gives to a Kyma."""
        if self._options.namespace or not self._namespaces:
            return
        for raw in self.home.list_outside(manifests.gvk, self._namespaces, cancel=self._cancel):
            labels = JsonReader(raw).child("metadata").labels("labels")
            if LABEL_KYMA_NAME not in labels and OPERATOR_FIELD_MANAGER not in field_managers(raw):
                yield ignored_manifest_finding(read_ref(raw))

    def _watchers(self) -> ControlPlaneObjects | None:
        """Return the objects of the Watchers; None if they are unknown: then no chain is reported."""
        try:
            return read_control_side(self.home)
        except NotFoundError:
            return None

    # one of its runtimes

    def side(self, key: RuntimeKey) -> Snapshot | None:
        """Return its objects of one runtime; None if the Kyma is gone. Raise the error that prevents reading."""
        namespace, name = key
        client = self.home.client
        try:
            kyma = client.get(kyma_resource(self.home), name, namespace, cancel=self._cancel)
        except NotFoundError:
            return None
        return self._snapshot(namespace, (kyma,), tuple(self._manifests_of(key)))

    def _manifests_of(self, key: RuntimeKey) -> Iterator[Object]:
        client = self.home.client
        resource = client.discovery.find_kind(_MANIFESTS.group, _MANIFESTS.kind, _MANIFESTS.versions)
        if resource is None:
            return
        for name in self._manifests.get(key, ()):
            with suppress(NotFoundError):  # it went away since
                yield client.get(resource, name, key[0], cancel=self._cancel)

    def _snapshot(self, namespace: str, kymas: tuple[Object, ...], manifests: tuple[Object, ...]) -> Snapshot:
        templates, metas = self._catalogs.get(namespace, ((), ()))
        return Snapshot(
            cluster=self.home.name,
            kymas=kymas,
            templates=templates,
            release_metas=metas,
            manifests=manifests,
            keeper_lease=self._lease,
            feeds=self._feeds,
            taken_at=time.time(),
            rules=self._rules.get(namespace),
        )

    def _metadata(self, resource: ApiResource, labels: str) -> Iterator[Object]:
        pages = self.home.client.pages(
            resource,
            self._options.namespace,
            labels=labels,
            decode=MetadataOnly,
            accept=_METADATA_LIST,
            cancel=self._cancel,
        )
        for page in pages:
            yield from page.items

    def _listed(self, kind: WatchedKind) -> list[dict[str, object]]:
        try:
            listed = list_kind(self.home.client, kind)
        except ClusterError as error:
            self._feeds[kind.feed] = unread_feed(error)
            return []
        self._feeds[kind.feed] = Feed(FeedState.LIVE, time.time())
        return listed


def _key(raw: Object) -> RuntimeKey:
    metadata = JsonReader(raw).child("metadata")
    return metadata.text("namespace"), metadata.text("name")


def _within(objects: Sequence[Object], namespace: str) -> tuple[Object, ...]:
    return tuple(raw for raw in objects if read_ref(raw).namespace == namespace)
