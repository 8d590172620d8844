"""The calendar of Go's time package: proleptic Gregorian, any year, and time zones."""

from __future__ import annotations

import time as system_time
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

DAY: Final = 86_400
MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_EPOCH_DAYS: Final = 719_468  # from 0000-03-01 to 1970-01-01
_CYCLE: Final = 146_097  # days of 400 years


def days_from_civil(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * _CYCLE + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _EPOCH_DAYS


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a number of days since 1970-01-01."""
    era, day_of_era = divmod(days + _EPOCH_DAYS, _CYCLE)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return year + era * 400 + (month <= 2), month, day


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    return 29 if month == 2 and is_leap(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


class Location(Struct, frozen=True):
    """A time zone: name, and rule (tz database zone, the system's zone, or fixed offset in seconds)."""

    name: str
    rule: tzinfo | int | None = 0
    abbreviation: str = ""

    def at(self, seconds: int) -> tuple[str, int]:
        """Return the abbreviation and the UTC offset in seconds at a Unix time."""
        if isinstance(self.rule, int):
            return self.abbreviation or self.name, self.rule
        if self.rule is None:
            return _system_offset(_within_python(seconds))
        moment = datetime.fromtimestamp(_within_python(seconds), self.rule)
        return _abbreviation(moment), int((moment.utcoffset() or timedelta()).total_seconds())

    def is_dst(self, seconds: int) -> bool:
        """Return whether daylight saving time applies at a Unix time."""
        if isinstance(self.rule, int):
            return False
        if self.rule is None:
            return bool(system_time.localtime(_within_python(seconds)).tm_isdst)
        return bool(datetime.fromtimestamp(_within_python(seconds), self.rule).dst())


def _abbreviation(moment: datetime) -> str:
    return moment.tzname() or ""


def _system_offset(seconds: int) -> tuple[str, int]:
    local = system_time.localtime(seconds)
    return local.tm_zone, local.tm_gmtoff


def _within_python(seconds: int) -> int:
    """Return the time in a year that datetime supports and that has the same calendar."""
    cycle = _CYCLE * DAY
    if seconds < -60_000_000_000:
        return seconds + -(-(-60_000_000_000 - seconds) // cycle) * cycle
    return seconds if seconds < 250_000_000_000 else seconds - ((seconds - 250_000_000_000) // cycle + 1) * cycle


UTC_LOCATION: Final = Location("UTC")


def fixed_location(name: str, offset: int) -> Location:
    return Location(name, offset)


def local_location(now: datetime) -> Location:
    """Return the zone of the caller's clock; if it is the system's, use its rules for other times."""
    zone = now.tzinfo
    if zone is None or zone is UTC:
        return Location("Local", 0, "UTC")
    if isinstance(zone, ZoneInfo):
        return Location("Local", zone)
    offset = int((now.utcoffset() or timedelta()).total_seconds())
    if _system_offset(int(now.timestamp())) == (_abbreviation(now), offset):
        return Location("Local", None)
    return Location("Local", offset, _abbreviation(now))


@lru_cache(maxsize=256)
def named_location(name: str) -> Location | None:
    """Return a zone of the tz database, or None."""
    if name in ("", "UTC"):
        return UTC_LOCATION
    if ".." in name or name[0] in "/\\" or "\\" in name:
        return None
    try:
        return Location(name, ZoneInfo(name))
    except (KeyError, ValueError, OSError):
        return None
