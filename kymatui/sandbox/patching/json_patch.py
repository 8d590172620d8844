"""JSON patch (RFC 6902) as the server's library applies it.

Deviations of the library: negative indices count from the end, and the root can be replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kymatui.errors import InvalidError
from kymatui.schemas.objects.typed_values import same_value
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
_MISSING: Any = object()


def apply_json_patch(document: Any, operations: list[Any]) -> Any:
    """Return the patched document; `document` is unchanged. Raise `PatchFailedError` (422)."""
    try:
        return _apply(document, operations)
    except RecursionError:
        raise PatchFailedError("the patch nests too deeply") from None


def _apply(document: Any, operations: list[Any]) -> Any:
    root = [copy_json(document)]
    copied = 0
    for operation in operations:
        if not isinstance(operation, dict):
            raise PatchFailedError("an operation is an object", 400)
        kind = operation.get("op")
        perform = _OPERATIONS.get(kind) if isinstance(kind, str) else None
        if perform is None:
            raise PatchFailedError(f"Unexpected kind: {kind}")
        path = operation.get("path")
        if not isinstance(path, str):
            raise PatchFailedError("missing value for the path of an operation")
        if kind == "copy":
            copied += _size(_read(root, _from(operation), kind))
            if copied > LARGEST_COPY:
                raise PatchFailedError(
                    "Unable to complete the copy, the accumulated size increase of copy is "
                    f"{copied}, exceeding the limit {LARGEST_COPY}"
                )
        perform(root, path, operation)
    return root[0]


def _size(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _parts(path: str) -> list[str]:
    if not path:
        return []
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _container(root: list[Any], path: str, kind: str) -> tuple[Any, str]:
    """Return the container of the value at the path and the value's key in it."""
    parts = _parts(path)
    if not parts:
        raise PatchFailedError(f'{kind} operation does not apply: doc is missing path: "{path}": missing value')
    node: Any = root[0]
    for part in parts[:-1]:
        node = _get(node, part)
        if not isinstance(node, (dict, list)):
            raise PatchFailedError(f'{kind} operation does not apply: doc is missing path: "{path}": missing value')
    if not isinstance(node, (dict, list)):
        raise PatchFailedError(f'{kind} operation does not apply: doc is missing path: "{path}": missing value')
    return node, parts[-1]


def _index(items: list[Any], key: str, size: int) -> int:
    """Return the index of a key in a list of that size. Raise `PatchFailedError`."""
    try:
        index = int(key)
    except ValueError:
        raise PatchFailedError(f'error in array index: strconv.Atoi: parsing "{key}": invalid syntax') from None
    if index >= size or index < -size:
        raise PatchFailedError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + size if index < 0 else index


def _get(node: Any, key: str) -> Any:
    if isinstance(node, dict):
        return node.get(key, _MISSING)
    if isinstance(node, list):
        try:
            return node[_index(node, key, len(node))]
        except PatchFailedError:
            return _MISSING
    return _MISSING


def _add(root: list[Any], path: str, operation: dict[str, Any]) -> None:
    _put(root, path, copy_json(operation.get("value")), "add")


def _put(root: list[Any], path: str, value: Any, kind: str) -> None:
    node, key = _container(root, path, kind)
    if isinstance(node, dict):
        node[key] = value
    elif key == "-":
        node.append(value)
    else:
        node.insert(_index(node, key, len(node) + 1), value)


def _remove(root: list[Any], path: str, operation: dict[str, Any]) -> None:
    del operation
    node, key = _container(root, path, "remove")
    if isinstance(node, list):
        del node[_index(node, key, len(node))]
    elif key in node:
        del node[key]
    else:
        raise PatchFailedError(f"error in remove for path: '{path}': Unable to remove nonexistent key: {key}")


def _replace(root: list[Any], path: str, operation: dict[str, Any]) -> None:
    value = copy_json(operation.get("value"))
    if not path:
        root[0] = value
        return
    node, key = _container(root, path, "replace")
    if isinstance(node, list):
        node[_index(node, key, len(node))] = value
    else:
        node[key] = value  # the server's library adds a missing field


def _from(operation: dict[str, Any]) -> str:
    source = operation.get("from")
    if not isinstance(source, str):
        raise PatchFailedError("missing value for the from of an operation")
    return source


def _read(root: list[Any], path: str, kind: str) -> Any:
    node, key = _container(root, path, kind)
    value = _get(node, key)
    if value is _MISSING:
        if isinstance(node, dict):
            return None  # the server's library copies a missing field as null
        raise PatchFailedError(f"Unable to access invalid index: {key}: invalid index referenced")
    return value


def _move(root: list[Any], path: str, operation: dict[str, Any]) -> None:
    source = _from(operation)
    value = _read(root, source, "move")
    _remove(root, source, operation)
    _put(root, path, value, "move")


def _copy(root: list[Any], path: str, operation: dict[str, Any]) -> None:
    _put(root, path, copy_json(_read(root, _from(operation), "copy")), "copy")


def _test(root: list[Any], path: str, operation: dict[str, Any]) -> None:
    expected = operation.get("value")
    if not path:
        actual = root[0]
    else:
        node, key = _container(root, path, "test")
        actual = _get(node, key)
        if actual is _MISSING and isinstance(node, list):
            raise PatchFailedError(f"Unable to access invalid index: {key}: invalid index referenced")
        actual = None if actual is _MISSING else actual
    if not same_value(actual, expected):
        raise PatchFailedError(f"testing value {path} failed: test failed")


_OPERATIONS: dict[str, Callable[[list[Any], str, dict[str, Any]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


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
