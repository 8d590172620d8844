"""Values of CEL: types, truth, equality."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from kymatui.schemas.types.schema_node import Schema

CelType = str | Schema
DYN = "dyn"
_SCALARS = {"integer": "int", "number": "double", "string": "string", "boolean": "bool"}
_MOMENTS = ("date", "date-time", "duration", "byte")
_META = ("apiVersion", "kind", "metadata")


def type_of(schema: Schema | None) -> CelType:
    """Return the type of the values that a schema describes."""
    if schema is None or schema.int_or_string or schema.format in _MOMENTS:
        return DYN
    if schema.type in _SCALARS:
        return _SCALARS[schema.type]
    if schema.type == "array" and schema.items is not None:
        return schema
    if schema.type == "object" and (schema.properties or schema.additional is not None):
        return schema
    return DYN


def name_of(kind: CelType) -> str:
    """Return the type's name for messages, "" for a schema."""
    if isinstance(kind, str):
        return kind
    return ""


def selected(kind: CelType, field: str) -> tuple[CelType, str]:
    """Return (the type of a field, the error of selecting it)."""
    if kind == DYN:
        return DYN, ""
    if isinstance(kind, str):
        return DYN, f"type '{kind}' does not support field selection"
    if kind.type == "array":
        return DYN, ""
    property_schema = kind.properties.get(field)
    if property_schema is not None:
        return DYN if field == "metadata" else type_of(property_schema), ""
    if kind.additional is not None:
        return type_of(kind.additional), ""
    return (DYN, "") if field in _META else (DYN, f"undefined field '{field}'")


def iterated(kind: CelType) -> CelType:
    """Return the type that a macro iterates over: items of a list, keys of a map."""
    if isinstance(kind, str):
        return DYN
    return type_of(kind.items) if kind.type == "array" else "string"


def indexed(kind: CelType) -> CelType:
    """Return the type of an item or entry."""
    if isinstance(kind, str):
        return DYN
    return type_of(kind.items if kind.type == "array" else kind.additional)


_NUMBERS = ("int", "double")


def compare_problem(operator: str, left: CelType, right: CelType) -> str:
    """Return the error of a comparison that no overload supports, "" if it is allowed."""
    name, other = name_of(left), name_of(right)
    if not name or not other or DYN in (name, other) or name == other or "null" in (name, other):
        return ""
    if name in _NUMBERS and other in _NUMBERS:
        return ""
    return f"found no matching overload for '_{operator}_' applied to '({name}, {other})'"


TYPE_NAMES = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type"})
"""What `type(x)` can be compared with; a type's value is its name."""


class CelError(ValueError):
    """A failed evaluation, with cel-go's message."""


def type_name(value: Any) -> str:
    if value is None:
        return "null_type"
    names: tuple[tuple[type, str], ...] = (
        (bool, "bool"),
        (int, "int"),
        (float, "double"),
        (str, "string"),
        (list, "list"),
        (dict, "map"),
        (timedelta, "google.protobuf.Duration"),
        (datetime, "google.protobuf.Timestamp"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "dyn")


def truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise CelError("no such overload")


def equal(left: Any, right: Any) -> bool:
    """Return whether values are equal: numbers across types, otherwise only values of one type."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[name]) for name, value in left.items())
    return bool(left == right)


# Optional values of CEL.


class Optional(Struct, frozen=True):
    """A value or nothing; `filled` distinguishes nothing from a null."""

    filled: bool
    value: Any = None


NOTHING = Optional(False)


def some(value: Any) -> Optional:
    return Optional(True, value)


def _optional(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise CelError("no such overload")
    return value


def _value(optional: Any) -> Any:
    if not _optional(optional).filled:
        raise CelError("optional.none() dereference")
    return optional.value


def select_optional(target: Any, key: Any) -> Optional:
    """Return `target.?key` or `target[?key]`: NOTHING if the key is missing."""
    if isinstance(target, Optional):
        return select_optional(target.value, key) if target.filled else NOTHING
    if isinstance(target, dict):
        return some(target[key]) if key in target else NOTHING
    if isinstance(target, list) and isinstance(key, int):
        return some(target[key]) if 0 <= key < len(target) else NOTHING
    raise CelError("no such overload")


METHODS: dict[str, Callable[..., Any]] = {
    "hasValue": lambda optional: _optional(optional).filled,
    "value": _value,
    "orValue": lambda optional, other: optional.value if _optional(optional).filled else other,
    "or": lambda optional, other: optional if _optional(optional).filled else other,
}
"""Methods of an optional value."""
