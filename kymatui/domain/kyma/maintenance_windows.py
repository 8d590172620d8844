"""Maintenance windows: lifecycle-manager's policy, resolved for one runtime as its resolver does.

Only the first matching rule counts; a rule matches if any of its patterns is found in the runtime's value. Weekly
windows are searched from today on, in their own time zone, for eight days, so a window that began yesterday and
crosses midnight is missed, as in lifecycle-manager. An active window counts while more than the minimum duration is
left.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from msgspec import Struct, field

from kymatui.domain.kyma.field_defaults import FieldSchema
from kymatui.json_input import read_json
from kymatui.moments import parse_moment
from kymatui.patterns import deferred
from kymatui.structs import compare_by

MIN_DURATION = 20 * 60.0
_LOOK_AHEAD_DAYS = 8  # as in lifecycle-manager: today and the week after
_DAY = timedelta(days=1)
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LABELS = {
    "globalAccountID": "kyma-project.io/global-account-id",
    "plan": "kyma-project.io/broker-plan-name",
    "region": "kyma-project.io/region",
    "platformRegion": "kyma-project.io/platform-region",
}
_TIME_YEAR = 2  # stands for "no date": the year in which a time of day is stored
_ZERO = datetime(1, 1, 1, tzinfo=UTC)
_TIME = deferred(r"(\d\d?):(\d\d):(\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_MOMENT = deferred(r"(\d{4}-\d\d-\d\dT)(\d\d?)(:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d))", re.ASCII)
_NOT_SHARED = deferred(r"(?:\\.|[^\\])*?(\[\[:|\\[1-9pPuUzZNCQ]|\(\?(?:[=!>(#]|P=|P>|<[=!]))")
"""Syntax of regular expressions that only Go or only Python has, or that both read differently."""


class MaintenanceWindow(Struct, frozen=True):
    """A time range in seconds of the Unix clock."""

    begin: float
    end: float

    def is_active(self, now: float) -> bool:
        return self.begin < now < self.end


class WindowRule(Struct, frozen=True):
    """A window rule: absolute without days, else weekly on those days, at the times of `begin` and `end`."""

    days: tuple[str, ...]
    begin: datetime
    end: datetime


class PolicyRule(Struct, frozen=True):
    """Patterns by runtime property, and the windows of runtimes that match any pattern."""

    match: Mapping[str, re.Pattern[str]]
    windows: tuple[WindowRule, ...]

    def matches(self, runtime: Mapping[str, str]) -> bool:
        """Return whether any pattern is found; properties that the runtime lacks are skipped."""
        return any(runtime.get(name) and pattern.search(runtime[name]) for name, pattern in self.match.items())


class WindowPolicy(Struct, frozen=True):
    """The policy of lifecycle-manager's configuration."""

    rules: tuple[PolicyRule, ...]
    default: WindowRule


class UnreadablePolicy(Struct, frozen=True):
    """A policy that lifecycle-manager cannot read either, with the reason."""

    reason: str


