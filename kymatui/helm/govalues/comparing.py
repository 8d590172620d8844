"""Equality and order: text/template's eq and lt, and reflect.DeepEqual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kymatui.helm.govalues.bounding import hold_value
from kymatui.helm.govalues.budget import tick
from kymatui.helm.govalues.printf import sprintf
from kymatui.helm.govalues.printing import format_value
from kymatui.helm.govalues.text import is_valid, to_bytes
from kymatui.helm.govalues.types import INVALID, FunctionError, NilPointer, Object, TypedList, TypedMap, go_type, kind

BAD_COMPARISON: Final = "invalid type for comparison"

_BASIC: Final[Mapping[str, str]] = {
    "bool": "bool",
    "string": "string",
    **dict.fromkeys(("int", "int8", "int16", "int32", "int64"), "int"),
    **dict.fromkeys(("uint", "uint8", "uint16", "uint32", "uint64", "uintptr"), "uint"),
    **dict.fromkeys(("float32", "float64"), "float"),
    **dict.fromkeys(("complex64", "complex128"), "complex"),
}
_SCALARS: Final = frozenset({bool, int, float, str})


def is_nil(value: Any) -> bool:
    """Return whether a value is nil: an interface, map, slice or pointer."""
    if value is None or value is INVALID or isinstance(value, NilPointer):
        return True
    return isinstance(value, (TypedList, TypedMap)) and value.is_nil


def equal(first: Any, second: Any) -> bool:
    """Return `eq` of two values. Raise FunctionError for pairs that Go's eq refuses."""
    cls = first.__class__
    if cls is second.__class__ and cls in _SCALARS:
        return bool(first == second)
    first_kind, second_kind = _BASIC.get(kind(first)), _BASIC.get(kind(second))
    if first_kind != second_kind:
        return _equal_kinds(first, second, first_kind, second_kind)
    if first_kind is not None:
        return bool(first == second)
    return _equal_others(first, second)


def _equal_kinds(first: Any, second: Any, first_kind: str | None, second_kind: str | None) -> bool:
    if {first_kind, second_kind} == {"int", "uint"}:
        return int(first) == int(second)
    if _valid(first) and _valid(second):
        raise FunctionError(f"incompatible types for comparison: {go_type(first)} and {go_type(second)}")
    return False


def _valid(value: Any) -> bool:
    return value is not None and value is not INVALID


def _equal_others(first: Any, second: Any) -> bool:
    first_kind, second_kind = kind(first), kind(second)
    if first_kind != second_kind and "invalid" not in (first_kind, second_kind):
        raise FunctionError(
            f"non-comparable types {_shown(first)}: {go_type(first)}, {go_type(second)}: {format_value(second)}"
        )
    if is_nil(first) or is_nil(second):
        return is_nil(first) == is_nil(second)
    if kind(second) in {"map", "slice", "func"}:
        raise FunctionError(f"non-comparable type {_shown(second)}: {go_type(second)}")
    return first is second or bool(type(first) is type(second) and kind(first) == "struct" and first == second)


def _shown(value: Any) -> str:
    """Return a reflect.Value under %s, which prints its content with every part under %s."""
    return sprintf("%s", value)


def less(first: Any, second: Any) -> bool:
    """Return `lt` of two values. Raise FunctionError for pairs that Go's lt refuses."""
    first_kind, second_kind = _BASIC.get(kind(first)), _BASIC.get(kind(second))
    if first_kind is None or second_kind is None:
        raise FunctionError(BAD_COMPARISON)
    if first_kind != second_kind:
        if {first_kind, second_kind} != {"int", "uint"}:
            raise FunctionError(f"incompatible types for comparison: {go_type(first)} and {go_type(second)}")
        return int(first) < int(second)
    if first_kind in ("bool", "complex"):
        raise FunctionError(BAD_COMPARISON)
    if first_kind == "string" and not (is_valid(first) and is_valid(second)):
        return to_bytes(first) < to_bytes(second)
    return bool(first < second)


def deep_equal(first: Any, second: Any) -> bool:
    """Return reflect.DeepEqual: equal types and values at every depth."""
    hold_value(first, "the comparison")
    hold_value(second, "the comparison")
    return _deep_equal(first, second)


def _deep_equal(first: Any, second: Any) -> bool:
    if first is second and type(first) is str:
        return True
    tick()
    if type(first) is not type(second):
        return not _valid(first) and not _valid(second)
    if isinstance(first, dict):
        return _same_header(first, second) and _equal_maps(first, second)
    if isinstance(first, list):
        return (
            _same_header(first, second)
            and len(first) == len(second)
            and all(_deep_equal(a, b) for a, b in zip(first, second, strict=True))
        )
    if isinstance(first, Object) and first.go_fields:
        return first is second or all(
            _deep_equal(first.read_field(name), second.read_field(name)) for name in first.go_fields
        )
    return first is second or bool(first == second)


def _same_header(first: Any, second: Any) -> bool:
    return go_type(first) == go_type(second) and is_nil(first) == is_nil(second)


def _equal_maps(first: dict[Any, Any], second: dict[Any, Any]) -> bool:
    return first.keys() == second.keys() and all(_deep_equal(value, second[key]) for key, value in first.items())
