"""JSON patch (RFC 6902) as the library of the API server and of kustomize applies it (evanphx/json-patch v4).

Deviations of the library: negative indices count from the end, and the root can be replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kymatui.schemas.objects.typed_values import same_value

Copy = Callable[[Any], Any]
_MISSING: Any = object()


class JsonPatchError(Exception):
    """An operation that is none, or that does not apply; the text is the library's."""


def apply_operation(root: list[Any], operation: object, copied: Copy) -> None:
    """Apply one operation to the document that is the only element of `root`. Raise `JsonPatchError`.

    `copied` copies each value that the operation brings or copies, and may refuse one that is too much.
    """
    kind = operation.get("op") if isinstance(operation, dict) else None
    perform = _OPERATIONS.get(kind) if isinstance(kind, str) else None
    if not isinstance(operation, dict) or perform is None:
        raise JsonPatchError(f"Unexpected kind: {kind}")
    path = operation.get("path")
    if not isinstance(path, str):
        raise JsonPatchError("missing value for the path of an operation")
    perform(root, path, operation, copied)


def _parts(path: str) -> list[str]:
    if not path:
        return []
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _container(root: list[Any], path: str, kind: str) -> tuple[Any, str]:
    """Return the container of the value at the path and the value's key in it."""
    parts = _parts(path)
    if not parts:
        raise JsonPatchError(f'{kind} operation does not apply: doc is missing path: "{path}": missing value')
    node: Any = root[0]
    for part in parts[:-1]:
        node = _get(node, part)
        if not isinstance(node, (dict, list)):
            raise JsonPatchError(f'{kind} operation does not apply: doc is missing path: "{path}": missing value')
    if not isinstance(node, (dict, list)):
        raise JsonPatchError(f'{kind} operation does not apply: doc is missing path: "{path}": missing value')
    return node, parts[-1]


def _index(items: list[Any], key: str, size: int) -> int:
    """Return the index of a key in a list of that size. Raise `JsonPatchError`."""
    try:
        index = int(key)
    except ValueError:
        raise JsonPatchError(f'error in array index: strconv.Atoi: parsing "{key}": invalid syntax') from None
    if index >= size or index < -size:
        raise JsonPatchError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + size if index < 0 else index


def _get(node: Any, key: str) -> Any:
    if isinstance(node, dict):
        return node.get(key, _MISSING)
    if isinstance(node, list):
        try:
            return node[_index(node, key, len(node))]
        except JsonPatchError:
            return _MISSING
    return _MISSING


def _add(root: list[Any], path: str, operation: dict[str, Any], copied: Copy) -> None:
    _put(root, path, copied(operation.get("value")), "add")


def _put(root: list[Any], path: str, value: Any, kind: str) -> None:
    node, key = _container(root, path, kind)
    if isinstance(node, dict):
        node[key] = value
    elif key == "-":
        node.append(value)
    else:
        node.insert(_index(node, key, len(node) + 1), value)


def _remove(root: list[Any], path: str, operation: dict[str, Any], copied: Copy) -> None:
    del operation, copied
    node, key = _container(root, path, "remove")
    if isinstance(node, list):
        del node[_index(node, key, len(node))]
    elif key in node:
        del node[key]
    else:
        raise JsonPatchError(f"error in remove for path: '{path}': Unable to remove nonexistent key: {key}")


def _replace(root: list[Any], path: str, operation: dict[str, Any], copied: Copy) -> None:
    value = copied(operation.get("value"))
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
        raise JsonPatchError("missing value for the from of an operation")
    return source


def _read(root: list[Any], path: str, kind: str) -> Any:
    node, key = _container(root, path, kind)
    value = _get(node, key)
    if value is _MISSING:
        if isinstance(node, dict):
            return None  # the server's library copies a missing field as null
        raise JsonPatchError(f"Unable to access invalid index: {key}: invalid index referenced")
    return value


def _move(root: list[Any], path: str, operation: dict[str, Any], copied: Copy) -> None:
    source = _from(operation)
    value = _read(root, source, "move")
    _remove(root, source, operation, copied)
    _put(root, path, value, "move")


def _copy(root: list[Any], path: str, operation: dict[str, Any], copied: Copy) -> None:
    _put(root, path, copied(_read(root, _from(operation), "copy")), "copy")


def _test(root: list[Any], path: str, operation: dict[str, Any], copied: Copy) -> None:
    del copied
    expected = operation.get("value")
    if not path:
        actual = root[0]
    else:
        node, key = _container(root, path, "test")
        actual = _get(node, key)
        if actual is _MISSING and isinstance(node, list):
            raise JsonPatchError(f"Unable to access invalid index: {key}: invalid index referenced")
        actual = None if actual is _MISSING else actual
    if not same_value(actual, expected):
        raise JsonPatchError(f"testing value {path} failed: test failed")


_OPERATIONS: dict[str, Callable[[list[Any], str, dict[str, Any], Copy], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
