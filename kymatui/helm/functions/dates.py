"""Functions on times; "Local" is the zone of the rendering's clock."""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.functions.timemethods import TIME_METHODS
from kymatui.helm.gotime.calendar import UTC_LOCATION, Location, local_location, named_location
from kymatui.helm.gotime.durations import HOUR, MINUTE, SECOND, format_duration, parse_duration, round_to
from kymatui.helm.gotime.time_parser import parse_time
from kymatui.helm.gotime.times import Time
from kymatui.helm.govalues.floats import parse_int
from kymatui.helm.govalues.types import FunctionError, Int32, Int64, go_type, wrap_integer
from kymatui.helm.language.environment import Environment

_DAY: Final = 24 * HOUR
_SPANS: Final = ((365 * _DAY, "y"), (30 * _DAY, "mo"), (_DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s"))

Time.go_methods = TIME_METHODS


def now(environment: Environment) -> Time:
    moment = environment.now()
    return Time.of(moment, local_location(moment))


def _local(environment: Environment) -> Location:
    return local_location(environment.now())


def _moment(environment: Environment, value: Any, *, int32: bool = True) -> Time:
    """Return a time, also from Unix seconds; other values mean now."""
    if isinstance(value, Time):
        return value
    if go_type(value) in ("int", "int64") or (int32 and isinstance(value, Int32)):
        return Time(int(value), 0, _local(environment))
    return now(environment)


def date(environment: Environment, layout: str, value: Any) -> str:
    return date_in_zone(environment, layout, value, "Local")


def html_date(environment: Environment, value: Any) -> str:
    return date_in_zone(environment, "2006-01-02", value, "Local")


def html_date_in_zone(environment: Environment, value: Any, zone: str) -> str:
    return date_in_zone(environment, "2006-01-02", value, zone)


def date_in_zone(environment: Environment, layout: str, value: Any, zone: str) -> str:
    """Format a date in a zone; an unknown zone means UTC."""
    location = _local(environment) if zone == "Local" else named_location(zone) or UTC_LOCATION
    return _moment(environment, value).within(location).format(layout)


def date_modify(span: str, moment: Time) -> Time:
    try:
        return moment.plus(parse_duration(span))
    except ValueError:
        return moment


def must_date_modify(span: str, moment: Time) -> Time:
    try:
        return moment.plus(parse_duration(span))
    except ValueError as error:
        raise FunctionError(str(error)) from error


def to_date(environment: Environment, layout: str, text: str) -> Time:
    """Parse a time; return the year 1 for invalid text."""
    try:
        return parse_time(layout, text, _local(environment))
    except ValueError:
        return Time.zero()


def must_to_date(environment: Environment, layout: str, text: str) -> Time:
    try:
        return parse_time(layout, text, _local(environment))
    except ValueError as error:
        raise FunctionError(str(error)) from error


def ago(environment: Environment, value: Any) -> str:
    """Return the time since then, in whole seconds."""
    passed = now(environment).since(_moment(environment, value, int32=False))
    return format_duration(round_to(int(passed), SECOND))


def duration(value: Any) -> str:
    """Return seconds as a duration: 95 → "1m35s"; only text and int64 are accepted."""
    seconds = 0
    if isinstance(value, str):
        seconds = _clamped_integer(value)
    elif isinstance(value, Int64) and go_type(value) == "int64":
        seconds = int(value)
    return format_duration(wrap_integer(seconds * SECOND))


def _clamped_integer(text: str) -> int:
    try:
        return parse_int(text, 10, 64)
    except ValueError as error:
        if str(error).endswith("value out of range"):
            return -(1 << 63) if text.startswith("-") else (1 << 63) - 1
        return 0


def duration_round(environment: Environment, value: Any) -> str:
    """Return a duration in its largest unit: "2h10m5s" → "2h"."""
    span = abs(_span(environment, value))
    for unit, name in _SPANS:
        if span > unit:
            return f"{span // unit}{name}"
    return "0s"


def _span(environment: Environment, value: Any) -> int:
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except ValueError:
            return 0
    if isinstance(value, Time):
        return int(now(environment).since(value))
    return int(value) if go_type(value) == "int64" else 0


def unix_epoch(moment: Time) -> str:
    return str(moment.seconds)


FUNCTIONS: Final = table(
    (
        declare("now()", now, environment=True),
        declare("date(string, any)", date, environment=True),
        declare("dateInZone(string, any, string)", date_in_zone, environment=True),
        declare("date_in_zone(string, any, string)", date_in_zone, environment=True),
        declare("htmlDate(any)", html_date, environment=True),
        declare("htmlDateInZone(any, string)", html_date_in_zone, environment=True),
        declare("dateModify(string, time)", date_modify),
        declare("date_modify(string, time)", date_modify),
        declare("mustDateModify(string, time)", must_date_modify),
        declare("must_date_modify(string, time)", must_date_modify),
        declare("toDate(string, string)", to_date, environment=True),
        declare("mustToDate(string, string)", must_to_date, environment=True),
        declare("ago(any)", ago, environment=True),
        declare("duration(any)", duration),
        declare("durationRound(any)", duration_round, environment=True),
        declare("unixEpoch(time)", unix_epoch),
    )
)
