"""The reading of points in time."""

from __future__ import annotations

from datetime import datetime

_MIDNIGHTS = ("T24", " 24")


def parse_moment(text: str) -> datetime:
    """Return a time in ISO 8601. Raises ValueError.

    Hour 24 is none, as in RFC 3339 and in Go; Python 3.14 and later take it for the next day.
    """
    if text[10:13] in _MIDNIGHTS:
        raise ValueError(f"hour must be in 0..23: {text!r}")
    return datetime.fromisoformat(text)
