"""time.Time: a moment in nanoseconds, in a time zone."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from kymatui.helm.gotime import calendar
from kymatui.helm.gotime.calendar import DAY, MONTHS, UTC_LOCATION, WEEKDAYS, Location
from kymatui.helm.gotime.durations import SECOND, Duration
from kymatui.helm.gotime.layouts import format_time
from kymatui.helm.govalues.types import Int, Int64, Object, wrap_integer

_YEAR_ONE: Final = -62_135_596_800


class Month(Int):
    """time.Month, which prints its English name."""

    __slots__ = ()
    go_type: ClassVar[str] = "time.Month"

    def go_string(self) -> str:
        return MONTHS[self - 1] if 1 <= self <= 12 else f"%!Month({int(self)})"


class Weekday(Int):
    """time.Weekday, which prints its English name."""

    __slots__ = ()
    go_type: ClassVar[str] = "time.Weekday"

    def go_string(self) -> str:
        return WEEKDAYS[self] if 0 <= self < 7 else f"%!Weekday({int(self)})"


class Time(Object):
    """A moment: Unix seconds, nanoseconds, and a location."""

    __slots__ = ("_civil", "location", "nanosecond", "offset", "seconds", "zone_name")
    go_type: ClassVar[str] = "time.Time"
    go_kind: ClassVar[str] = "struct"
    go_is_timestamp: ClassVar[bool] = True

    def __init__(self, seconds: int, nanosecond: int = 0, location: Location = UTC_LOCATION) -> None:
        self.seconds = wrap_integer(seconds)
        self.nanosecond = nanosecond
        self.location = location
        name, offset = location.at(self.seconds)
        self.zone_name: str = name
        self.offset: int = offset
        self._civil = calendar.civil_from_days((self.seconds + self.offset) // DAY)

    @classmethod
    def of(cls, moment: datetime, location: Location) -> Time:
        return cls(int(moment.timestamp() // 1), moment.microsecond * 1000, location)

    @classmethod
    def zero(cls) -> Time:
        """Return the first of January of the year 1."""
        return cls(_YEAR_ONE)

    @classmethod
    def civil(cls, date: tuple[int, int, int], seconds_of_day: int, nanosecond: int, location: Location) -> Time:
        """Return time.Date: the moment of a local date and time."""
        local = calendar.days_from_civil(*date) * DAY + seconds_of_day
        offset = location.at(local)[1]
        if offset:
            offset = location.at(local - offset)[1]
        return cls(local - offset, nanosecond, location)

    def __repr__(self) -> str:
        return f"Time({self.go_string()})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and (self.moment, self.location) == (other.moment, other.location)

    def __hash__(self) -> int:
        return hash(self.moment)

    @property
    def moment(self) -> tuple[int, int]:
        return self.seconds, self.nanosecond

    @property
    def year(self) -> int:
        return self._civil[0]

    @property
    def month(self) -> int:
        return self._civil[1]

    @property
    def day(self) -> int:
        return self._civil[2]

    @property
    def _second_of_day(self) -> int:
        return (self.seconds + self.offset) % DAY

    @property
    def hour(self) -> int:
        return self._second_of_day // 3600

    @property
    def minute(self) -> int:
        return self._second_of_day // 60 % 60

    @property
    def second(self) -> int:
        return self._second_of_day % 60

    @property
    def weekday(self) -> int:
        """Return the weekday; 0 is Sunday."""
        return ((self.seconds + self.offset) // DAY + 4) % 7

    @property
    def year_day(self) -> int:
        return (self.seconds + self.offset) // DAY - calendar.days_from_civil(self.year, 1, 1) + 1

    def within(self, location: Location) -> Time:
        return Time(self.seconds, self.nanosecond, location)

    def plus(self, nanoseconds: int) -> Time:
        carry, nanosecond = divmod(self.nanosecond + nanoseconds, SECOND)
        return Time(self.seconds + carry, nanosecond, self.location)

    def since(self, other: Time) -> Duration:
        """Return the difference to the other time, limited to the range of a Duration."""
        span = (self.seconds - other.seconds) * SECOND + self.nanosecond - other.nanosecond
        return Duration(max(-(1 << 63), min((1 << 63) - 1, span)))

    def add_date(self, years: int, months: int, days: int) -> Time:
        year, month = divmod((self.year + years) * 12 + self.month - 1 + months, 12)
        first = calendar.civil_from_days(calendar.days_from_civil(year, month + 1, 1) + self.day - 1 + days)
        return Time.civil(first, self._second_of_day, self.nanosecond, self.location)

    def unix_nano(self) -> Int64:
        return Int64(wrap_integer(self.seconds * SECOND + self.nanosecond))

    def format(self, layout: str) -> str:
        return format_time(self, layout)

    def go_string(self) -> str:
        return format_time(self, "2006-01-02 15:04:05.999999999 -0700 MST")

    def go_syntax(self) -> str:
        """Return GoString, which %#v prints."""
        clock = f"{self.hour}, {self.minute}, {self.second}, {self.nanosecond}"
        name = self.location.name
        location = f"time.{name}" if name in ("UTC", "Local") else f'time.Location("{name}")'
        return f"time.Date({self.year}, time.{MONTHS[self.month - 1]}, {self.day}, {clock}, {location})"

    def go_json(self) -> str:
        if not 0 <= self.year <= 9999:
            raise ValueError("Time.MarshalJSON: year outside of range [0,9999]")
        return format_time(self, "2006-01-02T15:04:05.999999999Z07:00")


def compare(first: Time, second: Time) -> int:
    return (first.moment > second.moment) - (first.moment < second.moment)
