"""kymatui's operator on a cluster, by its Lease: who works there, and whether anybody still does."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kyma_keeper import Operator, read_operator
from kymatui.errors import KymatuiError

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster

LEASE: Final = ObjectRef(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), "kube-system", "kymatui.operator")
_YOUNG: Final = 10.0  # seconds for which the last answer is used again
_PATIENCE: Final = 2.0  # seconds until a server that does not answer is given up


def operator_of(cluster: Cluster, cancel: threading.Event | None = None) -> Operator:
    """Return the operator now. Raises what keeps the Lease from being read."""
    from kymatui.engine.jobs.identity import is_dead

    return read_operator(cluster.get(LEASE, cancel=cancel), time.time(), is_dead)


class OperatorWatch:
    """Looks at the Lease now and then; None where it cannot be read. A server that hangs is given up after 2 s."""

    def __init__(self) -> None:
        self._known: Operator | None = None
        self._at = 0.0

    def of(self, cluster: Cluster) -> Operator | None:
        if time.monotonic() - self._at < _YOUNG and self._at:
            return self._known
        cancel = threading.Event()
        timer = threading.Timer(_PATIENCE, cancel.set)
        timer.daemon = True
        timer.start()
        try:
            self._known = operator_of(cluster, cancel)
        except KymatuiError:  # unreadable: callers go by what the operator has written
            self._known = None
        finally:
            timer.cancel()
            self._at = time.monotonic()
        return self._known
