"""CEL types from schemas: enough to refuse unknown fields and comparisons of different types.

A type is the name of a scalar ("int", "double", "string", "bool", "null"), a schema (objects, maps and lists), or
"dyn" for types known only at run time.
"""

from __future__ import annotations

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
