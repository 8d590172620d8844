"""Table with filter, sorting and copy; every change replaces all its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType

from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.lists.columns import Column
from kymatui.ui.terminal.file_saving import copy_text
from kymatui.ui.viewmodels.row_filter import parse_filter
from kymatui.ui.viewmodels.row_list import EMPTY, Row, rows_with
from kymatui.ui.viewmodels.sorting import SortOrder, aged, arrange_rows
from kymatui.ui.widgets.row_table import OfTable, RowTable


class LiveTable(RowTable):
    """Table of live rows; `sort` None disables sorting, `copied` is the column that `c` copies.

    `opens` is False where Enter opens nothing, so that no key offers it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy the line or the marked lines", show=False, id="table.copy"),
        Binding("Y", "copy_as", "Copy as name, kubectl command, JSON path, YAML …", show=False, id="table.copy-as"),
        Binding("O", "reorder('next')", "Sort by the next column", show=False, id="table.sort-next"),
        Binding("R", "reorder('reverse')", "Reverse order", show=False, id="table.sort-turn"),
    ]

    class Arranged(OfTable):
        """Message: the user changed the filter or the order."""

    def __init__(
        self,
        columns: Sequence[Column] = (),
        *,
        id: str | None = None,
        sort: SortOrder | None = None,
        copied: str = "",
        opens: bool = True,
    ) -> None:
        super().__init__(columns, id=id)
        self._opens = opens
        self._everything: tuple[Row, ...] = ()
        self._aged_at, self._aged_until = 0.0, 0.0
        self._filter = parse_filter("")
        self._order = sort
        self._copied = copied
        self._show_order()

    @property
    def filter_text(self) -> str:
        """Return the filter as it was typed, "" without one."""
        return self._filter.text if self._filter else ""

    @property
    def order(self) -> SortOrder | None:
        return self._order

    @property
    def everything(self) -> Sequence[Row]:
        """Return all rows, including those that the filter hides."""
        return self._everything

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return action != "choose" or (self._opens and self.cursor_key is not None)

    def show(self, rows: Iterable[Row]) -> None:
        """Replace all rows; draw those that the filter accepts in the chosen order."""
        self._everything, self._aged_until = tuple(rows), 0.0
        if self._aged_at:  # cached rows may display an older age
            self._everything, self._aged_until = aged(self._everything, self._aged_at)
        self._arrange()

    def advance(self, now: float) -> None:
        """Advance the ages to a time; compare and paint nothing while all read the same."""
        if now < self._aged_until:
            return
        before, self._aged_at = self._everything, now
        self._everything, self._aged_until = aged(before, now)
        if any(old is not new for old, new in zip(before, self._everything, strict=True)):
            self._arrange()

    def set_filter(self, text: str) -> str:
        """Apply a filter; return the problem with it, or ""."""
        self._filter = parse_filter(text)
        self._arrange()
        self.post_message(self.Arranged(self))
        return self._filter.problem

    def set_columns(self, columns: Sequence[Column]) -> None:
        super().set_columns(columns)
        if self._filter:
            self._arrange()

    def set_order(self, sort: SortOrder) -> None:
        """Sort by a column; ignore a column that the table lacks."""
        if self._order is None or sort.column not in {"", *(column.id for column in self.grid.columns)}:
            return
        self._order = sort
        self._show_order()
        self._arrange()
        self.post_message(self.Arranged(self))

    def _show_order(self) -> None:
        if self._order is not None:
            self.set_sort(self._order.column, descending=self._order.descending)

    def _arrange(self) -> None:
        was_empty = not self.rows
        columns = {column.id for column in self.grid.columns}
        # Marks end with their rows, and not where a filter hides them.
        known = {row.key for row in self._everything} if self.marked else ()
        self.set_rows(arrange_rows(self._everything, self._filter, self._order, columns), known)
        if was_empty is not (not self.rows):
            self.refresh_bindings()

    @on(RowTable.HeaderClicked)
    def _header_clicked(self, event: RowTable.HeaderClicked) -> None:
        event.stop()
        if self._order is not None:
            self.sort_by(event.column)

    def sort_by(self, column: str) -> None:
        """Sort by a column in its natural direction; by the same column again in reverse."""
        falls = {entry.id for entry in self.grid.columns if entry.falls}
        order = self._order
        again = order is not None and order.column == column
        self.set_order(SortOrder(column, descending=not order.descending if again and order else column in falls))

    def action_reorder(self, how: str) -> None:
        """Sort by the next displayed column ("next"), or by the same one in reverse."""
        shown, order = self.grid.shown, self._order
        if order is None:
            return
        if how == "next" and shown:
            self.sort_by(shown[(shown.index(order.column) + 1) % len(shown) if order.column in shown else 0])
        elif how == "reverse" and order.column:
            self.sort_by(order.column)

    def action_copy(self) -> None:
        """Copy the marked lines, else the line under the cursor."""
        rows = rows_with(self.marked, self.rows) or [row for row in (self.current,) if row]
        columns = (self._copied,) if self._copied else tuple(column.id for column in self.grid.columns)
        lines = ["\t".join(row.cells.get(column, EMPTY).text for column in columns).strip() for row in rows]
        if lines:
            count = format_count(len(lines), "line") if len(lines) > 1 else "the line"
            copy_text(self.app, "\n".join(lines), ", ".join(lines) if self._copied else count)

    def action_copy_as(self) -> None:
        """Ask for the form in which to copy the line, or the table."""
        screen: Any = self.screen
        screen.command_line.run("copy")
