"""Values of CEL: types, truth, equality."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

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
