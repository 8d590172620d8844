"""The edits and the deletions of a session: each needs the other, since an edit may uninstall a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.composition.sessions.deletion_port import SessionDeletions
from kymatui.composition.sessions.kyma_edit import ClusterKymaEdits
from kymatui.composition.sessions.runtime_kyma_edit import RuntimeKymaEdits

if TYPE_CHECKING:
    from kymatui.actions.session import Session
    from kymatui.domain.snapshot.read_cache import ReadCache
    from kymatui.engine.cluster.ports import Cluster


def edits_of(session: Session, memory: ReadCache | None = None) -> ClusterKymaEdits:
    """Return the edits of a cluster, or of a runtime with its control plane."""
    kind = RuntimeKymaEdits if session.target.has_control_plane else ClusterKymaEdits
    return kind(session, deletions_of, memory)


def deletions_of(session: Session, cluster: Cluster | None = None) -> SessionDeletions:
    """Return the deletions of a session; `cluster` where it was connected to before."""
    return SessionDeletions(session, lambda: edits_of(session), cluster)
