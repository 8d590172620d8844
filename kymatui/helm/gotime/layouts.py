"""Go's time layouts, by the example of "Mon Jan 2 15:04:05 MST 2006"."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Protocol

from kymatui.helm.gotime.calendar import MONTHS, WEEKDAYS
from kymatui.helm.govalues.budget import LimitError

_CHUNK: Final = re.compile(
    r"""
    (?P<name>January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST)
    | (?P<zero>0[1-6]|002)
    | (?P<year>2006) | (?P<under>_2(?!006)|__2)
    | (?P<digit>15|[1-5])
    | (?P<noon>PM|pm)
    | (?P<zone>[-Z](?:070000|07:00:00|0700|07:00|07))
    | (?P<fraction>[.,](?:0+|9+)(?![0-9]))
    """,
    re.VERBOSE,
)


LONGEST_LAYOUT: Final = 10_000


class CivilTime(Protocol):
    """Date, time of day and offset, as a layout writes them."""

    @property
    def year(self) -> int: ...

    @property
    def month(self) -> int: ...

    @property
    def day(self) -> int: ...

    @property
    def year_day(self) -> int: ...

    @property
    def weekday(self) -> int: ...

    @property
    def hour(self) -> int: ...

    @property
    def minute(self) -> int: ...

    @property
    def second(self) -> int: ...

    @property
    def nanosecond(self) -> int: ...

    @property
    def offset(self) -> int: ...

    @property
    def zone_name(self) -> str: ...


def chunks(layout: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of literal text and the following standard part; the last part is empty."""
    if len(layout) > LONGEST_LAYOUT:
        raise LimitError(f"a layout of time has more than {LONGEST_LAYOUT} characters")
    return _chunks(layout)


@lru_cache(maxsize=512)
def _chunks(layout: str) -> tuple[tuple[str, str], ...]:
    pieces: list[tuple[str, str]] = []
    start = position = 0
    while match := _CHUNK.search(layout, position):
        # "_2006" is a literal "_" and a year: the year follows.
        pieces.append((layout[start : match.start()], match.group()))
        start = position = match.end()
    pieces.append((layout[start:], ""))
    return tuple(pieces)


def format_time(moment: CivilTime, layout: str) -> str:
    """Return Time.Format."""
    pieces: list[str] = []
    for literal, part in chunks(layout):
        pieces.append(literal)
        if part:
            writer = _WRITERS.get(part)
            pieces.append(writer(moment) if writer else _write_other(moment, part))
    return "".join(pieces)


def padded(number: int, width: int) -> str:
    return f"-{abs(number):0{width}d}" if number < 0 else f"{number:0{width}d}"


_WRITERS: Final[dict[str, Callable[[CivilTime], str]]] = {
    "January": lambda moment: MONTHS[moment.month - 1],
    "Jan": lambda moment: MONTHS[moment.month - 1][:3],
    "1": lambda moment: str(moment.month),
    "01": lambda moment: padded(moment.month, 2),
    "Monday": lambda moment: WEEKDAYS[moment.weekday],
    "Mon": lambda moment: WEEKDAYS[moment.weekday][:3],
    "2": lambda moment: str(moment.day),
    "_2": lambda moment: f"{moment.day:2d}",
    "02": lambda moment: padded(moment.day, 2),
    "__2": lambda moment: f"{moment.year_day:3d}",
    "002": lambda moment: padded(moment.year_day, 3),
    "15": lambda moment: padded(moment.hour, 2),
    "3": lambda moment: str(moment.hour % 12 or 12),
    "03": lambda moment: padded(moment.hour % 12 or 12, 2),
    "4": lambda moment: str(moment.minute),
    "04": lambda moment: padded(moment.minute, 2),
    "5": lambda moment: str(moment.second),
    "05": lambda moment: padded(moment.second, 2),
    "2006": lambda moment: padded(moment.year, 4),
    "06": lambda moment: padded(abs(moment.year) % 100, 2),
    "PM": lambda moment: "PM" if moment.hour >= 12 else "AM",
    "pm": lambda moment: "pm" if moment.hour >= 12 else "am",
    "MST": lambda moment: moment.zone_name or write_offset(moment.offset, "-0700"),
}


def _write_other(moment: CivilTime, part: str) -> str:
    if part[0] in ".,":
        digits = f"{moment.nanosecond:09d}"[: len(part) - 1].ljust(len(part) - 1, "0")
        if part[1] == "9":
            digits = digits.rstrip("0")
            return part[0] + digits if digits else ""
        return part[0] + digits
    return "Z" if part[0] == "Z" and moment.offset == 0 else write_offset(moment.offset, part)


def write_offset(offset: int, part: str) -> str:
    """Return an offset such as "+01:30" for "-07:00"."""
    minutes = abs(offset) // 60
    colon = ":" if ":" in part else ""
    # Go truncates to minutes first: half a minute west of Greenwich is +00:00.
    text = ("-" if offset <= -60 else "+") + f"{minutes // 60:02d}"
    if len(part) > 3:
        text += f"{colon}{minutes % 60:02d}"
    if part[1:] in ("070000", "07:00:00"):
        text += f"{colon}{abs(offset) % 60:02d}"
    return text
