"""What works on the Kymas of a cluster, by its Lease: lifecycle-manager or kymatui's operator, and whether it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kyma_keeper import ELECTION, KeeperLease, read_lease
from kymatui.domain.kyma.problems import Actor
from kymatui.engine.cluster.request_scope import optional_requests
from kymatui.engine.jobs.identity import is_dead
from kymatui.errors import KymatuiError

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster

LEASE: Final = ObjectRef(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), "kube-system", "kymatui.operator")
_PERIOD: Final = 30.0  # seconds between two readings
_PATIENCE: Final = 2.0  # seconds until a server that does not answer is given up


def operator_of(cluster: Cluster, cancel: threading.Event | None = None) -> KeeperLease:
    """Return the operator now. Raises what keeps the Lease from being read."""
    return read_lease(cluster.get(LEASE, cancel=cancel), time.time(), is_dead)


class KeeperWatch:
    """Reads the Leases of what may work on the Kymas of a cluster, now and then; `lease` is None without one."""

    def __init__(self) -> None:
        self.lease: KeeperLease | None = None
        self._asked: frozenset[Actor] = frozenset()
        self._due = 0.0

    @property
    def pause(self) -> float | None:
        """Return the seconds until `refresh` is due, None before it had something to ask for."""
        return max(0.0, self._due - time.monotonic()) if self._asked else None

    def refresh(self, cluster: Cluster, keepers: frozenset[Actor], namespace: str) -> bool:
        """Read the Leases if that is due; return whether what runs has changed. `namespace` is that of the Kymas."""
        if keepers == self._asked and self.pause:
            return False
        before = self.lease
        self._asked, self._due = keepers, time.monotonic() + _PERIOD
        self.lease = read_keeper(cluster, keepers, namespace)
        return (before and (before.keeper, before.works)) != (self.lease and (self.lease.keeper, self.lease.works))


def read_keeper(cluster: Cluster, keepers: Iterable[Actor], namespace: str) -> KeeperLease | None:
    """Return what runs of these, by the Leases, else what does not; None where there is no Lease.

    A server that hangs is given up after 2 s.
    """
    leases = [lease for keeper in sorted(keepers) if (lease := _read(cluster, keeper, namespace)) is not None]
    return min(leases, key=lambda lease: (not lease.works, bool(lease.unread)), default=None)


def _read(cluster: Cluster, keeper: Actor, namespace: str) -> KeeperLease | None:
    """Return what a Lease reports; None where lifecycle-manager has none: it may run without."""
    cancel = threading.Event()
    timer = threading.Timer(_PATIENCE, cancel.set)
    timer.daemon = True
    timer.start()
    ref = LEASE if keeper is Actor.OPERATOR else ObjectRef(LEASE.kind, namespace, ELECTION)
    try:
        with optional_requests():
            raw = cluster.get(ref, cancel=cancel)
    except KymatuiError as error:  # callers go by what was written
        return KeeperLease("", keeper=keeper, unread=str(error))
    finally:
        timer.cancel()
    return None if raw is None and keeper is Actor.KLM else read_lease(raw, time.time(), is_dead, keeper)
