"""Tracking options of an endpoint."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from kymatui.errors import ServerError
from kymatui.sandbox.apply.managed_fields_codec import ManagedFields, write_managed
from kymatui.schemas.types.schema_node import Object, Schema
from kymatui.schemas.values.field_sets import EMPTY, FieldSet, only, without

NEVER_TRACKED = frozenset(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",)]
    + [
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ]
)


class EndpointTracking(Struct, frozen=True):
    """Tracking options of an endpoint.

    `schema(version)` returns the schema at an apiVersion, None if it is not served. `reset` are the fields that this
    endpoint never changes, and so never owns; `kept`, if given, the only ones it changes. `default` sets the defaults
    of an applied object in place. `empty` is a new object before any field is set.
    """

    api_version: str
    schema: Callable[[str], Schema | None]
    subresource: str = ""
    reset: FieldSet = EMPTY
    kept: FieldSet | None = None
    default: Callable[[Object], None] = lambda obj: None
    empty: Object = field(default_factory=dict)

    def tracked(self, fields: FieldSet) -> FieldSet:
        remaining_fields = without(fields, self.reset)
        return remaining_fields if self.kept is None else only(remaining_fields, self.kept)

    def own_schema(self) -> Schema:
        version_schema = self.schema(self.api_version)
        if version_schema is None:
            raise ServerError(f"no schema for {self.api_version}", status=500)
        return version_schema


def without_untracked(obj: Object) -> Object:
    """Return the object without its managed fields."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def put(obj: Object, managed: ManagedFields) -> None:
    entries = write_managed(managed)
    metadata = obj.setdefault("metadata", {})
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)
