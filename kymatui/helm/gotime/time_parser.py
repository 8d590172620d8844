"""Parsing of times by layout, as Go's time.ParseInLocation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from kymatui.helm.gotime.calendar import (
    DAY,
    MONTHS,
    UTC_LOCATION,
    WEEKDAYS,
    Location,
    days_from_civil,
    days_in_month,
    fixed_location,
    is_leap,
)
from kymatui.helm.gotime.durations import quote_time
from kymatui.helm.gotime.layouts import chunks
from kymatui.helm.gotime.times import Time

_SHORT_MONTHS: Final = tuple(name[:3] for name in MONTHS)
_SHORT_DAYS: Final = tuple(name[:3] for name in WEEKDAYS)
_OFFSET_SIGNED: Final = re.compile(r"[+-]([0-9]+)")
_FRACTION: Final = re.compile(r"[.,]([0-9]+)")


class _Mismatch(Exception):
    """A part of the value does not match the layout."""


class _OutOfRange(Exception):
    """A part of the value is too large."""


def parse_time(layout: str, value: str, location: Location) -> Time:
    """Return a time in a location. Raise ValueError with Go's message."""
    return _Reader(layout, value, location).read()


class _Reader:
    def __init__(self, layout: str, value: str, location: Location) -> None:
        self.layout = layout
        self.value = value
        self.location = location
        self.rest = value
        self.year = 0
        self.month = self.day = self.year_day = -1
        self.hour = self.minute = self.second = self.nanosecond = 0
        self.afternoon: bool | None = None
        self.zone: Location | None = None
        self.zone_offset: int | None = None
        self.zone_name = ""

    def read(self) -> Time:
        parts = chunks(self.layout)
        for number, (literal, part) in enumerate(parts):
            if not self.skip(literal):
                raise self.mismatch(literal, self.rest)
            if not part:
                break
            held = self.rest
            following = parts[number + 1][1] if not parts[number + 1][0] else ""
            self.read_part(part, following, held)
        if self.rest:
            raise self.problem(f": extra text: {quote_time(self.rest)}")
        if self.afternoon is not None:
            self.hour = self.hour % 12 + 12 * self.afternoon if self.hour <= 12 else self.hour
        self.settle_date()
        return self.settle_zone()

    def read_part(self, part: str, following: str, held: str) -> None:
        reader = _READERS.get(part)
        try:
            if reader:
                reader(self)
            elif part[0] in ".,":
                self.read_fraction(part)
            else:
                self.read_offset(part)
            if part in ("5", "05") and following[:1] not in (".", ","):
                self.read_unasked_fraction()
        except _OutOfRange as error:
            raise self.problem(f": {error} out of range") from None
        except _Mismatch:
            raise self.mismatch(part, held) from None

    def problem(self, message: str) -> ValueError:
        return ValueError(f"parsing time {quote_time(self.value)}{message}")

    def mismatch(self, part: str, rest: str) -> ValueError:
        return self.problem(f" as {quote_time(self.layout)}: cannot parse {quote_time(rest)} as {quote_time(part)}")

    def skip(self, literal: str) -> bool:
        """Skip literal text; a space in the layout matches any number of spaces."""
        while literal:
            if literal[0] == " ":
                if self.rest and self.rest[0] != " ":
                    return False
                literal = literal.lstrip(" ")
                self.rest = self.rest.lstrip(" ")
                continue
            if not self.rest or self.rest[0] != literal[0]:
                return False
            literal, self.rest = literal[1:], self.rest[1:]
        return True

    def number(self, *, fixed: bool = False, most: int = 2) -> int:
        """Read one number of up to `most` digits; `fixed` requires exactly that many."""
        digits = ""
        while len(digits) < most and self.rest[len(digits) : len(digits) + 1] in _DIGITS:
            digits += self.rest[len(digits)]
        if not digits or (fixed and len(digits) < most):
            raise _Mismatch
        self.rest = self.rest[len(digits) :]
        return int(digits)

    def limited(self, name: str, limit: int, *, fixed: bool = False, least: int = 0) -> int:
        number = self.number(fixed=fixed)
        if not least <= number <= limit:
            raise _OutOfRange(name)
        return number

    def name_of(self, names: Sequence[str]) -> int:
        for number, name in enumerate(names):
            if self.rest[: len(name)].lower() == name.lower() and self.rest[: len(name)].isascii():
                self.rest = self.rest[len(name) :]
                return number
        raise _Mismatch

    def read_long_year(self) -> None:
        text = self.rest[:4]
        if len(text) < 4 or text[0] not in _DIGITS:
            raise _Mismatch
        self.rest = self.rest[4:]
        if not (text.isascii() and text.isdigit()):
            raise _Mismatch
        self.year = int(text)

    def read_year(self) -> None:
        text = self.rest[:2]
        if len(text) < 2:
            raise _Mismatch
        self.rest = self.rest[2:]
        if not (text.isascii() and re.fullmatch(r"[0-9]{2}|[+-][0-9]", text)):
            raise _Mismatch
        self.year = int(text) + (1900 if int(text) >= 69 else 2000)

    def read_month(self, *, fixed: bool) -> None:
        self.month = self.limited("month", 12, fixed=fixed, least=1)

    def read_month_name(self, names: Sequence[str]) -> None:
        self.month = self.name_of(names) + 1

    def read_weekday(self, names: Sequence[str]) -> None:
        """Read and ignore the weekday."""
        self.name_of(names)

    def read_day(self, *, fixed: bool = False, padded: bool = False) -> None:
        if padded:
            self.rest = self.rest.removeprefix(" ")
        self.day = self.number(fixed=fixed)

    def read_year_day(self, *, fixed: bool) -> None:
        if not fixed:
            self.rest = self.rest.removeprefix(" ").removeprefix(" ")
        self.year_day = self.number(fixed=fixed, most=3)

    def read_hour(self) -> None:
        self.hour = self.limited("hour", 23)

    def read_hour12(self, *, fixed: bool) -> None:
        self.hour = self.limited("hour", 12, fixed=fixed)

    def read_minute(self, *, fixed: bool) -> None:
        self.minute = self.limited("minute", 59, fixed=fixed)

    def read_second(self, *, fixed: bool) -> None:
        self.second = self.limited("second", 59, fixed=fixed)

    def read_noon(self, before: str, after: str) -> None:
        text, self.rest = self.rest[:2], self.rest[2:]
        if text not in (before, after):
            raise _Mismatch
        self.afternoon = text == after

    def read_unasked_fraction(self) -> None:
        """Read a fraction of seconds that the layout does not mention."""
        fraction = _FRACTION.match(self.rest)
        if fraction:
            self.take_fraction(fraction.end())

    def read_fraction(self, part: str) -> None:
        if part[1] == "9":
            self.read_unasked_fraction()
            return
        if len(self.rest) < len(part) or self.rest[0] not in ".,":
            raise _Mismatch
        self.take_fraction(len(part))

    def take_fraction(self, length: int) -> None:
        digits = self.rest[1:length][:9]
        if not (digits.isascii() and digits.isdigit()):
            raise _Mismatch
        self.nanosecond = int(digits.ljust(9, "0"))
        self.rest = self.rest[length:]

    def read_offset(self, part: str) -> None:
        if part[0] == "Z" and self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            self.zone = UTC_LOCATION
            return
        shape = part[1:]
        text = self.rest[: len(part)]
        if len(text) < len(part) or any(
            expected == ":" and actual != ":" for expected, actual in zip(shape, text[1:], strict=True)
        ):
            raise _Mismatch
        self.rest = self.rest[len(part) :]
        digits = text[1:].replace(":", "") if ":" in shape else text[1:]
        if not re.fullmatch(r"[0-9]{2,6}", digits):
            raise _Mismatch
        hours, minutes, seconds = int(digits[:2]), int(digits[2:4] or "0"), int(digits[4:6] or "0")
        for name, number, limit in (("hour", hours, 24), ("minute", minutes, 60), ("second", seconds, 60)):
            if number > limit:
                raise _OutOfRange(f"time zone offset {name}")
        if text[0] not in "+-":
            raise _Mismatch
        offset = hours * 3600 + minutes * 60 + seconds
        self.zone_offset = -offset if text[0] == "-" else offset

    def read_zone_name(self) -> None:
        if self.rest.startswith("UTC"):
            self.rest = self.rest[3:]
            self.zone = UTC_LOCATION
            return
        length = _zone_name_length(self.rest)
        if not length:
            raise _Mismatch
        self.zone_name, self.rest = self.rest[:length], self.rest[length:]

    def settle_date(self) -> None:
        if self.year_day >= 0:
            self.settle_year_day()
        self.month = 1 if self.month < 0 else self.month
        self.day = 1 if self.day < 0 else self.day
        if not 1 <= self.day <= days_in_month(self.year, self.month):
            raise self.problem(": day out of range")

    def settle_year_day(self) -> None:
        if not 1 <= self.year_day <= 365 + is_leap(self.year):
            raise self.problem(": day-of-year out of range")
        month, day = 1, self.year_day
        while day > days_in_month(self.year, month):
            day -= days_in_month(self.year, month)
            month += 1
        if self.month >= 0 and self.month != month:
            raise self.problem(": day-of-year does not match month")
        if self.day >= 0 and self.day != day:
            raise self.problem(": day-of-year does not match day")
        self.month, self.day = month, day

    def settle_zone(self) -> Time:
        date = (self.year, self.month, self.day)
        of_day = self.hour * 3600 + self.minute * 60 + self.second
        if self.zone is not None:
            return Time.civil(date, of_day, self.nanosecond, self.zone)
        seconds = days_from_civil(*date) * DAY + of_day
        if self.zone_offset is not None:
            seconds -= self.zone_offset
            name, offset = self.location.at(seconds)
            fits = offset == self.zone_offset and self.zone_name in ("", name)
            zone = self.location if fits else fixed_location(self.zone_name, self.zone_offset)
            return Time(seconds, self.nanosecond, zone)
        if self.zone_name:
            for guess in (seconds, seconds - 3 * 3600, seconds + 3 * 3600):
                name, offset = self.location.at(guess)
                if name == self.zone_name:
                    return Time(seconds - offset, self.nanosecond, self.location)
            hours = self.zone_name.removeprefix("GMT") if self.zone_name.startswith("GMT") else ""
            offset = int(hours or "0") * 3600
            return Time(seconds, self.nanosecond, fixed_location(self.zone_name, offset))
        return Time.civil(date, of_day, self.nanosecond, self.location)


