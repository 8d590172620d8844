"""Durations in nanoseconds, formatted and parsed as in Go: "1h30m0s", "1.5h", "-3ms"."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from kymatui.helm.govalues.budget import tick, watched
from kymatui.helm.govalues.text import to_bytes
from kymatui.helm.govalues.types import Function, Int64, wrap_integer

MICROSECOND: Final = 1_000
MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

_UNITS: Final = {
    "ns": 1,
    "us": MICROSECOND,
    "µs": MICROSECOND,
    "μs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART: Final = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]*)")
_LARGEST: Final = 1 << 63


class Duration(Int64):
    """time.Duration."""

    __slots__ = ()
    go_type: ClassVar[str] = "time.Duration"

    def go_string(self) -> str:
        return format_duration(int(self))


def format_duration(nanoseconds: int) -> str:
    """Return Duration.String: "1h2m3.5s", "1.5ms", "0s"."""
    sign = "-" if nanoseconds < 0 else ""
    rest = abs(nanoseconds)
    if rest < SECOND:
        for unit, name in ((MILLISECOND, "ms"), (MICROSECOND, "µs"), (1, "ns")):
            if rest >= unit:
                return f"{sign}{_decimal(rest, unit)}{name}"
        return "0s"
    minutes, seconds = divmod(rest, MINUTE)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(seconds, SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else sign + text


def _decimal(amount: int, unit: int) -> str:
    integer, fraction = divmod(amount, unit)
    if not fraction:
        return str(integer)
    return f"{integer}.{str(fraction).zfill(len(str(unit)) - 1).rstrip('0')}"


def parse_duration(text: str) -> int:
    """Return time.ParseDuration in nanoseconds. Raise ValueError with Go's message."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    total = 0
    position = 0
    while position < len(rest) or not rest:
        tick()
        match = _PART.match(rest, position)
        if match is None or not (match.group(1) or match.group(3)):
            raise _invalid(text)
        total += _part(text, match)
        position = match.end()
        if total > _LARGEST:
            raise _invalid(text)
    if text[0] == "-":
        return wrap_integer(-total)
    if total > _LARGEST - 1:
        raise _invalid(text)
    return total


def _part(text: str, match: re.Match[str]) -> int:
    digits, _, fraction, unit_name = match.groups()
    number = int(digits[-25:] or "0") if len(digits.lstrip("0")) <= 25 else _LARGEST + 1
    if number > _LARGEST:
        raise _invalid(text)
    if not unit_name:
        raise ValueError(f"time: missing unit in duration {quote_time(text)}")
    unit = _UNITS.get(unit_name)
    if unit is None:
        raise ValueError(f"time: unknown unit {quote_time(unit_name)} in duration {quote_time(text)}")
    if number > _LARGEST // unit:
        raise _invalid(text)
    amount = number * unit
    if fraction and fraction.strip("0"):
        value, scale = _leading_fraction(fraction)
        amount += int(float(value) * (float(unit) / scale))
    if amount > _LARGEST:
        raise _invalid(text)
    return amount


def _leading_fraction(digits: str) -> tuple[int, float]:
    """Return the digits that fit 63 bits, and their power of ten."""
    value, scale = 0, 1.0
    for digit in digits[:30]:
        if value > (_LARGEST - 1) // 10 or value * 10 + int(digit) > _LARGEST:
            break
        value = value * 10 + int(digit)
        scale *= 10
    return value, scale


def _invalid(text: str) -> ValueError:
    return ValueError(f"time: invalid duration {quote_time(text)}")


def quote_time(text: str) -> str:
    """Return the text quoted as in messages of Go's time package."""
    return '"' + "".join(map(_escaped, watched(text))) + '"'


def _escaped(character: str) -> str:
    if character >= "\x80" or character < " ":
        return "".join(f"\\x{byte:02x}" for byte in to_bytes(character))
    return "\\" + character if character in '"\\' else character


def round_to(nanoseconds: int, unit: int) -> int:
    """Return Duration.Round: to the nearest multiple, half away from zero."""
    if unit <= 0:
        return nanoseconds
    quotient, rest = divmod(abs(nanoseconds), unit)
    magnitude = (quotient + (rest * 2 >= unit)) * unit
    return -magnitude if nanoseconds < 0 else magnitude


def truncate_to(nanoseconds: int, unit: int) -> int:
    if unit <= 0:
        return nanoseconds
    magnitude = abs(nanoseconds) // unit * unit
    return -magnitude if nanoseconds < 0 else magnitude


def _methods() -> dict[str, Function]:
    def method(name: str, call: Any, *params: str) -> Function:
        return Function(name, params, False, call)

    methods = (
        method("String", Duration.go_string),
        method("Nanoseconds", Int64),
        method("Microseconds", lambda duration: Int64(_towards_zero(duration, MICROSECOND))),
        method("Milliseconds", lambda duration: Int64(_towards_zero(duration, MILLISECOND))),
        method("Seconds", lambda duration: _in_units(duration, SECOND)),
        method("Minutes", lambda duration: _in_units(duration, MINUTE)),
        method("Hours", lambda duration: _in_units(duration, HOUR)),
        method("Abs", lambda duration: Duration(min(abs(int(duration)), _LARGEST - 1))),
        method("Round", lambda duration, unit: Duration(round_to(int(duration), int(unit))), "time.Duration"),
        method("Truncate", lambda duration, unit: Duration(truncate_to(int(duration), int(unit))), "time.Duration"),
    )
    return {declared.name: declared for declared in methods}


def _in_units(number: int, unit: int) -> float:
    """Return whole units plus the rest, in Go's order of floating-point operations."""
    units = _towards_zero(number, unit)
    return float(units) + float(number - units * unit) / unit


def _towards_zero(number: int, unit: int) -> int:
    return -(-number // unit) if number < 0 else number // unit


Duration.go_methods = _methods()
