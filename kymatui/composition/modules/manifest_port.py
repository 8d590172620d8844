"""What Manifests need of a session: the cluster that has them, and the Kyma of a runtime."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kymatui.adapters.sessions.cluster.catalog_session import CatalogSession
    from kymatui.composition.sessions.pair_session import PairSession
    from kymatui.composition.sessions.runtime_session import RuntimeSession
    from kymatui.domain.snapshot.snapshots import Snapshot
    from kymatui.engine.cluster.ports import Cluster


class SessionManifestPort:
    """Implements `ManifestPort` for a session, which was started."""

    def __init__(self, session: CatalogSession | RuntimeSession | PairSession) -> None:
        self._session = session

    @cached_property
    def kyma(self) -> tuple[str, str] | None:
        from kymatui.composition.sessions.pair_session import PairSession
        from kymatui.composition.sessions.runtime_session import RuntimeSession

        return self._session.key if isinstance(self._session, RuntimeSession | PairSession) else None

    @cached_property
    def cluster(self) -> Cluster:
        """Made when the server is asked for the first time: menus often need not."""
        from kymatui.adapters.sessions.cluster.cluster_access import cluster_of
        from kymatui.composition.sessions.pair_session import PairSession
        from kymatui.composition.sessions.runtime_session import RuntimeSession

        session = self._session
        return session.home if isinstance(session, RuntimeSession | PairSession) else cluster_of(session.client)

    def snapshot(self) -> Snapshot:
        return self._session.snapshot()
