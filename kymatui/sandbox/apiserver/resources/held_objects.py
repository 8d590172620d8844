"""Held objects: their deletion hangs on a finalizer that no controller can remove."""

from __future__ import annotations

from msgspec import Struct, field

from kymatui.sandbox.apiserver.resources.resource import Object

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
