"""ASCII output for terminals and fonts without Unicode: translates every line before it is drawn."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

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
