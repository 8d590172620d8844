"""A table that draws only the lines that are on the screen.

Textual's DataTable measures every cell of every row when rows come in, and repaints the whole area for one changed
cell; this one costs the same for 50 rows and for 50,000. Rows are values with a key; cursor and marks follow the key,
never the position, so a live list may change underneath.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kymatui.ui.text import fit
from kymatui.ui.widgets.columns import GAP, Column, fit_columns

TONES = (
    "ready",
    "processing",
    "warning",
    "error",
    "deleting",
    "unmanaged",
    "muted",
    "strong",
    "accent",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """Text and the tone it is drawn in; the text says everything, the tone repeats it in colour."""

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: `cells` by column id; `dim` draws the whole line as something of the past."""

    key: str
    cells: Mapping[str, Cell] = field(hash=False)
    dim: bool = False


EMPTY = Cell("")


class RowTable(ScrollView, can_focus=True):
    """Rows under a fixed header, with a cursor, marks and columns that fold where there is no room."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row-table--header",
        "row-table--sorted",
        "row-table--cursor",
        "row-table--marked",
        "row-table--dim",
        *(f"row-table--{tone}" for tone in TONES),
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False, id="table.down"),
        Binding("up,k", "move(-1)", "Up", show=False, id="table.up"),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", show=False, id="table.page-down"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="table.page-up"),
        Binding("home,g", "edge(-1)", "First row", show=False, id="table.first"),
        Binding("end,G", "edge(1)", "Last row", show=False, id="table.last"),
        Binding("enter", "choose", "Open", id="table.open"),
        Binding("space", "mark", "Mark", show=False, id="table.mark"),
        Binding("ctrl+@", "mark_range", "Mark range", show=False, id="table.mark-range"),
        Binding("ctrl+backslash", "unmark", "Clear marks", show=False, id="table.unmark"),
    ]

    class Highlighted(Message):
        """The cursor stands on another row, or on none (`key` is None)."""

        def __init__(self, table: RowTable, key: str | None) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> RowTable:
            return self.table

    class Chosen(Message):
        """Enter, or a click on the row under the cursor."""

        def __init__(self, table: RowTable, key: str) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> RowTable:
            return self.table

    class HeaderClicked(Message):
        """A click on a column's title."""

        def __init__(self, table: RowTable, column: str) -> None:
            super().__init__()
            self.table = table
            self.column = column

        @property
        def control(self) -> RowTable:
            return self.table

    class Marked(Message):
        """The set of marked rows changed."""

        def __init__(self, table: RowTable, keys: frozenset[str]) -> None:
            super().__init__()
            self.table = table
            self.keys = keys

        @property
        def control(self) -> RowTable:
            return self.table

    def __init__(self, columns: Sequence[Column] = (), *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._fitted: tuple[tuple[Column, int], ...] = ()
        self._rows: list[Row] = []
        self._places: dict[str, int] = {}
        self._cursor: int | None = None
        self._marks: set[str] = set()
        self._anchor: str | None = None
        self._sorted: tuple[str, bool] | None = None

    # what is shown

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    @property
    def cursor_key(self) -> str | None:
        return self._rows[self._cursor].key if self._cursor is not None else None

    @property
    def marked(self) -> frozenset[str]:
        return frozenset(self._marks)

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """Ids of the columns that have room now."""
        return tuple(column.id for column, _ in self._fitted)

    def set_columns(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)
        self._refit()
        self.refresh()

    def set_sort(self, column: str, *, descending: bool) -> None:
        """Draws the arrow; the order itself is that of the rows as they come."""
        self._sorted = (column, descending)
        self.refresh()

    def set_rows(self, rows: Iterable[Row]) -> None:
        """Takes the new rows; only lines that differ are drawn again, and the cursor stays with its row."""
        before, key, place = self._rows, self.cursor_key, self._cursor
        self._rows = list(rows)
        self._places = {row.key: index for index, row in enumerate(self._rows)}
        self._marks &= self._places.keys()
        self._cursor = self._place_of(key, place)
        self._resize()
        if len(before) == len(self._rows) and self._cursor == place:
            for index, (old, new) in enumerate(zip(before, self._rows, strict=True)):
                if old != new:
                    self._refresh_row(index)
        else:
            self.refresh()
        if self.cursor_key != key:
            self._scroll_to_cursor()
            self.post_message(self.Highlighted(self, self.cursor_key))

    def move_to(self, key: str) -> bool:
        """Puts the cursor on a row; False where there is none of that key."""
        if key not in self._places:
            return False
        self._set_cursor(self._places[key])
        return True

    def _place_of(self, key: str | None, place: int | None) -> int | None:
        if not self._rows:
            return None
        if key is not None and key in self._places:
            return self._places[key]
        return min(place or 0, len(self._rows) - 1)

    # drawing

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if y == 0:
            return self._header_line(width)
        index = round(self.scroll_offset.y) + y - 1
        if index >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        return self._row_line(self._rows[index], index == self._cursor, width)

    def _header_line(self, width: int) -> Strip:
        style = self.get_component_rich_style("row-table--header")
        segments = [Segment(" ", style)]
        for position, (column, size) in enumerate(self._fitted):
            title, cell_style = column.title, style
            if self._sorted and self._sorted[0] == column.id:
                title += " ▾" if self._sorted[1] else " ▴"
                cell_style = style + self.get_component_rich_style("row-table--sorted", partial=True)
            segments.append(Segment(fit(title, size, right=column.right), cell_style))
            segments.append(Segment(" " * (GAP if position < len(self._fitted) - 1 else 1), style))
        return Strip(segments).adjust_cell_length(width, style)

    def _row_line(self, row: Row, under_cursor: bool, width: int) -> Strip:
        marked = row.key in self._marks
        base = self._base_style(under_cursor, marked)
        segments = [Segment("▌" if marked else " ", base + self._tone("accent", under_cursor) if marked else base)]
        for position, (column, size) in enumerate(self._fitted):
            cell = row.cells.get(column.id, EMPTY)
            tone = "dim" if row.dim else cell.tone
            style = base + self._tone(tone, under_cursor) if tone else base
            segments.append(Segment(fit(cell.text, size, right=column.right), style))
            segments.append(Segment(" " * (GAP if position < len(self._fitted) - 1 else 1), base))
        return Strip(segments).adjust_cell_length(width, base)

    def _base_style(self, under_cursor: bool, marked: bool) -> Style:
        if under_cursor:
            return self.get_component_rich_style("row-table--cursor")
        if marked:
            return self.get_component_rich_style("row-table--marked")
        return self.rich_style

    def _tone(self, tone: str, under_cursor: bool) -> Style:
        """Colour and weight of a tone; under the cursor the weight alone, as colours would not stand out there."""
        style = self.get_component_rich_style(f"row-table--{tone}")
        return Style(bold=style.bold) if under_cursor else Style(color=style.color, bold=style.bold)

    def _refresh_row(self, index: int) -> None:
        y = index + 1 - round(self.scroll_offset.y)
        if 1 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def _resize(self) -> None:
        self._refit()
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._rows) + 1)

    def _refit(self) -> None:
        self._fitted = fit_columns(self._columns, max(self.scrollable_content_region.width - 2, 1))

    def on_resize(self) -> None:
        self._resize()
        self._scroll_to_cursor()
        self.refresh()

    # moving

    def action_move(self, by: int) -> None:
        if self._cursor is not None:
            self._set_cursor(self._cursor + by)

    def action_page(self, by: int) -> None:
        self.action_move(by * max(self.size.height - 2, 1))

    def action_edge(self, side: int) -> None:
        self._set_cursor(0 if side < 0 else len(self._rows) - 1)

    def _set_cursor(self, index: int) -> None:
        if not self._rows:
            return
        index = max(0, min(index, len(self._rows) - 1))
        if index == self._cursor:
            return
        before, self._cursor = self._cursor, index
        if before is not None:
            self._refresh_row(before)
        self._scroll_to_cursor()
        self._refresh_row(index)
        self.post_message(self.Highlighted(self, self.cursor_key))

    def _scroll_to_cursor(self) -> None:
        if self._cursor is None:
            return
        visible = max(self.size.height - 1, 1)
        top = round(self.scroll_offset.y)
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False, force=True)
        elif self._cursor >= top + visible:
            self.scroll_to(y=self._cursor - visible + 1, animate=False, force=True)

    # choosing and marking

    def action_choose(self) -> None:
        if self.cursor_key is not None:
            self.post_message(self.Chosen(self, self.cursor_key))

    def action_mark(self) -> None:
        key = self.cursor_key
        if key is None:
            return
        self._marks.symmetric_difference_update({key})
        self._anchor = key
        self._marks_changed()
        self.action_move(1)

    def action_mark_range(self) -> None:
        """Marks everything between the last marked row and the cursor."""
        if self._cursor is None:
            return
        start = self._places.get(self._anchor or "", self._cursor)
        low, high = sorted((start, self._cursor))
        self._marks.update(row.key for row in self._rows[low : high + 1])
        self._marks_changed()

    def action_unmark(self) -> None:
        self._marks.clear()
        self._marks_changed()

    def _marks_changed(self) -> None:
        self.refresh()
        self.post_message(self.Marked(self, self.marked))

    def on_click(self, event: events.Click) -> None:
        if event.y == 0:
            column = self._column_at(event.x)
            if column is not None:
                self.post_message(self.HeaderClicked(self, column))
            return
        index = round(self.scroll_offset.y) + event.y - 1
        if index >= len(self._rows):
            return
        if index == self._cursor and event.chain >= 2:
            self.action_choose()
        self._set_cursor(index)

    def _column_at(self, x: int) -> str | None:
        left = 1
        for column, size in self._fitted:
            if left <= x < left + size + GAP:
                return column.id
            left += size + GAP
        return None
