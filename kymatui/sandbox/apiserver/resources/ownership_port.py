"""Port for field ownership: managed fields and merges."""

from __future__ import annotations

from typing import Protocol

from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource


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
