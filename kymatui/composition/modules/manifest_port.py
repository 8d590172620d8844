"""What Manifests need of a session: the cluster that has them, and the Kyma of a runtime."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kymatui.actions.session import Session
    from kymatui.domain.snapshot.snapshots import Snapshot
    from kymatui.engine.cluster.ports import Cluster


class SessionManifestPort:
    """Implements `ManifestPort` for a session, which was started."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def kyma(self) -> tuple[str, str] | None:
        return self._session.kyma

    @cached_property
    def cluster(self) -> Cluster:
        """Return the cluster with the Manifests; asked for when it is needed first, which menus often avoid."""
        return self._session.home

    def snapshot(self) -> Snapshot:
        return self._session.snapshot()
