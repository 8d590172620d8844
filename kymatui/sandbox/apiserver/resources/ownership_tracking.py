"""Managed fields of every write, computed by `kymatui.sandbox.apply`."""

from __future__ import annotations

from collections.abc import Callable

from kymatui.sandbox.apimachinery.statuses import StatusError, failure
from kymatui.sandbox.apiserver.resources.resource import DecodingError, Object, ServedResource
from kymatui.sandbox.apply.server_side_apply import apply_object
from kymatui.sandbox.apply.update_tracking import ApplyConflictError, ApplyFailedError, EndpointTracking, track_update
from kymatui.schemas.objects.typed_decoding import decode
from kymatui.schemas.types.schema_node import Schema
from kymatui.schemas.values.field_sets import FieldSet

SchemaOf = Callable[[ServedResource, str], Schema | None]
"""(resource, an apiVersion) -> the schema of its kind there."""

Changed = Callable[[ServedResource, str], tuple[FieldSet, FieldSet | None]]
"""(resource, subresource) -> the fields that this endpoint never changes, and the only ones it does (None: all)."""


class TrackedOwnership:
    """Implements `ownership_port.Ownership`."""

    def __init__(self, schema_of: SchemaOf, changed: Changed) -> None:
        self._schema_of = schema_of
        self._changed = changed
        self._empties: dict[str, Object] = {}

    def _tracking(self, resource: ServedResource, subresource: str) -> EndpointTracking:
        def schema(version: str) -> Schema | None:
            return self._schema_of(resource, version)

        def default(obj: Object) -> None:
            decoded, _ = resource.semantics.decode(obj)
            if decoded is not obj:
                obj.clear()
                obj.update(decoded)

        reset, kept = self._changed(resource, subresource)
        return EndpointTracking(
            api_version=resource.api_version,
            schema=schema,
            subresource=subresource,
            reset=reset,
            kept=kept,
            default=default,
            empty=self._empty(resource),
        )

    def _empty(self, resource: ServedResource) -> Object:
        """Return a new object as the encoder writes it, with the structs that are always present."""
        if resource.custom:
            return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}
        known = self._empties.get(resource.api_version + resource.kind)
        if known is None:
            bare: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}
            known, _ = decode(resource.schema, bare)
            self._empties[resource.api_version + resource.kind] = known
        return known

    def created(self, resource: ServedResource, obj: Object, manager: str, now: float) -> None:
        track_update(self._tracking(resource, ""), None, obj, manager, now)

    def updated(
        self, resource: ServedResource, live: Object, obj: Object, manager: str, subresource: str, now: float
    ) -> None:
        track_update(self._tracking(resource, subresource), live, obj, manager, now)

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
        tracking = self._tracking(resource, subresource)
        try:
            return apply_object(tracking, live, applied_object, manager, now, force=force), []
        except ApplyConflictError as error:
            raise failure(409, "Conflict", str(error), {"causes": error.causes}) from None
        except ApplyFailedError as error:
            raise failure(500, "", str(error)) from None
        except DecodingError as error:
            raise _failed(str(error)) from None


def _failed(text: str) -> StatusError:
    return failure(500, "", text)
