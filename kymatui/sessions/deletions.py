"""The deletions and edits of a session, with the backups of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.actions.edits.session_deletions import SessionDeletions, session_edits
from kymatui.adapters.files import backups
from kymatui.domain.snapshot.snapshots import ReadCache
from kymatui.engine.cluster.ports import Cluster

if TYPE_CHECKING:
    from kymatui.actions.session import Session


def edits_of(session: Session, cache: ReadCache | None = None) -> ClusterKymaEdits:
    """Return the edits of a cluster, or of a runtime with its control plane."""
    return session_edits(session, backups, cache)


def deletions_of(session: Session, cluster: Cluster | None = None) -> SessionDeletions:
    """Return the deletions of a session; `cluster` where it was connected to before."""
    return SessionDeletions(session, backups, cluster)
