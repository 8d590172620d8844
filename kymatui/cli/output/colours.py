"""Colours of cells: states, severities and verdicts, on a terminal only.

The terminal's own eight colours are used, so that they fit its theme. The words stand here as texts: importing the
enums takes a third of the start of a command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final, TextIO

from kymatui.patterns import deferred

RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, DIM = "31", "32", "33", "34", "35", "36", "2"
STATE_COLOURS: Final[Mapping[str, str]] = {
    "Ready": GREEN,
    "Processing": CYAN,
    "Warning": YELLOW,
    "Error": RED,
    "Deleting": MAGENTA,
    "Unknown": BLUE,
    "Unmanaged": DIM,
    "not installed": DIM,
    "unconfigured": DIM,
    "orphan": YELLOW,
    "managed twice": YELLOW,
}
COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(("STATE", "KYMA", "MANIFEST", "MODULE CR", "MANAGER"), STATE_COLOURS),
    "SEVERITY": {"error": RED, "warning": YELLOW, "info": DIM},
    "TYPE": {"Warning": YELLOW},
    "VERDICT": {"not intended": RED, "unknown": BLUE, "under way": CYAN},
    "HEALTH": {"broken": RED, "unknown": BLUE, "healthy": GREEN},
    "STATUS": {"missing": RED, "left over": YELLOW, "unknown": BLUE},
}
"""By column the words that have a colour; others, and other columns, have none."""
ACCENTS: Final[Mapping[str, str]] = {
    "red": "97;41",
    "orange": "97;48;5;130",
    "yellow": "30;43",
    "green": "30;42",
    "blue": "97;44",
    "purple": "97;45",
    "grey": "97;100",
}
"""By accent of a context the colours of the lines that name it; the terminal has no orange of its own."""
_OWN: Final = f"\x1b{os.urandom(8).hex()}"
"""The start of a sequence of kymatui's own, which no foreign text can have; the door writes its colour."""
OWN_SEQUENCE = deferred(rf"{_OWN}\[([0-9;]*)m")


class _Choice:
    """The value of `--color`; auto until a command line says otherwise."""

    when = "auto"


CHOICE = _Choice()


def choose_colours(when: str) -> None:
    """Remember `--color` for what this process prints."""
    CHOICE.when = when


def has_colours(stream: TextIO | None = None) -> bool:
    """Return whether text for this stream, by default standard output, may have colours."""
    if CHOICE.when != "auto":
        return CHOICE.when == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (stream or sys.stdout).isatty()


def coloured(title: str, cell: str, padded: str) -> str:
    """Return a padded cell in the colour that its column gives to its word; "Ready (deleting)" is Ready."""
    colour = COLUMNS.get(title, {}).get(cell.partition(" (")[0].strip())
    return _painted(colour, padded) if colour else padded


def accented(accent: str, text: str) -> str:
    """Return the lines of a text in the accent of a context."""
    colour = ACCENTS.get(accent)
    return "\n".join(_painted(colour, line) for line in text.split("\n")) if colour else text


def _painted(colour: str, text: str) -> str:
    """Return the text between two sequences that the door (`terminal.visible`) turns into those of the terminal."""
    return f"{_OWN}[{colour}m{text}{_OWN}[0m"
