"""Text from a cluster, made safe and made to fit.

Names, messages and labels come from servers and from other people's objects. A terminal acts on control characters, so
none of them may reach it; markup is never parsed out of such text.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size

# C0 and C1 controls, and the marks that turn the direction of what follows
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """One line without anything a terminal would act on."""
    return _UNSAFE.sub(" ", text) if _UNSAFE.search(text) else text


def clip(text: str, width: int) -> str:
    """At most `width` cells; what is cut off is shown by an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1) + "…" if width > 1 else "…"[:width]


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` cells, clipped or padded on the side that is not aligned."""
    text = clip(text, width)
    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding
