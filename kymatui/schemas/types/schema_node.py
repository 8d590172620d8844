"""The schema node, for built-in kinds and custom resources."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

Object = dict[str, Any]
GVK = tuple[str, str, str]
"""(group, version, kind); the group of core kinds is ""."""

ListType = Literal["", "atomic", "set", "map"]
Path = tuple[str | int, ...]


class ValidationRule(NamedTuple):
    """One entry of x-kubernetes-validations."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool = False


class Schema(Struct, eq=False):
    """The schema of one value: type, subschemas, merge strategy, constraints.

    `type` is "" if any value is allowed. `additional` is the schema of a map's values. `go_type` is the decoder's
    name for the type of a built-in kind ("int32", "v1.Container", "[]uint8"); "" in custom resources. `zero` is the
    encoder's treatment of an empty value: "drop" it, "keep" it, "show" it even if it was not set, or show "null".
    """

    type: str = ""
    properties: dict[str, Schema] = field(default_factory=dict)
    additional: Schema | None = None
    items: Schema | None = None
    required: tuple[str, ...] = ()
    list_type: ListType = ""
    map_keys: tuple[str, ...] = ()
    atomic: bool = False
    preserve: bool = False
    embedded: bool = False
    nullable: bool = False
    int_or_string: bool = False
    has_default: bool = False
    default: Any = None
    description: str = ""
    merge_key: str = ""
    patch_strategy: tuple[str, ...] = ()
    rules: tuple[ValidationRule, ...] = ()
    constraints: Object = field(default_factory=dict)
    go_type: str = ""
    format: str = ""
    zero: Literal["drop", "keep", "show", "null"] = "drop"
    # Caches of the compilers in the sibling packages.
    compiled: dict[str, Any] = field(default_factory=dict)

    @property
    def is_granular_list(self) -> bool:
        return self.list_type in ("set", "map")


ANY = Schema(preserve=True)
"""A value about which nothing is known."""


def child(schema: Schema, name: str) -> Schema:
    """Return the schema of a field or map value, `ANY` if there is none."""
    property_schema = schema.properties.get(name)
    if property_schema is not None:
        return property_schema
    return schema.additional if schema.additional is not None else ANY
