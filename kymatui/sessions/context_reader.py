"""Many contexts, each read by itself: whatever one of them does costs only itself.

A context that hangs leaves its slot to the next after some seconds, and of contexts with the same credential plugin
the first logs in before the others start: fifty contexts do not open fifty browsers, nor wait for one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from enum import Enum
from functools import partial
from typing import Final, TypeVar

from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.fleet.clusters import ClusterStatus, FleetCluster, compact_catalog
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_meta
from kymatui.domain.snapshot.missing_lists import is_awaited
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.engine.cluster.logins import LOGINS
from kymatui.errors import (
    ConfigurationError,
    ForbiddenError,
    KymatuiError,
    NotFoundError,
    UnauthorizedError,
    UnreachableError,
    as_kymatui_error,
)
from kymatui.sessions.cluster.catalog_session import CatalogSession, open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.contexts import ContextEntry, options_of

R = TypeVar("R")
_SLOTS: Final = 8  # contexts that are read in parallel, without those that are slow
_SLOW: Final = 3.0  # seconds after which a context leaves its slot
_LOGIN: Final = 2.0  # seconds without a running login after which a plugin counts as answered
_LOOK: Final = 0.1


class _Plugin(Enum):
    ASKED = "asked"  # by the first of its contexts
    ANSWERS = "answers"
    REFUSED = "refused"


class ContextReader:
    """Calls `work` for each context in a thread of its own; `work` returns what kept it from being read.

    `refuse` gets the contexts whose plugin has failed for another one: it is not run again until `retry`.
    """

    def __init__(
        self, work: Callable[[ContextEntry], KymatuiError | None], refuse: Callable[[ContextEntry, KymatuiError], None]
    ) -> None:
        self._work, self._refuse = work, refuse
        self._changed = threading.Condition()
        self._due: dict[str, tuple[float, ContextEntry]] = {}
        self._running: dict[str, tuple[float, ContextEntry]] = {}
        self._plugins: dict[str, tuple[_Plugin, KymatuiError | None]] = {}
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="context-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, entry: ContextEntry, after: float = 0.0) -> None:
        """Read a context, `after` so many seconds at the latest."""
        with self._changed:
            due = time.monotonic() + after
            known = self._due.get(entry.name)
            self._due[entry.name] = (min(due, known[0]) if known is not None else due, entry)
            self._changed.notify()

    def retry(self, entry: ContextEntry) -> None:
        """Read a context now, and let its plugin ask again."""
        with self._changed:
            self._plugins.pop(entry.plugin, None)
        self.submit(entry)

    @property
    def is_busy(self) -> bool:
        """Return whether any context is read now."""
        return bool(self._running)

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            refused: list[tuple[ContextEntry, KymatuiError]] = []
            with self._changed:
                if self._is_closed:
                    return
                now = time.monotonic()
                for name, (due, entry) in list(self._due.items()):
                    if due > now or name in self._running or not self._has_slot(now):
                        continue
                    state, error = self._plugin_state(entry, now)
                    if state is _Plugin.ASKED:
                        continue
                    del self._due[name]
                    if state is _Plugin.REFUSED and error is not None:
                        refused.append((entry, error))
                        continue
                    self._running[name] = (now, entry)
                    threading.Thread(target=self._read, args=(entry,), name=f"context-{name}", daemon=True).start()
                if not refused:
                    self._changed.wait(self._pause(now))
            for entry, error in refused:
                self._refuse(entry, error)

    def _pause(self, now: float) -> float | None:
        if not self._due:
            return None
        soonest = min(due for due, _ in self._due.values())
        return max(soonest - now, _LOOK)

    def _has_slot(self, now: float) -> bool:
        return sum(now - began < _SLOW for began, _ in self._running.values()) < _SLOTS

    def _plugin_state(self, entry: ContextEntry, now: float) -> tuple[_Plugin, KymatuiError | None]:
        """Return whether a context may log in; the first one of a plugin does, and the others wait for it."""
        if not entry.plugin:
            return _Plugin.ANSWERS, None
        state = self._plugins.get(entry.plugin)
        if state is None:
            self._plugins[entry.plugin] = (_Plugin.ASKED, None)
            return _Plugin.ANSWERS, None
        if state[0] is _Plugin.ASKED:
            first = [began for began, other in self._running.values() if other.plugin == entry.plugin]
            users = {other.user for _, other in self._running.values() if other.plugin == entry.plugin}
            if first and now - min(first) > _LOGIN and not any(login.user in users for login in LOGINS.running):
                return _Plugin.ANSWERS, None  # it has logged in, and waits for its cluster
        return state

    def _read(self, entry: ContextEntry) -> None:
        try:
            error = self._work(entry)
        except Exception as defect:  # noqa: BLE001 (a dead thread would leave the context at "connecting")
            error = as_kymatui_error(defect)
            self._refuse(entry, error)
        with self._changed:
            self._running.pop(entry.name, None)
            if entry.plugin and not self._is_closed:
                is_refused = error is not None and is_login_failure(entry, error)
                self._plugins[entry.plugin] = (_Plugin.REFUSED, error) if is_refused else (_Plugin.ANSWERS, None)
            self._changed.notify()


def is_login_failure(entry: ContextEntry, error: KymatuiError) -> bool:
    """Return whether a person has to log in: the server rejects the login, or the plugin failed."""
    return isinstance(error, UnauthorizedError) or bool(entry.plugin and isinstance(error, ConfigurationError))


def read_session(
    options: SessionOptions,
    entry: ContextEntry,
    timeout: float,
    work: Callable[[CatalogSession], R],
    *,
    needs_kyma: bool = True,
) -> R:
    """Return what `work` makes of a context that is listed once. Raise what keeps it from being read.

    With `needs_kyma` a cluster without Kyma raises NotFoundError.
    """
    if entry.problem:
        raise ConfigurationError(entry.problem)
    with closing(open_session(replace(options_of(options, entry), once=True))) as session:
        session.start(lambda: None)
        if not session.wait_complete(timeout):
            now, feeds = time.time(), session.feeds
            if all(is_awaited(feed, now) for feed in feeds.values()):
                raise UnreachableError(f"{entry.name} listed nothing within {timeout:g} s")
        if needs_kyma:
            session.require_kyma()
        return work(session)


def read_contexts(
    options: SessionOptions,
    entries: Sequence[ContextEntry],
    timeout: float,
    work: Callable[[ContextEntry, CatalogSession], R],
    *,
    waits_for_logins: bool,
    needs_kyma: bool = True,
    work_seconds: float = 0.0,
) -> dict[str, R | KymatuiError]:
    """Return for each context what `work` makes of its session, or what kept it from being read.

    Ends after the time limit and the seconds of the work; with `waits_for_logins` not while a person logs in.
    """
    results: dict[str, R | KymatuiError] = {}
    ended = threading.Condition()

    def put(entry: ContextEntry, result: R | KymatuiError) -> None:
        with ended:
            results.setdefault(entry.name, result)
            ended.notify()

    def read(entry: ContextEntry) -> KymatuiError | None:
        try:
            use = partial(work, entry)
            put(entry, read_session(options, entry, timeout, use, needs_kyma=needs_kyma))
        except KymatuiError as error:
            put(entry, error)
            return error
        return None

    reader = ContextReader(read, put)
    for entry in entries:
        reader.submit(entry)
    reader.start()
    spent, began = LOGINS.seconds, time.monotonic()
    with closing(reader), ended:
        while len(results) < len(entries):
            logins = LOGINS.seconds - spent if waits_for_logins else 0.0
            if time.monotonic() - began - logins > timeout + work_seconds + _LOGIN:
                break
            ended.wait(_LOOK)
        users = {login.user for login in LOGINS.running}
        plugins = {entry.plugin for entry in entries if entry.plugin and entry.user in users}
        late = {entry.name: _late(entry, timeout, plugins) for entry in entries if entry.name not in results}
        return {entry.name: results.get(entry.name) or late[entry.name] for entry in entries}


def _late(entry: ContextEntry, timeout: float, plugins: set[str]) -> KymatuiError:
    """Return why a context is not read in time: a person has not logged in, or the cluster does not answer."""
    if entry.plugin in plugins:
        return UnauthorizedError(f"the login did not end within {timeout:g} s", hint="log in with kubectl first")
    return UnreachableError(f"not listed within {timeout:g} s", hint="use a longer --timeout")


# what fleets show of a context


def read_cluster(entry: ContextEntry, session: CatalogSession) -> FleetCluster:
    """Return what a fleet shows of a session that has listed everything."""
    snapshot = session.snapshot()
    catalog = build_catalog(snapshot, time.time())
    return replace(
        describe_context(entry),
        status=ClusterStatus.CONTROL_PLANE if catalog.unnamed_kymas else ClusterStatus.LISTED,
        catalog=compact_catalog(catalog),
        kymas=len(snapshot.kymas),
        labels=_labels(snapshot),
        offered=frozenset(row.name for row in catalog.rows if not row.mandatory),
        seen=time.time(),
    )


def _labels(snapshot: Snapshot) -> dict[str, str]:
    kyma = next(iter(snapshot.kymas), None)
    return dict(read_meta(JsonReader(kyma)).labels) if kyma is not None and len(snapshot.kymas) == 1 else {}


def describe_context(entry: ContextEntry) -> FleetCluster:
    """Return a context of which nothing is known but its entry in the kubeconfig."""
    return FleetCluster(entry.name, entry.cluster, entry.server, entry.read_only)


def failed_cluster(entry: ContextEntry, error: KymatuiError, before: FleetCluster | None = None) -> FleetCluster:
    """Return a context that cannot be read now, with what was read `before`."""
    cluster = before if before is not None else describe_context(entry)
    return replace(cluster, status=_status(entry, error, cluster.catalog), reason=str(error), hint=error.hint)


def _status(entry: ContextEntry, error: KymatuiError, catalog: Catalog | None) -> ClusterStatus:
    if is_login_failure(entry, error):
        return ClusterStatus.LOGIN
    if isinstance(error, ConfigurationError):
        return ClusterStatus.UNUSABLE
    if isinstance(error, ForbiddenError):
        return ClusterStatus.FORBIDDEN
    if isinstance(error, NotFoundError):
        return ClusterStatus.NO_KYMA
    return ClusterStatus.UNREACHABLE if catalog is None else ClusterStatus.STALE
