"""The Lease for which lifecycle-manager's replicas compete; by it, others see that one is at work."""

from __future__ import annotations

from typing import Any, Final

from kymatui.operator.framework.foreign_manager_guard import ELECTION
from kymatui.sandbox.apimachinery.clock import micro_timestamp
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import Key
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue

LEASES: Final = "leases.coordination.k8s.io"
HOLDER: Final = "klm-controller-manager"
_DURATION: Final = 180
_RENEWED_EVERY: Final = 60.0


class ManagerLease:
    """Renews the Lease in a namespace, with lifecycle-manager's duration of 180 seconds."""

    def __init__(self, client: LocalClient, namespace: str) -> None:
        self.name = "lifecycle-manager/lease"
        self._client = client
        self._key = (namespace, ELECTION)

    def watch(self, queue: ControllerQueue) -> None:
        queue.add(self._key)

    def reconcile(self, key: Key) -> float | None:
        namespace, name = key
        spec = {
            "holderIdentity": HOLDER,
            "leaseDurationSeconds": _DURATION,
            "renewTime": micro_timestamp(self._client.clock.now()),
        }
        body: dict[str, Any] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }
        self._client.patch(LEASES, name, body, namespace=namespace, type="apply", force=True)
        return _RENEWED_EVERY
