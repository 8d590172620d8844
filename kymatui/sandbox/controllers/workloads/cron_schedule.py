"""Cron schedules (github.com/robfig/cron, as Kubernetes uses it)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WORDS = {name: index + 1 for index, name in enumerate(_MONTHS)} | {name: index for index, name in enumerate(_DAYS)}
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = re.compile(r"@every (?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\Z")
_MOST_DAYS = 366 * 5


class Schedule:
    """A valid schedule; `zone` is a time zone name, UTC by default."""

    def __init__(self, text: str, zone: str = "") -> None:
        every = _EVERY.match(text)
        self._period = _seconds(every) if every else 0
        self._zone = _zone(zone)
        fields = _MACROS.get(text, text if not every else "* * * * *").split()
        sets = [_values(field, *bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)]
        self._minutes, self._hours, self._days, self._months, self._weekdays = sets
        self._any_day = fields[2][0] in "*?" or fields[4][0] in "*?"

    def after(self, moment: float) -> float | None:
        """Return the next time after `moment` (Unix seconds), None if there is none for years."""
        if self._period:
            return moment + self._period
        at = datetime.fromtimestamp(moment, self._zone).replace(second=0, microsecond=0) + timedelta(minutes=1)
        for _ in range(_MOST_DAYS):
            if at.month in self._months and self._is_day(at):
                time = self._in_day(at)
                if time is not None:
                    return time.timestamp()
            at = at.replace(hour=0, minute=0) + timedelta(days=1)
        return None

    def _is_day(self, at: datetime) -> bool:
        """Return whether the day matches; if day and weekday are both restricted, either is enough."""
        by_date, by_weekday = at.day in self._days, at.isoweekday() % 7 in self._weekdays
        return (by_date and by_weekday) if self._any_day else (by_date or by_weekday)

    def _in_day(self, at: datetime) -> datetime | None:
        for hour in range(at.hour, 24):
            if hour in self._hours:
                first = at.minute if hour == at.hour else 0
                minute = next((minute for minute in range(first, 60) if minute in self._minutes), None)
                if minute is not None:
                    return at.replace(hour=hour, minute=minute)
        return None


def _seconds(every: re.Match[str]) -> int:
    hours, minutes, seconds = (int(part or 0) for part in every.groups())
    return max(1, hours * 3600 + minutes * 60 + seconds)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def _values(field: str, low: int, high: int) -> frozenset[int]:
    values: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        if span in ("*", "?"):
            first, last = low, high
        else:
            ends = [_WORDS[end.lower()] if end.lower() in _WORDS else int(end) for end in span.split("-")]
            first, last = ends[0], ends[-1] if len(ends) > 1 or not step else high
        values.update(range(first, last + 1, int(step or 1)))
    return frozenset(values)
