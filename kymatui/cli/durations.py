"""Options that take a time: as kubectl and helm take it (`90s`, `5m`, `1h30m`), or as plain seconds."""

from __future__ import annotations

import argparse
import re
from typing import Final

from kymatui.domain.kubernetes.durations import parse_duration
from kymatui.patterns import deferred

DURATION_EXAMPLES: Final = "examples: 90s, 5m, 1h30m, or seconds (300)"
_SECONDS = deferred(r"\d+(?:\.\d+)?", re.ASCII)


def add_duration(parser: argparse.ArgumentParser, option: str, default: str, help: str) -> None:
    """Add an option whose value is a duration in seconds; `default` is written as a user would."""
    parser.add_argument(
        option, type=read_duration, default=default, metavar="DURATION", help=f"{help} (default: {default})"
    )


def read_duration(text: str) -> float:
    """Return the seconds, greater than 0; raise ValueError with what the option must be."""
    negative = text.startswith("-")
    unsigned = text.removeprefix("-")
    seconds = parse_duration(f"{unsigned}s" if _SECONDS.fullmatch(unsigned) else unsigned)
    if seconds is None:
        raise ValueError("a duration")
    if negative or not seconds:
        raise ValueError("greater than 0")
    return seconds
