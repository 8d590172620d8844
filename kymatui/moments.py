"""The reading of points in time and durations."""

from __future__ import annotations

import re
from datetime import datetime

from kymatui.patterns import deferred

_MIDNIGHTS = ("T24", " 24")


def parse_moment(text: str) -> datetime:
    """Return a time in ISO 8601. Raises ValueError.

    Hour 24 is none, as in RFC 3339 and in Go; Python 3.14 and later take it for the next day.
    """
    if text[10:13] in _MIDNIGHTS:
        raise ValueError(f"hour must be in 0..23: {text!r}")
    return datetime.fromisoformat(text)


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = deferred(r"(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)", re.ASCII)
_LONGEST = 2**63 / 1e9  # Go counts nanoseconds in 64 bits


def format_duration(seconds: float) -> str:
    """Return a duration as kubectl prints it: `42s`, `5m`, `3h`, `12d`."""
    seconds = max(int(seconds), 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size * (2 if unit == "m" else 1):
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def next_text(seconds: float) -> float:
    """Return the seconds after which the text of a remaining duration changes; at least a tenth of a second."""
    size = next((size for size, least in ((86400, 1), (3600, 1), (60, 2)) if seconds >= size * least), 1)
    return max(seconds % size, 0.1)


def parse_duration(text: str) -> float | None:
    """Return the seconds of a Go duration ("1h30m"), None if it is invalid or longer than Go's 292 years."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return seconds if seconds < _LONGEST else None
