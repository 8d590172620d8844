"""The door to the screen: no text and no link of a widget reaches the terminal with characters that it acts on.

Presenters sanitize what they show, so that it has the right width; whatever they miss, titles and notifications of the
toolkit included, loses its control characters here. Textual removes only a few of them.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from kymatui.domain.kubernetes.terminal_text import sanitize


@lru_cache(4096)
def without_controls(text: str) -> str:
    """Return the text without control characters, at the width that the toolkit laid it out with."""
    if sanitize(text) == text:
        return text
    return "".join(char if sanitize(char) == char else " " * get_character_cell_size(char) for char in text)


class ForeignTextFilter(LineFilter):
    """Line filter that removes characters, and links that are more than an address."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [_passed(segment) for segment in segments]


def _passed(segment: Segment) -> Segment:
    text, style, control = segment
    shown = without_controls(text)
    link = style.link if style is not None else None
    if style is not None and link and sanitize(link) != link:
        return Segment(shown, style.update_link(None), control)
    return segment if shown is text else Segment(shown, style, control)


# ASCII output for terminals and fonts without Unicode: translates every line before it is drawn.


_SIGNS = {
    **dict(zip("●◐▲✖◌○·–—−…‹›←→↑↓≠×▌▏▎│┃╎▾▴▸▔★", "*~!x-o.---~<><>^v!x||||||v^>-#", strict=True)),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╋┏┓┗┛", "+"),
    **dict.fromkeys("─━═╌▁▂▃▄▀", "-"),
    **dict.fromkeys("█▇▆▅", "#"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("‘’", "'"),
    "\xa0": " ",
}


@lru_cache(4096)
def ascii_only(text: str) -> str:
    """Return the text in ASCII at the same width; a character without translation becomes `?`."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else _sign(char) for char in text)


def _sign(char: str) -> str:
    return _SIGNS.get(char) or "?" * get_character_cell_size(char)


class AsciiFilter(LineFilter):
    """Line filter that changes characters and never styles."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [Segment(ascii_only(text), style, control) for text, style, control in segments]
