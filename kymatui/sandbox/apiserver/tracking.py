"""Managed fields of every write, by the functions of `kymatui.sandbox.apply`."""

from __future__ import annotations

from collections.abc import Callable

from kymatui.sandbox.apiserver.resources import DecodingError, Object, Resource
from kymatui.sandbox.apiserver.statuses import StatusError, failure
from kymatui.sandbox.apply.applying import apply_object
from kymatui.sandbox.apply.conflicts import ApplyConflictError, ApplyFailedError
from kymatui.sandbox.apply.fieldsets import FieldSet
from kymatui.sandbox.apply.tracking import Tracking
from kymatui.sandbox.apply.updating import track_update
from kymatui.sandbox.schemas.decoding import decode
from kymatui.sandbox.schemas.nodes import Schema

SchemaOf = Callable[[Resource, str], Schema | None]
"""(resource, an apiVersion) -> the schema of its kind there."""

Changed = Callable[[Resource, str], tuple[FieldSet, FieldSet | None]]
"""(resource, subresource) -> the fields that this endpoint never changes, and the only ones it does (None: all)."""


class TrackedOwnership:
    """See `semantics.Ownership`."""

    def __init__(self, schema_of: SchemaOf, changed: Changed) -> None:
        self._schema_of = schema_of
        self._changed = changed
        self._empties: dict[str, Object] = {}

    def _tracking(self, resource: Resource, subresource: str) -> Tracking:
        def schema(version: str) -> Schema | None:
            return self._schema_of(resource, version)

        def default(obj: Object) -> None:
            decoded, _ = resource.semantics.decode(obj)
            if decoded is not obj:
                obj.clear()
                obj.update(decoded)

        reset, kept = self._changed(resource, subresource)
        return Tracking(
            api_version=resource.api_version,
            schema=schema,
            subresource=subresource,
            reset=reset,
            kept=kept,
            default=default,
            empty=self._empty(resource),
        )

    def _empty(self, resource: Resource) -> Object:
        """A new object as the encoder shows it: with the structs that are always there."""
        if resource.custom:
            return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}
        known = self._empties.get(resource.api_version + resource.kind)
        if known is None:
            bare: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}
            known, _ = decode(resource.schema, bare)
            self._empties[resource.api_version + resource.kind] = known
        return known

    def created(self, resource: Resource, obj: Object, manager: str, now: float) -> None:
        track_update(self._tracking(resource, ""), None, obj, manager, now)

    def updated(
        self, resource: Resource, live: Object, obj: Object, manager: str, subresource: str, now: float
    ) -> None:
        track_update(self._tracking(resource, subresource), live, obj, manager, now)

    def applied(
        self,
        resource: Resource,
        live: Object | None,
        wanted: Object,
        manager: str,
        subresource: str,
        now: float,
        *,
        force: bool,
        validation: str,
    ) -> tuple[Object, list[str]]:
        tracking = self._tracking(resource, subresource)
        try:
            return apply_object(tracking, live, wanted, manager, now, force=force), []
        except ApplyConflictError as error:
            raise failure(409, "Conflict", str(error), {"causes": error.causes}) from None
        except ApplyFailedError as error:
            raise failure(500, "", str(error)) from None
        except DecodingError as error:
            raise _failed(str(error)) from None


def _failed(text: str) -> StatusError:
    return failure(500, "", text)