def runtime_properties(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that policies match, from the labels of a Kyma."""
    return {name: labels.get(label, "") for name, label in _LABELS.items()}


def read_policy(text: str | bytes) -> WindowPolicy | UnreadablePolicy:
    """Read a policy file; keys match in any case, as in Go's decoder."""
    try:
        raw = read_json(text)
    except ValueError as error:
        return UnreadablePolicy(str(error))
    return read_policy_document(raw)


def read_policy_document(raw: object) -> WindowPolicy | UnreadablePolicy:
    """Read a decoded policy."""
    try:
        rules = tuple(_rule(entry) for entry in _list(_get(raw, "rules"), "rules"))
        return WindowPolicy(rules, _window(_object(_get(raw, "default"), "default")))
    except (ValueError, RecursionError) as error:
        return UnreadablePolicy(str(error))


def policy_document(policy: WindowPolicy) -> dict[str, Any]:
    """Return a policy as lifecycle-manager's file has it."""
    rules = [
        {
            "match": {name: read_json(f'"{pattern.pattern}"') for name, pattern in rule.match.items()},
            "windows": [_window_document(window) for window in rule.windows],
        }
        for rule in policy.rules
    ]
    return {"rules": rules, "default": _window_document(policy.default)}


def _window_document(window: WindowRule) -> dict[str, Any]:
    edges = {"begin": window.begin, "end": window.end}
    return {"days": list(window.days), **{name: _edge_text(edge) for name, edge in edges.items() if edge != _ZERO}}


def _edge_text(edge: datetime) -> str:
    return edge.timetz().isoformat() if edge.year == _TIME_YEAR else edge.isoformat()


def _object(value: object, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is not an object")
    return value


def _list(value: object, what: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{what} is not a list")
    return value


def _get(raw: object, key: str, absent: object = None) -> object:
    """Return the value of a key in any case; the last one wins, as in Go's decoder."""
    values = [value for name, value in _object(raw, "the policy").items() if name.lower() == key.lower()]
    return values[-1] if values else absent


def _rule(raw: object) -> PolicyRule:
    match = _object(_get(raw, "match"), "match")
    patterns = {}
    for name in _LABELS:
        pattern = _get(match, name)
        if isinstance(pattern, str) and pattern:
            patterns[name] = _pattern(pattern)
    return PolicyRule(patterns, tuple(_window(entry) for entry in _list(_get(raw, "windows"), "windows")))


def _pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a JSON string as lifecycle-manager has it, which does not decode the string's escapes."""
    encoded = json.dumps(text, ensure_ascii=False).strip('"')
    if match := _NOT_SHARED.match(encoded):
        raise ValueError(f"the pattern {encoded!r} has {match[1]!r}, which Go and Python read differently")
    try:
        return re.compile(encoded)
    except re.error as error:
        raise ValueError(f"the pattern {encoded!r} is invalid: {error}") from error


def _window(raw: object) -> WindowRule:
    days = _list(_get(raw, "days"), "days")
    if not all(isinstance(day, str) for day in days):
        raise ValueError("days is not a list of names")
    return WindowRule(tuple(days), _time(_get(raw, "begin", _ZERO)), _time(_get(raw, "end", _ZERO)))


def _time(value: object) -> datetime:
    """Parse a moment or a time of day, which gets a date in year 2; hours may have one digit, as in Go."""
    if isinstance(value, datetime):
        return value
    text = value if isinstance(value, str) else ""
    if moment := _MOMENT.fullmatch(text):
        return parse_moment(f"{moment[1]}{moment[2]:0>2}{moment[3]}")
    match = _TIME.fullmatch(text)
    if not match:
        raise ValueError(f"{text or value!r} is neither a time of day with a zone nor an RFC 3339 time")
    hour, minute, second = map(int, match.group(1, 2, 3))
    return datetime(_TIME_YEAR, 1, 1, hour, minute, second, tzinfo=_zone(match.group(4)))


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return timezone(-offset if text[0] == "-" else offset)


def next_window(
    policy: WindowPolicy, runtime: Mapping[str, str], now: float, *, least: float = MIN_DURATION
) -> MaintenanceWindow | None:
    """Return the active window with more than `least` seconds left, else the next one, else None."""
    for rule in policy.rules:
        if rule.matches(runtime):
            window = next(filter(None, (_upcoming(window, now, least) for window in rule.windows)), None)
            if window is not None:
                return window
            break
    return _upcoming(policy.default, now, least)


def _upcoming(rule: WindowRule, now: float, least: float) -> MaintenanceWindow | None:
    candidates = _weekly(rule, now) if rule.days else ((rule.begin, rule.end),)
    for begin, end in candidates:
        if now + least < end.timestamp():
            return MaintenanceWindow(begin.timestamp(), end.timestamp())
    return None


def _weekly(rule: WindowRule, now: float) -> tuple[tuple[datetime, datetime], ...]:
    today = datetime.fromtimestamp(now, UTC)
    begin, end = (
        edge.replace(year=today.year, month=today.month, day=today.day, microsecond=0)
        for edge in (rule.begin, rule.end)
    )
    if end <= begin:
        end += _DAY
    days = ((begin + _DAY * offset, end + _DAY * offset) for offset in range(_LOOK_AHEAD_DAYS))
    return tuple((start, stop) for start, stop in days if _WEEKDAYS[start.weekday()] in rule.days)


class ControllerSettings(Struct, frozen=True):
    """Settings of lifecycle-manager that the cluster may not tell.

    `windows` is None if the policy is unknown; `restricted` names the modules that need a selector; `least` is the
    number of seconds that must be left of a window. `schemas` has the schemas of the catalog's CRDs by kind, as far as
    readable.
    """

    windows: WindowPolicy | None = None
    restricted: frozenset[str] = frozenset()
    least: float = MIN_DURATION
    schemas: Mapping[str, FieldSchema] = field(default_factory=dict)

    __eq__, __hash__ = compare_by("windows", "restricted", "least")
