"""What every controller works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.event_recorder import EventRecorder
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader


@dataclass(frozen=True)
class ControllerPace:
    """How long things take, in seconds. Real clusters are slower; nobody wants to wait for a demonstration."""

    start: float = 0.4  # a container, from its image to running
    stop: float = 0.3  # a container that was asked to end
    job: float = 0.6  # a container that runs to its end
    back_off: float = 10.0  # the first pause between attempts; doubles up to 5 minutes
    namespace: float = 1.0  # a namespace that is empty, until it is gone: clients expect to see it terminate
    operator: float = 0.3  # a simulated operator, between two states of its resource


@dataclass(frozen=True)
class ControllerContext:
    """The client that writes, the observer that reads, the recorder of events, and the pace."""

    client: LocalClient
    observer: StoreReader
    recorder: EventRecorder
    pace: ControllerPace = ControllerPace()
    node: str = "sandbox-0"

    @property
    def now(self) -> float:
        return self.client.clock.now()

    @property
    def stamp(self) -> str:
        return timestamp(self.now)

    def write_status(self, resource: str, obj: Obj, status: Mapping[str, Any]) -> bool:
        """Puts a whole new status on the object that was read; False where it is the same already.

        Raises Conflict where the object has changed in between, so that nothing is overwritten unseen.
        """
        if (obj.get("status") or {}) == status:
            return False
        kind = self.observer.type_of(resource)
        version = kind["apiVersion"].rpartition("/")[2] if kind else None
        self.client.update_status(resource, {**kind, **obj, "status": dict(status)}, version=version)
        return True

    def delete(self, resource: str, obj: Mapping[str, Any], propagation: str = "Background") -> bool:
        """Deletes exactly this object (by uid); False where it is gone already."""
        metadata = obj["metadata"]
        try:
            self.client.delete(
                resource,
                metadata["name"],
                namespace=metadata.get("namespace") or "",
                propagation=propagation,
                uid=metadata.get("uid", ""),
            )
        except StatusError as error:
            if error.reason in ("NotFound", "Conflict"):
                return False
            raise
        return True
