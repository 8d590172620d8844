"""JSON patch and merge patch as the API server applies them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kymatui.errors import InvalidError
from kymatui.schemas.objects.json_patch import JsonPatchError, apply_operation
from kymatui.schemas.values.field_sets import copy_json

if TYPE_CHECKING:
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


LARGEST_COPY = 3 << 20
"""Bytes that the copies of a patch may add, as in a kube-apiserver: a copy of an object into itself doubles it."""


def apply_json_patch(document: Any, operations: list[Any]) -> Any:
    """Return the patched document; `document` is unchanged. Raise `PatchFailedError` (422)."""
    root = [copy_json(document)]
    size = 0

    def charged_copy(value: Any) -> Any:
        nonlocal size
        size += len(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
        if size > LARGEST_COPY:
            raise PatchFailedError(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{size}, exceeding the limit {LARGEST_COPY}"
            )
        return copy_json(value)

    try:
        for operation in operations:
            if not isinstance(operation, dict):
                raise PatchFailedError("an operation is an object", 400)
            apply_operation(root, operation, charged_copy if operation.get("op") == "copy" else copy_json)
    except JsonPatchError as error:
        raise PatchFailedError(str(error)) from None
    except RecursionError:
        raise PatchFailedError("the patch nests too deeply") from None
    return root[0]


def apply_merge_patch(value: Any, patch: Any) -> Any:
    """Return the patched value; both arguments are unchanged."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, part in patch.items():
        if part is None:
            result.pop(name, None)
        else:
            result[name] = apply_merge_patch(result.get(name), part)
    return result
