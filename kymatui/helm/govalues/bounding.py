"""Values that share their parts are exponentially larger written out than in memory: `list $x $x`, again and again."""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.govalues.types import BYTES, FunctionError, TypedList

PART_LIMIT: Final = 2_000_000
"""Parts that one call may walk through."""


def hold_value(value: Any, what: str) -> None:
    """Refuses a value that would have more than PART_LIMIT parts, were all that it shares written out."""
    if not isinstance(value, (list, dict)):
        return
    left = PART_LIMIT
    waiting: list[Any] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (list, dict)):
            is_file = isinstance(part, TypedList) and part.go_type == BYTES
            left -= len(part) // 16 if is_file else len(part)
            if left < 0:
                raise FunctionError(f"{what} would have more than {PART_LIMIT} parts, which is the limit")
            if not is_file:
                waiting += part.values() if isinstance(part, dict) else part
