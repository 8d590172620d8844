"""Durations and timestamps of CEL: parsing, arithmetic, components."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kymatui.schemas.cel.cel_values import CelError
from kymatui.schemas.values.metav1_time import TimeError, parse_time

_DURATION = re.compile(r"([-+]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)\Z")
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_ZONE = re.compile(r"([-+]?)(\d{2}):(\d{2})\Z")


def duration(value: Any) -> timedelta:
    """Return a duration such as `1h30m`. Raise `CelError`."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        raise CelError("type conversion error from 'string' to 'google.protobuf.Duration'")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(match[2]))
    return timedelta(seconds=-seconds if match[1] == "-" else seconds)


def timestamp(value: Any) -> datetime:
    """Return the time of an RFC 3339 text or of Unix seconds. Raise `CelError`."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, UTC)
    try:
        return parse_time(value if isinstance(value, str) else "").astimezone(UTC)
    except TimeError:
        raise CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'") from None


def add(left: Any, right: Any) -> Any:
    """Return the sum of two durations or of a timestamp and a duration. Raise `CelError`."""
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left + right
    if isinstance(left, datetime) and isinstance(right, timedelta):
        return left + right
    if isinstance(left, timedelta) and isinstance(right, datetime):
        return right + left
    raise CelError("no such overload")


def subtract(left: Any, right: Any) -> Any:
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left - right
    if isinstance(left, datetime) and isinstance(right, (timedelta, datetime)):
        return left - right
    raise CelError("no such overload")


def show_duration(value: timedelta) -> str:
    """Return `90s`, as CEL converts durations to strings."""
    seconds = value.total_seconds()
    return f"{int(seconds)}s" if seconds == int(seconds) else f"{seconds!r}s"


def show_timestamp(value: datetime) -> str:
    text = value.astimezone(UTC).isoformat().removesuffix("+00:00")
    return (text.rstrip("0") if "." in text else text) + "Z"


def _there(moment: datetime, zone: Any) -> datetime:
    if zone is None:
        return moment.astimezone(UTC)
    match = _ZONE.match(zone)
    if match:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return moment.astimezone(timezone(-offset if match[1] == "-" else offset))
    try:
        return moment.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        raise CelError(f"unknown time zone {zone}") from None


def _part(
    of_moment: Callable[[datetime], int], of_duration: Callable[[timedelta], int] | None = None
) -> Callable[..., int]:
    def part(value: Any, zone: Any = None) -> int:
        if isinstance(value, datetime):
            return of_moment(_there(value, zone))
        if isinstance(value, timedelta) and of_duration is not None:
            return of_duration(value)
        raise CelError("no such overload")

    return part


PARTS: dict[str, Callable[..., int]] = {
    "getFullYear": _part(lambda at: at.year),
    "getMonth": _part(lambda at: at.month - 1),
    "getDate": _part(lambda at: at.day),
    "getDayOfMonth": _part(lambda at: at.day - 1),
    "getDayOfWeek": _part(lambda at: at.isoweekday() % 7),
    "getDayOfYear": _part(lambda at: at.timetuple().tm_yday - 1),
    "getHours": _part(lambda at: at.hour, lambda span: int(span.total_seconds() / 3600)),
    "getMinutes": _part(lambda at: at.minute, lambda span: int(span.total_seconds() / 60)),
    "getSeconds": _part(lambda at: at.second, lambda span: int(span.total_seconds())),
    "getMilliseconds": _part(lambda at: at.microsecond // 1000, lambda span: span.microseconds // 1000),
}
"""Methods that take a moment or a duration apart."""
