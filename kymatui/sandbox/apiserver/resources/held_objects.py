"""Objects that do not go: finalizers that nobody removes, whatever their controller wants."""

from __future__ import annotations

from dataclasses import dataclass, field

from kymatui.sandbox.apiserver.resources.resource import Object

Held = tuple[str, str, str]
"""(resource in full, namespace, name)."""


@dataclass(slots=True)
class HeldObjects:
    """While an object is held, writes of its finalizers leave the held one in place."""

    held: dict[Held, str] = field(default_factory=dict)

    def hold(self, resource: str, namespace: str, name: str, finalizer: str) -> None:
        self.held[resource, namespace, name] = finalizer

    def release(self, resource: str, namespace: str, name: str) -> bool:
        return self.held.pop((resource, namespace, name), None) is not None

    def keep(self, resource: str, obj: Object) -> None:
        """Puts the held finalizer back where a write takes it away."""
        if not self.held:
            return
        metadata = obj["metadata"]
        finalizer = self.held.get((resource, metadata.get("namespace") or "", metadata["name"]))
        if finalizer is None:
            return
        finalizers: list[str] = metadata.setdefault("finalizers", [])
        if finalizer not in finalizers:
            finalizers.append(finalizer)
