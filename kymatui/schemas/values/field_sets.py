"""Sets of field paths, and their wire format FieldsV1.

A path is a tuple of FieldsV1 keys ("f:spec", 'k:{"name":"a"}', 'v:"x"', "i:0"); a set of paths is a frozenset of
them. A path in the set does not include the paths below it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from kymatui.schemas.values.field_errors import quoted


def copy_json(value: Any) -> Any:
    """Return a copy with its own objects and lists; scalars are immutable and shared."""
    if type(value) is dict:
        return {name: copy_json(item) if type(item) in _NESTED else item for name, item in value.items()}
    if type(value) is list:
        return [copy_json(item) if type(item) in _NESTED else item for item in value]
    return value


_NESTED = frozenset((dict, list))


FieldPath = tuple[str, ...]
FieldSet = frozenset[FieldPath]
EMPTY: FieldSet = frozenset()
_COMPACT = json.JSONEncoder(separators=(",", ":"), sort_keys=True, ensure_ascii=False)


class FieldsError(ValueError):
    """Malformed FieldsV1."""


def compact(value: Any) -> str:
    """Return compact JSON with sorted keys, as FieldsV1 writes keys and values."""
    return _COMPACT.encode(value)


def to_fields(paths: Iterable[FieldPath]) -> dict[str, Any]:
    """Return the FieldsV1 of a set."""
    root: dict[str, Any] = {}
    marks: list[dict[str, Any]] = []
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        marks.append(node)
    for node in marks:
        if node:
            children = dict(node)
            node.clear()
            node["."] = {}
            node.update(children)
    return root


def from_fields(fields: Any) -> FieldSet:
    """Return the set of FieldsV1. Raise `FieldsError`."""
    paths: list[FieldPath] = []
    _collect(fields, (), paths)
    return frozenset(paths)


def _collect(node: Any, path: FieldPath, paths: list[FieldPath]) -> None:
    if not isinstance(node, dict):
        raise FieldsError("expected an object")
    for key, children in node.items():
        if key == ".":
            paths.append(path)
        elif key[1:2] != ":":
            raise FieldsError(f"missing colon in path element {quoted(key)}")
        elif key[0] not in "fkvi":
            continue  # written by a newer server
        elif children:
            _collect(children, (*path, key), paths)
        else:
            paths.append((*path, key))


def without(paths: FieldSet, removed: Iterable[FieldPath]) -> FieldSet:
    """Return the set without the paths and everything below them (RecursiveDifference)."""
    prefixes = frozenset(removed)
    if not prefixes:
        return paths
    return frozenset(path for path in paths if not _is_under(path, prefixes))


def only(paths: FieldSet, kept: Iterable[FieldPath]) -> FieldSet:
    """Return the paths that are in `kept` or below one of its paths."""
    prefixes = frozenset(kept)
    return frozenset(path for path in paths if _is_under(path, prefixes))


def _is_under(path: FieldPath, prefixes: FieldSet) -> bool:
    return any(path[:length] in prefixes for length in range(1, len(path) + 1))


def show_path(path: FieldPath) -> str:
    """Return a path as conflict messages show it: `.spec.containers[name="a"].image`."""
    return "".join(_show_element(element) for element in path)


def _show_element(element: str) -> str:
    text = element[2:]
    if element[0] == "f":
        return f".{text}"
    if element[0] == "k":
        keys = json.loads(text)
        return "[" + ",".join(f"{name}={compact(keys[name])}" for name in sorted(keys)) + "]"
    return f"[={text}]" if element[0] == "v" else f"[{text}]"


def in_order(paths: FieldSet) -> Iterator[FieldPath]:
    """Yield the members of a level before those below, sorted by path element."""
    return iter(_ordered(paths, 0))


def _ordered(paths: Iterable[FieldPath], depth: int) -> list[FieldPath]:
    members = sorted((path for path in paths if len(path) == depth + 1), key=lambda path: _rank(path[depth]))
    groups: dict[str, list[FieldPath]] = {}
    for path in paths:
        if len(path) > depth + 1:
            groups.setdefault(path[depth], []).append(path)
    for element in sorted(groups, key=_rank):
        members += _ordered(groups[element], depth + 1)
    return members


def _rank(element: str) -> tuple[int, str]:
    return "fkvi".index(element[0]), element
