"""Table that draws only the visible lines.

Textual's DataTable measures every cell of every row when rows come in, and repaints the whole area for one changed
cell; this table costs the same for 50 rows and for 50,000. Rows are values with a key. Cursor and marks follow the
key, never the position, so a live list may change underneath.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Protocol

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size, Spacing
from textual.message import Message
from textual.strip import Strip

from kymatui.lists.columns import Column
from kymatui.ui.terminal.plain_widgets import ScrollView
from kymatui.ui.viewmodels.columns import GAP, ColumnGrid
from kymatui.ui.viewmodels.display_text import fit_to_width
from kymatui.ui.viewmodels.row_list import EMPTY, Row, RowLines, RowList

TONES = ("ready", "processing", "warning", "error", "deleting", "unmanaged", "muted", "strong", "accent")


class OfTable(Message):
    """Base of table messages; handlers may select one table by its id."""

    def __init__(self, table: RowTable) -> None:
        super().__init__()
        self.table = table

    @property
    def control(self) -> RowTable:
        return self.table


class RowTable(ScrollView, can_focus=True):
    """Rows under a fixed header, with a cursor, marks, and columns that are hidden on narrow terminals."""

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
        Binding("ctrl+@", "mark('range')", "Mark range", show=False, id="table.mark-range"),
        Binding("asterisk", "mark('all')", "Mark all filtered rows", show=False, id="table.mark-all"),
        Binding("ctrl+backslash", "mark('none')", "Clear marks", show=False, id="table.unmark"),
    ]

    class Highlighted(OfTable):
        """Message: the cursor is on another row, or on none (`key` is None)."""

        def __init__(self, table: RowTable, key: str | None) -> None:
            super().__init__(table)
            self.key = key

    class Chosen(OfTable):
        """Message: Enter, or a click on the row under the cursor."""

        def __init__(self, table: RowTable, key: str) -> None:
            super().__init__(table)
            self.key = key

    class HeaderClicked(OfTable):
        """Message: a click on a column's title."""

        def __init__(self, table: RowTable, column: str) -> None:
            super().__init__(table)
            self.column = column

    class Marked(OfTable):
        """Message: the set of marked rows changed."""

        def __init__(self, table: RowTable, keys: frozenset[str]) -> None:
            super().__init__(table)
            self.keys = keys

    def __init__(self, columns: Sequence[Column] = (), *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.grid = ColumnGrid(columns)
        self._list = RowList()
        self._drawing = LineDrawing(self.get_component_rich_style, "row-table--")
        self._base = Style.null()
        self._lines = RowLines()

    # display

    @property
    def rows(self) -> Sequence[Row]:
        return self._list.rows

    @property
    def current(self) -> Row | None:
        return self._list.current

    @property
    def cursor_key(self) -> str | None:
        return self._list.key

    @property
    def marked(self) -> frozenset[str]:
        return frozenset(self._list.marks)

    def set_columns(self, columns: Sequence[Column]) -> None:
        self.grid.columns = tuple(columns)
        self._refit()
        self.refresh()

    def set_sort(self, column: str, *, descending: bool) -> None:
        """Draw the sort arrow; the rows keep their given order."""
        self.grid.sorted_by = (column, descending)
        if self.is_mounted:
            self._refit()
        self.refresh()

    def set_rows(self, rows: Iterable[Row], known: Iterable[str] = ()) -> None:
        """Replace the rows; draw only changed lines, or all if a width changes, and keep the cursor on its row.

        `known` are keys of rows that are not displayed, and keep their marks.
        """
        key, fitted = self.cursor_key, self.grid.fitted
        changed = self._list.replace(rows, known)
        self.grid.measure(self._list.rows)
        self._resize()
        if changed is None or self.grid.fitted is not fitted:
            self.refresh()
        if self._lines.is_wrapped:
            self.refresh()
        for index in changed or ():
            self._refresh_row(index)
        if self.cursor_key != key:
            self._scroll_to_cursor()
            self.post_message(self.Highlighted(self, self.cursor_key))

    def move_to(self, key: str) -> bool:
        """Move the cursor to a row; return False without a row of that key."""
        index = self._list.place(key)
        if index is not None:
            self._set_cursor(index)
        return index is not None

    # drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the cached strips, since Textual caches its results with the strip object.

        Textual's own method creates new strips of every line on every paint; it still serves borders, padding and
        opacity.
        """
        self._refit()  # a table that got its rows while hidden is drawn before its resize event
        self._base = self.rich_style  # Textual computes it on every access: once a paint is enough
        if self.styles.gutter != Spacing() or self.opacity < 1 or self.styles.text_opacity < 1:
            return super().render_lines(crop)
        width, background, filters = self.region.width, self.background_colors[1], self.get_line_filters()
        strips = [self.render_line(y).adjust_cell_length(width, self._base) for y in crop.line_range]
        for line_filter in filters:
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        return strips if crop.column_span == (0, width) else [strip.crop(*crop.column_span) for strip in strips]

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if y == 0:
            return self._drawing.header(self.grid.fitted, self.grid.sorted_by, width)
        line = round(self.scroll_offset.y) + y - 1
        if line >= self._lines.count:
            return Strip.blank(width, self._base)
        row, index = self._lines.at(line)
        cursor, marked = index == self._list.cursor, self.rows[index].key in self._list.marks
        return self._drawing.row(row, self.grid.fitted, width, self._base, cursor=cursor, marked=marked)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drawing.forget()

    def _refresh_row(self, index: int) -> None:
        top, end = self._lines.span(index)
        for line in range(top, end):
            y = line + 1 - round(self.scroll_offset.y)
            if 1 <= y < self.size.height:
                self.refresh(Region(0, y, self.size.width, 1))

    def _resize(self) -> None:
        region = self.scrollable_content_region
        self.grid.fit(region.width)
        self._lines.wrap(self.rows, self.grid.fitted, region.height)
        self.virtual_size = Size(region.width, self._lines.count + 1)

    def _refit(self) -> None:
        fitted, region = self.grid.fitted, self.scrollable_content_region
        self.grid.fit(region.width)
        if self.grid.fitted is not fitted:
            self._lines.wrap(self.rows, self.grid.fitted, region.height)

    def on_resize(self) -> None:
        self._resize()
        self._scroll_to_cursor()
        self.refresh()

    # movement

    def action_move(self, by: int) -> None:
        if self._list.cursor is not None:
            self._set_cursor(self._list.cursor + by)

    def action_page(self, by: int) -> None:
        self.action_move(by * max(self.size.height - 2, 1))

    def action_edge(self, side: int) -> None:
        self._set_cursor(0 if side < 0 else len(self.rows) - 1)

    def _set_cursor(self, index: int) -> None:
        before = self._list.cursor
        if not self._list.move_to(index):
            return
        self._scroll_to_cursor()
        for position in (before, self._list.cursor):
            if position is not None:
                self._refresh_row(position)
        self.post_message(self.Highlighted(self, self.cursor_key))

    def _scroll_to_cursor(self) -> None:
        cursor = self._list.cursor
        if cursor is None:
            return
        visible = max(self.size.height - 1, 1)
        top = round(self.scroll_offset.y)
        first, end = self._lines.span(cursor)
        if first < top:
            self.scroll_to(y=first, animate=False, force=True)
        elif end > top + visible:
            self.scroll_to(y=end - visible, animate=False, force=True)

    # selection and marks

    def action_choose(self) -> None:
        if self.cursor_key is not None:
            self.post_message(self.Chosen(self, self.cursor_key))

    def action_mark(self, which: str = "line") -> None:
        """Mark or unmark the line, mark those from the last marked one to the cursor, mark all, or clear ("none")."""
        match which:
            case "all":
                self._list.mark_all()
            case "range":
                self._list.mark_range()
            case "none":
                self._list.marks.clear()
            case _:
                self._list.toggle_mark()
        self._marks_changed()
        if which == "line":
            self.action_move(1)

    def _marks_changed(self) -> None:
        self.refresh()
        self.post_message(self.Marked(self, self.marked))

    def on_click(self, event: events.Click) -> None:
        if event.y == 0:
            column = self.grid.at(event.x)
            if column is not None:
                self.post_message(self.HeaderClicked(self, column))
            return
        line = round(self.scroll_offset.y) + event.y - 1
        if line >= self._lines.count:
            return
        _, index = self._lines.at(line)
        if index == self._list.cursor and event.chain >= 2:
            self.action_choose()
        self._set_cursor(index)


# Table rows as strips of styled text.


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
        state = row.key, cursor, marked
        kept = self._kept.get(state)
        if kept is not None and kept[0] is row and kept[1] is fitted and kept[2] == width and kept[3] == base:
            return kept[4]
        strip = self._row(row, fitted, width, base, cursor=cursor, marked=marked)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[state] = row, fitted, width, base, strip
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
