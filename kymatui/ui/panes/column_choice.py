"""Columns of the catalog: those that the user chose, and the extra column of a view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kymatui.ui.presenters.catalog.catalog_columns import COLUMNS, OFFERED, CatalogView, choose_columns, columns_of
from kymatui.ui.viewmodels.columns import Column
from kymatui.ui.viewmodels.sorting import SortOrder

if TYPE_CHECKING:
    from kymatui.ui.widgets.live_table import LiveTable

COLUMN_NAMES = tuple(column.id for column in COLUMNS)


class ColumnChoice:
    """Chosen columns of one screen, applied to its `table`."""

    def __init__(self, table: Callable[[], LiveTable]) -> None:
        self._table = table
        self._chosen: tuple[Column, ...] = ()

    @property
    def chosen(self) -> Sequence[Column]:
        return self._chosen

    def choose(self, names: Sequence[str]) -> None:
        self._chosen = choose_columns(names)

    def show(self, view: CatalogView) -> None:
        """Display the columns of the view; drop a sort order whose column is gone."""
        table, wanted = self._table(), columns_of(view, self._chosen)
        if table.grid.columns == wanted:
            return
        table.set_columns(wanted)
        if OFFERED not in wanted and table.order is not None and table.order.column == OFFERED.id:
            table.set_order(SortOrder())
