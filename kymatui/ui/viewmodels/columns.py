"""Choice of the columns that fit a width, and their widths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace
from rich.cells import cell_len

from kymatui.lists.columns import Column
from kymatui.ui.viewmodels.row_list import Row

GAP = 2  # cells between two columns
_ARROW = 2  # cells of the sort arrow with its space
_MEASURED = 500  # rows that decide on the widths: a large fleet has thousands
_LEFT = 1
"""Cells left of the first column."""


class ColumnGrid:
    """Columns of one table: all of them, those that fit its width, and the one it is sorted by.

    columns    every column, whether it fits or not
    fitted     the columns that fit, with their widths in cells
    sorted_by  id of the sorted column, and whether it descends; None without a sort arrow
    """

    def __init__(self, columns: Sequence[Column] = ()) -> None:
        self.columns = tuple(columns)
        self.fitted: tuple[tuple[Column, int], ...] = ()
        self.sorted_by: tuple[str, bool] | None = None
        self._widest: Mapping[str, int] = {}

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the ids of the columns that fit."""
        return tuple(column.id for column, _ in self.fitted)

    def measure(self, rows: Sequence[Row]) -> None:
        """Take the widest text of each column, of as many rows as it takes to know: the next fit makes room for it."""
        measured = rows[:_MEASURED]
        self._widest = {
            column.id: max(
                (cell_len(row.cells[column.id].text) for row in measured if column.id in row.cells), default=0
            )
            for column in self.columns
        }

    def fit(self, width: int) -> None:
        """Fit the columns into `width` cells; keep the same tuple if nothing changes, since drawn lines hold it."""
        by = self.sorted_by[0] if self.sorted_by is not None else ""
        columns = [with_arrow(column) if column.id == by else column for column in self.columns]
        fitted = fit_columns(columns, max(width - 2 * _LEFT, 1), self._widest)
        if fitted != self.fitted:
            self.fitted = fitted

    def at(self, x: int) -> str | None:
        """Return the id of the column at a cell of the line."""
        edge = _LEFT
        for column, size in self.fitted:
            if edge <= x < edge + size + GAP:
                return column.id
            edge += size + GAP
        return None


def with_arrow(column: Column) -> Column:
    """Return the column wide enough for its title and the sort arrow."""
    return replace(column, width=max(column.width, cell_len(column.title) + _ARROW))


def fit_columns(
    columns: Sequence[Column], width: int, widest: Mapping[str, int] = MappingProxyType({})
) -> tuple[tuple[Column, int], ...]:
    """Return the columns that fit into `width` cells with their final widths, in the given order.

    `widest` is the widest text of a column in cells: what others do not need goes to columns that would be cut.
    """
    shown = list(columns)
    while len(shown) > 1 and _needed(shown) > width:
        last = max(shown, key=lambda column: (column.priority, shown.index(column)))
        if last.priority == 0:
            break
        shown.remove(last)
    spare = max(width - _needed(shown), 0)
    shares = sum(column.flex for column in shown)
    sized = [(column, column.width + (spare * column.flex // shares if shares else 0)) for column in shown]
    return _with_room(_shrunk(sized, width), widest)


def _with_room(sized: Sequence[tuple[Column, int]], widest: Mapping[str, int]) -> tuple[tuple[Column, int], ...]:
    """Give the cells that no text of a column needs to those that are cut, the most important first.

    Of equally important ones, those that become whole by it come first.
    """
    sizes = [size for _, size in sized]
    spare = [
        max(size - max(widest[column.id], cell_len(column.title) + _ARROW), 0) if column.id in widest else 0
        for column, size in sized
    ]
    missing = [widest.get(column.id, 0) - size for column, size in sized]
    cut = [position for position, cells in enumerate(missing) if cells > 0]
    while cut:
        room = sum(spare)
        index = min(cut, key=lambda position: (sized[position][0].priority, missing[position] > room, position))
        cut.remove(index)
        for giver in sorted(range(len(sized)), key=lambda position: -spare[position]):
            moved = min(spare[giver], missing[index])
            sizes[index] += moved
            missing[index] -= moved
            sizes[giver] -= moved
            spare[giver] -= moved
    return tuple((column, size) for (column, _), size in zip(sized, sizes, strict=True))


def _needed(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def _shrunk(sized: list[tuple[Column, int]], width: int) -> list[tuple[Column, int]]:
    """Shrink the widest columns, down to 4 cells, if the permanent columns do not fit."""
    excess = sum(size for _, size in sized) + GAP * (len(sized) - 1) - width
    while excess > 0:
        index = max(range(len(sized)), key=lambda i: sized[i][1])
        column, size = sized[index]
        if size <= 4:
            break
        sized[index] = (column, size - 1)
        excess -= 1
    return sized
