"""Functions on the types of values."""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.govalues.bounding import hold_value
from kymatui.helm.govalues.comparing import deep_equal
from kymatui.helm.govalues.types import go_type, kind


def type_is(name: str, value: Any) -> bool:
    return name == go_type(value)


def type_is_like(name: str, value: Any) -> bool:
    """Return whether the type has this name, or is a pointer to that type."""
    return go_type(value) in (name, "*" + name)


def kind_is(name: str, value: Any) -> bool:
    return name == kind(value)


def equal_all_the_way(left: Any, right: Any) -> bool:
    hold_value(left, "a value to compare")
    hold_value(right, "a value to compare")
    return deep_equal(left, right)


FUNCTIONS: Final = table(
    (
        declare("typeOf(any)", go_type),
        declare("typeIs(string, any)", type_is),
        declare("typeIsLike(string, any)", type_is_like),
        declare("kindOf(any)", kind),
        declare("kindIs(string, any)", kind_is),
        declare("deepEqual(any, any)", equal_all_the_way),
    )
)
