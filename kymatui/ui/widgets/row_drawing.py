"""Table rows as strips of styled text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from kymatui.ui.viewmodels.columns import GAP, Column
from kymatui.ui.viewmodels.display_text import fit_to_width
from kymatui.ui.viewmodels.row_list import EMPTY, Row

Fitted = Sequence[tuple[Column, int]]

MARK = "▌"
PINNED = "★"
TURNED = " ▾"
STRAIGHT = " ▴"
_MOST_KEPT = 2000  # drawn rows in memory; all are dropped together, and visible ones drawn again


class Styles(Protocol):
    """Source of styles: a widget, whose stylesheet may change with the theme."""

    def __call__(self, *names: str, partial: bool = False) -> Style: ...


class LineDrawing:
    """Renderer of the header and rows; `style(prefix + "cursor")` returns that component style.

    Lines are cached: scrolling draws most of them again, and Textual caches its results with the strip.
    """

    def __init__(self, style: Styles, prefix: str) -> None:
        self._component_style = style
        self._prefix = prefix
        self._kept: dict[tuple[str, bool, bool], tuple[Row, Fitted, int, Style, Strip]] = {}

    def forget(self) -> None:
        """Clear the cache after a change of styles."""
        self._kept.clear()

    def _style(self, name: str, *, partial: bool = False) -> Style:
        return self._component_style(self._prefix + name, partial=partial)

    def header(self, fitted: Fitted, sorted_by: tuple[str, bool] | None, width: int) -> Strip:
        """Return the titles; the sorted column has an arrow."""
        base = self._style("header")
        segments = [Segment(" ", base)]
        for position, (column, size) in enumerate(fitted):
            title, style = column.title, base
            if sorted_by and sorted_by[0] == column.id:
                title = title[: max(size - 2, 0)] + (TURNED if sorted_by[1] else STRAIGHT)
                style = base + self._style("sorted", partial=True)
            segments.append(Segment(fit_to_width(title, size, right=column.right), style))
            segments.append(Segment(_gap(fitted, position), base))
        return Strip(segments).adjust_cell_length(width, base)

    def row(self, row: Row, fitted: Fitted, width: int, base: Style, *, cursor: bool, marked: bool) -> Strip:
        """Return one row; the background under the cursor and on marks is that of the line."""
        place = row.key, cursor, marked
        kept = self._kept.get(place)
        if kept is not None and kept[0] is row and kept[1] is fitted and kept[2] == width and kept[3] == base:
            return kept[4]
        strip = self._row(row, fitted, width, base, cursor=cursor, marked=marked)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[place] = row, fitted, width, base, strip
        return strip

    def _row(self, row: Row, fitted: Fitted, width: int, base: Style, *, cursor: bool, marked: bool) -> Strip:
        if cursor:
            base = self._style("cursor")
        elif marked:
            base = self._style("marked")
        sign = MARK if marked else PINNED if row.pinned else " "
        segments = [Segment(sign, base if sign == " " else base + self._tone("accent", cursor))]
        for position, (column, size) in enumerate(fitted):
            cell = row.cells.get(column.id, EMPTY)
            tone = "dim" if row.dim else cell.tone
            style = base + self._tone(tone, cursor) if tone else base
            text = cell.short if cell.short and cell_len(cell.text) > size else cell.text
            segments.append(Segment(fit_to_width(text, size, right=column.right), style))
            segments.append(Segment(_gap(fitted, position), base))
        return Strip(segments).adjust_cell_length(width, base)

    def _tone(self, tone: str, cursor: bool) -> Style:
        """Return colour and weight of a tone; only the weight under the cursor, where colours are faint."""
        style = self._style(tone)
        return Style(bold=style.bold) if cursor else Style(color=style.color, bold=style.bold)


def _gap(fitted: Fitted, position: int) -> str:
    return " " * (GAP if position < len(fitted) - 1 else 1)
