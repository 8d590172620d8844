"""What installations need of a session: where to fetch from, and where backups are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING

from kymatui.domain.snapshot.snapshots import ReadCache, Snapshot
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.cluster.retries import read_once
from kymatui.engine.jobs.journal import Journal
from kymatui.engine.jobs.run import Progress, Run, RunLimits, SystemClock, begin
from kymatui.sessions.fetching import FetchOptions, LazyFetcher

if TYPE_CHECKING:
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.actions.modules.signatures import SignatureOptions
    from kymatui.actions.session import Session
    from kymatui.engine.plans.plan import Plan
    from kymatui.engine.sources.artifact_store import ArtifactStore
    from kymatui.engine.sources.chart_source import LoadedChart


class SessionInstallPort:
    """Implements `InstallPort` for a session, which was started.

    With a runtime and its control plane, what is managed is said by both, and what is installed goes to the runtime.
    """

    def __init__(self, session: Session, fetch: FetchOptions | None = None, cache: ReadCache | None = None) -> None:
        self._session = session
        self._fetch = fetch or FetchOptions()
        self.blobs = LazyFetcher(self._fetch)
        self.cache = cache or ReadCache()

    @cached_property
    def cluster(self) -> Cluster:
        """Connect on the first access: menus often need no server."""
        return self._session.cluster

    def read_once(self) -> None:
        """Read each object and each list once from now on; for commands that write nothing."""
        self.cluster = read_once(self.cluster, SystemClock())

    @property
    def namespace(self) -> str:
        return self._session.target.namespace

    @property
    def insecure(self) -> tuple[str, ...]:
        return self._fetch.insecure

    @property
    def registry(self) -> str:
        return self._fetch.registry

    def artifacts(self, layout: str) -> ArtifactStore:
        from kymatui.sessions.registries import open_layout, open_registries

        return open_layout(layout) if layout else open_registries(self._fetch)

    def snapshot(self) -> Snapshot:
        return self._session.snapshot()

    def signed_chart(self, source: ModuleSource, signers: SignatureOptions) -> LoadedChart:
        from kymatui.sessions.charts import signed_chart

        return signed_chart(source, signers, self._fetch)

    @contextmanager
    def begin(
        self, plan: Plan, cancel: Event, tell: Callable[[Progress], None], limits: RunLimits | None, journal: Journal
    ) -> Iterator[Run]:
        from kymatui.adapters.files.backups import plan_backup

        backup = plan_backup(plan, self.cluster)
        with begin(self.cluster, cancel=cancel, journal=journal, progress=tell, limits=limits, backup=backup) as run:
            yield run
        if backup is not None:  # a run that fails is continued by the next one, with a backup of its own
            backup.finish()
