"""Size limit for values that share parts: written out, nested `list $x $x` grows exponentially."""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.govalues.budget import tick
from kymatui.helm.govalues.text import MAX_TEXT
from kymatui.helm.govalues.types import BYTES, FunctionError, TypedList

TEXT_LIMIT: Final = MAX_TEXT
"""Characters that one call of a function may make."""

PART_LIMIT: Final = 500_000
"""Parts that one call may walk through: a manifest of 10 MB has some 200,000."""
DEPTH_LIMIT: Final = 5_000
"""Levels of a value; far more than what any walk of it gets through, so that a circle ends here."""


def hold_value(value: Any, what: str) -> None:
    """Raise FunctionError if a value has more than PART_LIMIT parts with shared ones written out."""
    tick()
    level: list[Any] = [value] if isinstance(value, (list, dict)) else []
    remaining, depth = PART_LIMIT, 0
    while level:
        depth += 1
        if depth > DEPTH_LIMIT:
            raise FunctionError(f"{what} would be nested too deeply")
        below: list[Any] = []
        for part in level:
            is_file = isinstance(part, TypedList) and part.go_type == BYTES
            remaining -= len(part) // 16 if is_file else len(part)
            if remaining < 0:
                raise FunctionError(f"{what} would have more than {PART_LIMIT} parts, which is the limit")
            if not is_file:
                items = part.values() if isinstance(part, dict) else part
                below += [item for item in items if isinstance(item, (list, dict))]
        level = below
