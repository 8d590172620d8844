"""Optional values of CEL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from kymatui.schemas.cel.cel_values import CelError


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
