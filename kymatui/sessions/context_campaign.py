"""The contexts of a campaign: each is connected to by itself, and known by the identity of its cluster."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kyma_edit.module_edit import ModuleEdit
from kymatui.domain.plans.cluster_target import ALL_CONTEXTS, ClusterName, ClusterTarget
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import cluster_identity
from kymatui.errors import ConfigurationError, KymatuiError, ReadOnlyError, RefusedError, UnreachableError
from kymatui.sessions.cluster.catalog_session import CatalogSession, open_session
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.context_reader import is_login_failure
from kymatui.sessions.contexts import ContextEntry, options_of
from kymatui.sessions.control_plane.campaign_fleet import begun_runtimes

if TYPE_CHECKING:
    from kymatui.actions.edits.campaign import ListedFleet
    from kymatui.actions.session import Session

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
