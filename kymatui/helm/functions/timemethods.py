"""Methods of times in templates: {{ now.Year }}, {{ now.UTC.Format "15:04" }}, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kymatui.helm.gotime.calendar import UTC_LOCATION, Location
from kymatui.helm.gotime.durations import SECOND, round_to, truncate_to
from kymatui.helm.gotime.times import Month, Time, Weekday, compare
from kymatui.helm.govalues.types import Function, Int64, NilPointer, Object, Panic, TypedList, Uint8, wrap_integer
from kymatui.helm.language.faults import EvalError

_TIME: Final = "time.Time"
_DURATION: Final = "time.Duration"
_YEAR_ONE_TO_1970: Final = -62_135_596_800


def _method(name: str, call: Callable[..., Any], *params: str) -> Function:
    return Function(name, params, False, call)


def _rounded(moment: Time, unit: int, rounding: Callable[[int, int], int]) -> Time:
    """Round to a multiple of the unit since the year 1."""
    since_year_one = (moment.seconds - _YEAR_ONE_TO_1970) * SECOND + moment.nanosecond
    return moment.plus(rounding(since_year_one, unit) - since_year_one)


def _unix(moment: Time, per_second: int) -> Int64:
    return Int64(wrap_integer(moment.seconds * per_second + moment.nanosecond // (SECOND // per_second)))


def _bytes(text: str) -> TypedList:
    return TypedList("[]uint8", map(Uint8, text.encode()))


class TimeLocation(Object):
    """*time.Location; templates can print its name."""

    __slots__ = ("location",)
    go_type = "*time.Location"
    go_kind = "ptr"

    def __init__(self, location: Location) -> None:
        self.location = location

    def go_string(self) -> str:
        return self.location.name


TimeLocation.go_methods = {"String": _method("String", TimeLocation.go_string)}


def _inside(moment: Time, location: TimeLocation | NilPointer) -> Time:
    if isinstance(location, NilPointer):
        raise Panic("time: missing Location in call to Time.In")
    return moment.within(location.location)


def _refused(reason: str) -> Callable[..., Any]:
    """Return a method that fails, because templates cannot use its Go result types."""

    def call(_: Time) -> Any:
        raise EvalError(reason)

    return call


TIME_METHODS: Final = {
    method.name: method
    for method in (
        _method("String", Time.go_string),
        _method("GoString", Time.go_syntax),
        _method("Format", Time.format, "string"),
        _method("Year", lambda moment: moment.year),
        _method("Month", lambda moment: Month(moment.month)),
        _method("Day", lambda moment: moment.day),
        _method("Hour", lambda moment: moment.hour),
        _method("Minute", lambda moment: moment.minute),
        _method("Second", lambda moment: moment.second),
        _method("Nanosecond", lambda moment: moment.nanosecond),
        _method("Weekday", lambda moment: Weekday(moment.weekday)),
        _method("YearDay", lambda moment: moment.year_day),
        _method("Unix", lambda moment: Int64(moment.seconds)),
        _method("UnixMilli", lambda moment: _unix(moment, 1_000)),
        _method("UnixMicro", lambda moment: _unix(moment, 1_000_000)),
        _method("UnixNano", Time.unix_nano),
        _method("UTC", lambda moment: moment.within(UTC_LOCATION)),
        _method("IsZero", lambda moment: moment.moment == Time.zero().moment),
        _method("Add", lambda moment, span: moment.plus(int(span)), _DURATION),
        _method("AddDate", Time.add_date, "int", "int", "int"),
        _method("Sub", Time.since, _TIME),
        _method("After", lambda moment, other: compare(moment, other) > 0, _TIME),
        _method("Before", lambda moment, other: compare(moment, other) < 0, _TIME),
        _method("Equal", lambda moment, other: compare(moment, other) == 0, _TIME),
        _method("Compare", compare, _TIME),
        _method("Round", lambda moment, unit: _rounded(moment, int(unit), round_to), _DURATION),
        _method("Truncate", lambda moment, unit: _rounded(moment, int(unit), truncate_to), _DURATION),
        _method("MarshalJSON", lambda moment: _bytes(f'"{moment.go_json()}"')),
        _method("MarshalText", lambda moment: _bytes(moment.go_json())),
        _method("IsDST", lambda moment: moment.location.is_dst(moment.seconds)),
        _method("Local", lambda moment: moment.within(Location("Local", None))),
        _method("Location", lambda moment: TimeLocation(moment.location)),
        _method("In", _inside, "*time.Location"),
        _method("Clock", _refused("function Clock has 3 return values; should be 1 or 2")),
        _method("Date", _refused("function Date has 3 return values; should be 1 or 2")),
        *(
            _method(
                name, _refused(f"invalid function signature for {name}: second return value should be error; is {kind}")
            )
            for name, kind in (("ISOWeek", "int"), ("Zone", "int"), ("ZoneBounds", "time.Time"))
        ),
    )
}

for _named in (Month, Weekday):
    _named.go_methods = {"String": _method("String", _named.go_string)}
