"""Values of CEL: types, truth, equality."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

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
