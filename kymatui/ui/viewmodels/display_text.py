"""Cluster text made safe (see `terminal_text`) and clipped to fit, never parsed as markup; times of day."""

from __future__ import annotations

import re
import shlex
import time
from itertools import takewhile
from pathlib import Path

from msgspec import Struct
from rich.cells import cell_len, set_cell_size

__all__ = [
    "as_screen_commands",
    "clip",
    "clock_time",
    "fit_to_width",
    "moment",
    "screen_command",
    "shorten_path",
    "wrap_text",
]

_DAY = 86400.0
_SAME_ON_SCREEN = "adopt|disable|enable|install|logs|manage|manifest|pull|restart|restore|resume|unmanage|unpause"
_COMMAND = re.compile(rf"`kymatui (({_SAME_ON_SCREEN})( [^`\s-][^`\s]*)*)`")


def clip(text: str, width: int) -> str:
    """Return at most `width` cells; an ellipsis marks a clipped text."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + "…" if width > 1 else "…"[:width]


def wrap_text(text: str, width: int, most: int) -> list[str]:
    """Return the text in at most `most` lines of `width` cells, broken between words; the last one may be longer."""
    lines: list[str] = []
    rest = text
    while len(lines) < most - 1 and cell_len(rest) > width > 0:
        head = set_cell_size(rest, width).rstrip()
        cut = len(head) if rest[len(head) : len(head) + 1] in ("", " ") else head.rfind(" ")
        cut = cut if cut > 0 else len(head)
        if cut <= 0:
            break
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*lines, rest]


def fit_to_width(text: str, width: int, *, right: bool = False) -> str:
    """Return exactly `width` cells, clipped or padded on the unaligned side."""
    text = clip(text, width)
    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding


def as_screen_commands(text: str) -> str:
    """Replace commands that the screen has by their screen form: `kymatui adopt keda` is `:adopt keda`."""
    return _COMMAND.sub(r"`:\1`", text)


def screen_command(command: str, module: str) -> str:
    """Return the screen's line for a printed `kymatui …` about a module.

    Return "" for another program, and for options that a line does not have, such as the source of an installation.
    """
    words = shlex.split(command)
    if words[:1] != ["kymatui"]:
        return ""
    _, verb, *rest = words
    names = list(takewhile(lambda word: not word.startswith("-"), rest))
    options = {word for word in rest if word.startswith("-")} - {"--remote", "--kyma"}
    if verb == "finalizers" or (verb == "delete" and options <= {"--cascade", "-n"}):
        return f"delete {module}"  # its stepper lists what blocks it, and removes it
    if options:
        return ""
    if verb == "label" and names:
        name, _, value = names[0].partition("=")
        return f"label {name} {'on' if value == 'true' else 'off'}"
    return " ".join((verb, *(names or (["kyma"] if "--kyma" in rest else []))))


def shorten_path(path: str | Path) -> str:
    """Return the path with `~` for the user's home folder."""
    full_path, home = Path(path), Path.home()
    return f"~/{full_path.relative_to(home)}" if full_path.is_relative_to(home) else str(full_path)


def clock_time(at: float) -> str:
    """Return the time of day in UTC of a Unix time: `14:03:22`."""
    return time.strftime("%H:%M:%S", time.gmtime(at))


def moment(at: float, now: float) -> str:
    """Return the time of day in UTC, and for what is older than a day the date: `Nov 21`."""
    return clock_time(at) if now - at < _DAY else time.strftime("%b %d", time.gmtime(at))


class Fact(Struct, frozen=True):
    """Label, text and tone; `link` makes the text a hyperlink in terminals that have them (OSC 8)."""

    label: str
    text: str
    tone: str = ""
    link: str = ""


class ChoiceOption(Struct, frozen=True):
    """One answer; the dialog returns its `value`."""

    value: str
    label: str
    note: str = ""


class Question(Struct, frozen=True):
    """One question; `chosen` is the value of the proposed answer."""

    id: str
    title: str
    options: tuple[ChoiceOption, ...]
    chosen: str = ""
