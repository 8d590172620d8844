"""Text from a cluster, made safe (see `kymatui.domain.texts`) and made to fit; markup is never parsed out of it."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from kymatui.domain.texts import plain

__all__ = ["clip", "fit", "plain"]


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
