"""The seam to what objects mean: who owns which field, and how patches merge."""

from __future__ import annotations

from typing import Protocol

from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource


class Ownership(Protocol):
    """Managed fields; objects are changed in place."""

    def created(self, resource: ServedResource, obj: Object, manager: str, now: float) -> None:
        """The managed fields of a new object that was not applied."""

    def updated(
        self, resource: ServedResource, live: Object, obj: Object, manager: str, subresource: str, now: float
    ) -> None:
        """The managed fields after an update or a patch of `live` into `obj`."""

    def applied(
        self,
        resource: ServedResource,
        live: Object | None,
        wanted: Object,
        manager: str,
        subresource: str,
        now: float,
        *,
        force: bool,
        validation: str,
    ) -> tuple[Object, list[str]]:
        """The object after a server-side apply, with defaults, and warnings; raises StatusError 409, 500."""
