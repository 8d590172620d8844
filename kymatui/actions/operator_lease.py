"""kymatui's operator on a cluster, by its Lease: who works there, and whether anybody still does."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kyma_keeper import KeeperLease, read_lease
from kymatui.engine.jobs.identity import is_dead

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster

LEASE: Final = ObjectRef(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), "kube-system", "kymatui.operator")


def operator_of(cluster: Cluster, cancel: threading.Event | None = None) -> KeeperLease:
    """Return the operator now. Raises what keeps the Lease from being read."""
    return read_lease(cluster.get(LEASE, cancel=cancel), time.time(), is_dead)
