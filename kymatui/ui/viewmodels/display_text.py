"""Text from a cluster, made safe (see `terminal_text`) and made to fit; markup is never parsed out of it."""

from __future__ import annotations

import re
from pathlib import Path

from rich.cells import cell_len, set_cell_size

__all__ = ["as_screen_commands", "clip", "fit_to_width", "shorten_path"]

_SAME_ON_SCREEN = "adopt|disable|enable|install|manage|manifest|restore|unmanage"
_COMMAND = re.compile(rf"`kymatui (({_SAME_ON_SCREEN})( [^`\s-][^`\s]*)*)`")


def clip(text: str, width: int) -> str:
    """At most `width` cells; what is cut off is shown by an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + "…" if width > 1 else "…"[:width]


def fit_to_width(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` cells, clipped or padded on the side that is not aligned."""
    text = clip(text, width)
    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding


def as_screen_commands(text: str) -> str:
    """Commands that the screen has, too, as they are written there: `kymatui adopt keda` is `:adopt keda`."""
    return _COMMAND.sub(r"`:\1`", text)


def shorten_path(path: str | Path) -> str:
    """A path as shells understand it, too: what is below the user's own folder begins with `~`."""
    given, home = Path(path), Path.home()
    return f"~/{given.relative_to(home)}" if given.is_relative_to(home) else str(given)
