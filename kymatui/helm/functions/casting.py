"""Conversion to numbers and text: spf13/cast 1.10 and Sprig's strval."""

from __future__ import annotations

import math
from typing import Any, Final

from kymatui.helm.govalues.bounding import hold_value
from kymatui.helm.govalues.budget import CHUNK, check_budget
from kymatui.helm.govalues.floats import parse_float, parse_int
from kymatui.helm.govalues.printing import format_value
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.govalues.types import BYTES, Int64, go_type, wrap_integer
from kymatui.patterns import deferred

_DECIMAL: Final = deferred(r"([-+]?[0-9]*)(\.[0-9]*)?")
_SMALLEST: Final = -(1 << 63)


def cast_integer(value: Any) -> int:
    """Return cast.ToInt64: 0 for other values; text by its prefix (0x, 0o, 0b, 0), cut at a point."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return wrap_integer(int(value))
    if isinstance(value, float):
        return truncate(value)
    if isinstance(value, str):
        return _integer_of_text(value)
    return 0


def truncate(number: float) -> int:
    """Return Go's int64(f): truncated towards zero, the smallest int64 if out of range."""
    if not math.isfinite(number) or not -(2.0**63) <= number < 2.0**63:
        return _SMALLEST
    return int(number)


def _integer_of_text(text: str) -> int:
    if not text:
        return 0
    if len(text) > CHUNK:
        check_budget()
    try:
        return parse_int(_cut_decimals(text), 0, 64)
    except ValueError:
        return 0


def _cut_decimals(text: str) -> str:
    match = _DECIMAL.fullmatch(text) if "." in text else None
    if match is None:
        return text
    integer_part = match.group(1)
    return {"-": "-0", "+": "+0", "": "0"}.get(integer_part, integer_part)


def cast_int64(value: Any) -> Int64:
    return Int64(cast_integer(value))


def cast_float(value: Any) -> float:
    """Return cast.ToFloat64: 0 for other values."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if isinstance(value, str) and value:
        if len(value) > CHUNK:
            check_budget()
        try:
            return parse_float(value)
        except ValueError:
            return 0.0
    return 0.0


def to_text(value: Any) -> str:
    """Return Sprig's strval: text unchanged, bytes as text, other values as %v."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and go_type(value) == BYTES:
        return from_bytes(bytes(value))
    return print_value(value)


def print_value(value: Any) -> str:
    """Return %v."""
    hold_value(value, "the text")
    return format_value(value)
