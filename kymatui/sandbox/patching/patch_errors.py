"""Errors of patches."""

from __future__ import annotations

from typing import Any

from kymatui.errors import InvalidError
from kymatui.schemas.types.schema_node import Object, Schema


class PatchFailedError(InvalidError):
    """A patch that cannot be applied; `status` is the HTTP status of the answer.

    422 has the server's generic message (`str(error)` is for logs), 400 has the text, 500 has the text and no reason.
    """

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message, status=status)


_KINDS = ((bool, "bool"), (int, "int64"), (float, "float64"), (str, "string"), (list, "slice"), (dict, "map"))
_NUMBERS = ("int32", "int64", "float64")
_OWN_READERS = ("quantity", "date-time", "micro-time", "byte")


def _kind(value: Any) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "invalid")


def conversion_problem(schema: Schema, obj: Object) -> str:
    """Return the converter's message for the first value that does not fit; "" if all fit."""
    for name, below in schema.properties.items():
        if name not in ("kind", "apiVersion") and obj.get(name) is not None:
            problem = _problem(below, obj[name])
            if problem:
                return problem
    return ""


def _problem(schema: Schema, value: Any) -> str:
    value_kind = _kind(value)
    if value is None or schema.int_or_string or schema.format in _OWN_READERS:
        return ""
    if schema.properties:
        if schema.go_type == "v1.JSONSchemaProps":
            return ""
        return conversion_problem(schema, value) if value_kind == "map" else f"cannot restore struct from: {value_kind}"
    if schema.type == "array":
        return _first(schema.items, value) if value_kind == "slice" else f"cannot restore slice from {value_kind}"
    if schema.additional is not None:
        return (
            _first(schema.additional, value.values())
            if value_kind == "map"
            else f"cannot restore map from {value_kind}"
        )
    return _scalar_problem(schema, value_kind) if schema.type else ""


def _first(schema: Schema | None, values: Any) -> str:
    if schema is None:
        return ""
    return next((problem for problem in (_problem(schema, value) for value in values) if problem), "")


def _scalar_problem(schema: Schema, value_kind: str) -> str:
    expected = schema.go_type or schema.type
    plain = "string" if schema.type == "string" else expected
    if value_kind == plain or (value_kind in _NUMBERS and expected in _NUMBERS):
        return ""
    if value_kind in ("slice", "map"):
        return f"unrecognized type: {plain}"
    return f"cannot convert {value_kind} to {expected}"
