"""How the fields of one endpoint are tracked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kymatui.errors import ServerError
from kymatui.sandbox.apply.fieldsets import EMPTY, FieldSet, only, without
from kymatui.sandbox.apply.managedfields import Managed, write_managed
from kymatui.sandbox.schemas.nodes import Object, Schema

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


@dataclass(frozen=True, slots=True)
class Tracking:
    """How the fields of one endpoint are tracked.

    `schema(version)` is the schema at an apiVersion, None where it is not served (any more). `reset` are the fields
    that this endpoint never changes, and so never owns; `kept`, where given, the only ones it does. `default` fills in
    the defaults of an applied object in place. `empty` is what a new object is before anything is set.
    """

    api_version: str
    schema: Callable[[str], Schema | None]
    subresource: str = ""
    reset: FieldSet = EMPTY
    kept: FieldSet | None = None
    default: Callable[[Object], None] = lambda obj: None
    empty: Object = field(default_factory=dict)

    def tracked(self, fields: FieldSet) -> FieldSet:
        left = without(fields, self.reset)
        return left if self.kept is None else only(left, self.kept)

    def own_schema(self) -> Schema:
        found = self.schema(self.api_version)
        if found is None:
            raise ServerError(f"no schema for {self.api_version}", status=500)
        return found


def bare(obj: Object) -> Object:
    """The object without its managed fields."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def put(obj: Object, managed: Managed) -> None:
    entries = write_managed(managed)
    metadata = obj.setdefault("metadata", {})
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)
