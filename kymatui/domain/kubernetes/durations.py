"""Durations as kubectl prints them."""

from __future__ import annotations


def format_duration(seconds: float) -> str:
    """Return a duration as kubectl prints it: `42s`, `5m`, `3h`, `12d`."""
    seconds = max(int(seconds), 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size * (2 if unit == "m" else 1):
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
