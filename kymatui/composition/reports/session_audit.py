"""The audit of one session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kymatui.actions.audit import audit_cluster, audit_pair
from kymatui.adapters.sessions.cluster.cluster_access import cluster_of
from kymatui.composition.sessions.pair_session import PairSession
from kymatui.composition.sessions.watcher_chains import read_control_side, read_runtime_side
from kymatui.domain.audit.report import AuditReport
from kymatui.domain.remote.watcher_chains import build_chains
from kymatui.errors import NotFoundError

if TYPE_CHECKING:
    from kymatui.adapters.sessions.cluster.catalog_session import CatalogSession
    from kymatui.domain.audit.ignores import IgnoreEntry


def audit_session(session: CatalogSession | PairSession, ignores: Sequence[IgnoreEntry] = ()) -> AuditReport:
    """The report on a session that has listed everything; of a runtime both sides, and what links them."""
    cluster = cluster_of(session.client)
    if not isinstance(session, PairSession):
        return audit_cluster(cluster, session.snapshot(), ignores)
    try:
        linked = build_chains(read_control_side(session.home), read_runtime_side(cluster))
    except NotFoundError:  # it has no Watchers, or they may not be read
        linked = ()
    return audit_pair(cluster, session.key, session.pair(), session.snapshot(), linked, ignores)
