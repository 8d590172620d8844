"""The dependencies of every controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.event_recorder import EventRecorder
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader


class ControllerPace(Struct, frozen=True, dict=True):
    """Simulated durations in seconds, shorter than on a real cluster to keep demonstrations fast."""

    start: float = 0.4  # start of a container whose image exists
    stop: float = 0.3  # stop of a container
    job: float = 0.6  # run of a container to its end
    back_off: float = 10.0  # first pause between attempts; doubles up to 5 minutes
    namespace: float = 1.0  # from an empty namespace to its deletion: clients expect to see it terminate
    operator: float = 0.3  # between two states of a simulated operator's resource


class ControllerContext(Struct, frozen=True, dict=True):
    """The client that writes, the store reader, the event recorder, and the pace."""

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
        """Replace the status of the object that was read; return False if it is unchanged.

        Raise Conflict if the object changed meanwhile, so that no other write is lost.
        """
        if (obj.get("status") or {}) == status:
            return False
        kind = self.observer.type_of(resource)
        version = kind["apiVersion"].rpartition("/")[2] if kind else None
        self.client.update_status(resource, {**kind, **obj, "status": dict(status)}, version=version)
        return True

    def delete(self, resource: str, obj: Mapping[str, Any], propagation: str = "Background") -> bool:
        """Delete exactly this object (by uid); return False if it does not exist."""
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
