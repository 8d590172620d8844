"""An audit of a control plane's runtimes: eight at once, ten seconds each; what cannot be looked at is a finding."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.audit import inspect_modules, is_access_error
from kymatui.domain.audit.findings import AuditFinding
from kymatui.domain.audit.fleet_rules import ACCESS, UNREACHABLE, unreachable_finding
from kymatui.domain.audit.kyma_rules import UNREAD
from kymatui.domain.audit.report import AuditReport, audit_runtime, judge_findings
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.remote.watcher_chains import build_chains
from kymatui.errors import CancelledError, KymatuiError
from kymatui.sessions.cluster.cluster_access import cluster_of, open_cluster, require_namespace
from kymatui.sessions.control_plane.runtime_connector import CONNECT_SECONDS, RuntimeConnector
from kymatui.sessions.control_plane.watcher_objects import read_runtime_side
from kymatui.sessions.feeds.feeds import raise_gc_thresholds
from kymatui.sessions.reports.control_plane_audit import ControlPlaneAudit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
    from kymatui.domain.audit.findings import Inspection
    from kymatui.domain.audit.ignores import IgnoreEntry
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.sessions.cluster.catalog_session import CatalogSession
    from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions

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
    home, stop = open_cluster(control), cancel or threading.Event()
    try:
        if control.namespace:
            require_namespace(home, control.namespace)
        plane = ControlPlaneAudit(home, control, stop)
        findings = [*plane.findings(), *_FleetAudit(plane, control, timeout, stop, deep=deep).run(progress)]
        return judge_findings(home.name, "", time.time(), findings, ignores), plane.notes
    finally:
        home.client.transport.close()


class _FleetAudit:
    """One audit; what a runtime does costs itself only."""

    def __init__(
        self, plane: ControlPlaneAudit, control: SessionOptions, timeout: float, stop: threading.Event, *, deep: bool
    ) -> None:
        self._plane, self._control, self._timeout, self._stop, self._deep = plane, control, timeout, stop, deep
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
            session.close()

    def _found(self, pair: RuntimePair, session: CatalogSession) -> Iterator[AuditFinding]:
        """Yield the findings; a runtime that is slow with further requests gets some more time, and no more."""
        late = threading.Event()
        timer = threading.Timer(self._timeout * (10 if self._deep else 1), late.set)
        timer.daemon = True
        timer.start()
        with self._closing(late.set):
            try:
                runtime = cluster_of(session.client)
                inspection = self._inspected(runtime, pair, late)
                watched = self._plane.watchers
                linked = build_chains(watched, read_runtime_side(runtime, late)) if watched is not None else ()
            except CancelledError:  # the time of this runtime is over; its other findings stay
                words = "what is installed was not listed in time"
                yield AuditFinding(UNREAD, words, object="installations", actor=Actor.CLUSTER, runtime=pair.name)
                inspection, linked = None, ()
            finally:
                timer.cancel()
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
