"""metav1.Time and MicroTime: parsing and formatting as in the server."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_TIME = re.compile(r"^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})$")
_PIECES = (
    (r"\d{4}", "2006"),
    ("-", "-"),
    (r"\d{2}", "01"),
    ("-", "-"),
    (r"\d{2}", "02"),
    ("T", "T"),
    (r"\d{1,2}", "15"),
    (":", ":"),
    (r"\d{2}", "04"),
    (":", ":"),
    (r"\d{2}", "05"),
    (r"(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})", "Z07:00"),
)


class TimeError(ValueError):
    """A malformed time, with Go's message."""


def parse_time(text: str, *, micro: bool = False) -> datetime:
    """Return the time of an RFC 3339 text. Raise `TimeError`."""
    match = _TIME.match(text)
    layout = _MICRO_LAYOUT if micro else _LAYOUT
    if match is None:
        raise TimeError(_complaint(text, layout))
    if micro and len(match[7] or "") != 6:
        rest = text[match.end(6) :]
        raise TimeError(f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as ".000000"')
    zone = UTC if match[8] == "Z" else _zone(match[8])
    micros = int(((match[7] or "") + "000000")[:6])
    numbers = [int(match[index]) for index in range(1, 7)]
    try:
        return datetime(*numbers, micros, tzinfo=zone)  # type: ignore[arg-type, misc]
    except ValueError:
        raise TimeError(f'parsing time "{text}": {_out_of_range(numbers)} out of range') from None


def _zone(text: str) -> timezone:
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[4:6])))


def _out_of_range(numbers: list[int]) -> str:
    for value, low, high, name in (
        (numbers[1], 1, 12, "month"),
        (numbers[3], 0, 23, "hour"),
        (numbers[4], 0, 59, "minute"),
        (numbers[5], 0, 59, "second"),
    ):
        if not low <= value <= high:
            return name
    return "day"


def _complaint(text: str, layout: str) -> str:
    rest = text
    for pattern, piece in _PIECES:
        match = re.match(pattern, rest)
        if match is None:
            return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{piece}"'
        rest = rest[match.end() :]
    return f'parsing time "{text}": extra text: "{rest}"'


def show_time(text: str) -> str:
    """Return a time in whole seconds and UTC. Raise `TimeError`."""
    return parse_time(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def show_micro_time(text: str) -> str:
    """Return a time with six digits in UTC. Raise `TimeError`."""
    return parse_time(text, micro=True).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
