"""Held objects: their deletion hangs on a finalizer that no controller can remove."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct, field

from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource

Held = tuple[str, str, str]
"""(resource in full, namespace, name)."""


class HeldObjects(Struct):
    """Finalizers by object; while an object is held, writes cannot remove its finalizer."""

    held: dict[Held, str] = field(default_factory=dict)

    def hold(self, resource: str, namespace: str, name: str, finalizer: str) -> None:
        self.held[resource, namespace, name] = finalizer

    def release(self, resource: str, namespace: str, name: str) -> bool:
        return self.held.pop((resource, namespace, name), None) is not None

    def keep(self, resource: str, obj: Object) -> None:
        """Restore the held finalizer if a write removed it."""
        if not self.held:
            return
        metadata = obj["metadata"]
        finalizer = self.held.get((resource, metadata.get("namespace") or "", metadata["name"]))
        if finalizer is None:
            return
        finalizers: list[str] = metadata.setdefault("finalizers", [])
        if finalizer not in finalizers:
            finalizers.append(finalizer)


class Ownership(Protocol):
    """Tracks managed fields; changes objects in place."""

    def created(self, resource: ServedResource, obj: Object, manager: str, now: float) -> None:
        """Set the managed fields of a new object that was created without apply."""

    def updated(
        self, resource: ServedResource, live: Object, obj: Object, manager: str, subresource: str, now: float
    ) -> None:
        """Set the managed fields after an update or patch from `live` to `obj`."""

    def applied(
        self,
        resource: ServedResource,
        live: Object | None,
        applied_object: Object,
        manager: str,
        subresource: str,
        now: float,
        *,
        force: bool,
        validation: str,
    ) -> tuple[Object, list[str]]:
        """Return the object after a server-side apply with defaults, and warnings. Raise StatusError 409, 500."""