_DIGITS: Final = frozenset("0123456789")


def _zone_name_length(text: str) -> int:
    """Return the length of an abbreviation such as CEST, GMT-3 or +03; 0 for none."""
    if len(text) < 3:
        return 0
    if text[:4] in ("ChST", "MeST"):
        return 4
    if text[:3] == "GMT":
        return 3 + _signed_offset_length(text[3:])
    if text[0] in "+-":
        return _signed_offset_length(text)
    match = re.match(r"[A-Z]{0,6}", text)
    capitals = match.end() if match else 0
    if capitals == 5:
        return 5 if text[4] == "T" else 0
    if capitals == 4:
        return 4 if text[3] == "T" or text[:4] == "WITA" else 0
    return 3 if capitals == 3 else 0


def _signed_offset_length(text: str) -> int:
    match = _OFFSET_SIGNED.match(text)
    if match is None or int(match.group(1)[-6:]) > 23 or len(match.group(1)) > 18:
        return 0
    return match.end()


_READERS: Final[dict[str, Callable[[_Reader], None]]] = {
    "January": lambda reader: reader.read_month_name(MONTHS),
    "Jan": lambda reader: reader.read_month_name(_SHORT_MONTHS),
    "1": lambda reader: reader.read_month(fixed=False),
    "01": lambda reader: reader.read_month(fixed=True),
    "Monday": lambda reader: reader.read_weekday(WEEKDAYS),
    "Mon": lambda reader: reader.read_weekday(_SHORT_DAYS),
    "2": lambda reader: reader.read_day(),
    "_2": lambda reader: reader.read_day(padded=True),
    "02": lambda reader: reader.read_day(fixed=True),
    "__2": lambda reader: reader.read_year_day(fixed=False),
    "002": lambda reader: reader.read_year_day(fixed=True),
    "15": lambda reader: reader.read_hour(),
    "3": lambda reader: reader.read_hour12(fixed=False),
    "03": lambda reader: reader.read_hour12(fixed=True),
    "4": lambda reader: reader.read_minute(fixed=False),
    "04": lambda reader: reader.read_minute(fixed=True),
    "5": lambda reader: reader.read_second(fixed=False),
    "05": lambda reader: reader.read_second(fixed=True),
    "2006": lambda reader: reader.read_long_year(),
    "06": lambda reader: reader.read_year(),
    "PM": lambda reader: reader.read_noon("AM", "PM"),
    "pm": lambda reader: reader.read_noon("am", "pm"),
    "MST": lambda reader: reader.read_zone_name(),
}
