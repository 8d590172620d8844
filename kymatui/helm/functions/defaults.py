"""Functions for empty values and defaults."""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.govalues.types import NilPointer, Object


def empty(value: Any) -> bool:
    """Return whether a value is empty: nil, false, 0, "", an empty list or map. Structs never are."""
    if isinstance(value, Object):
        return False
    return isinstance(value, NilPointer) or not value


def default(fallback: Any, *values: Any) -> Any:
    return fallback if not values or empty(values[0]) else values[0]


def coalesce(*values: Any) -> Any:
    return next((value for value in values if not empty(value)), None)


def all_set(*values: Any) -> bool:
    return not any(map(empty, values))


def any_set(*values: Any) -> bool:
    return not all(map(empty, values))


def ternary(when_true: Any, when_false: Any, condition: bool) -> Any:
    return when_true if condition else when_false


FUNCTIONS: Final = table(
    (
        declare("default(any, ...any)", default),
        declare("empty(any)", empty),
        declare("coalesce(...any)", coalesce),
        declare("all(...any)", all_set),
        declare("any(...any)", any_set),
        declare("ternary(any, any, bool)", ternary),
    )
)
