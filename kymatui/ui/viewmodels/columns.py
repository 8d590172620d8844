"""Choice of the columns that fit a width, and their widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `width` in cells, `flex` is its share of the remaining width.

    `priority` 0 is always displayed; of the others, the highest is hidden first on a narrow terminal.
    """

    id: str
    title: str
    width: int
    flex: int = 0
    priority: int = 0
    right: bool = False
    falls: bool = False
    """Whether the greatest value comes first when the column is sorted for the first time: counts and times do."""


GAP = 2
_ARROW = 2


def with_arrow(column: Column) -> Column:
    """Return the column wide enough for its title and the sort arrow."""
    return replace(column, width=max(column.width, cell_len(column.title) + _ARROW))


def fit_columns(columns: Sequence[Column], width: int) -> tuple[tuple[Column, int], ...]:
    """Return the columns that fit into `width` cells with their final widths, in the given order."""
    shown = list(columns)
    while len(shown) > 1 and _needed(shown) > width:
        last = max(shown, key=lambda column: (column.priority, shown.index(column)))
        if last.priority == 0:
            break
        shown.remove(last)
    spare = max(width - _needed(shown), 0)
    shares = sum(column.flex for column in shown)
    sized = [(column, column.width + (spare * column.flex // shares if shares else 0)) for column in shown]
    return _shrunk(sized, width)


def _needed(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def _shrunk(sized: list[tuple[Column, int]], width: int) -> tuple[tuple[Column, int], ...]:
    """Shrink the widest columns, down to 4 cells, if the permanent columns do not fit."""
    excess = sum(size for _, size in sized) + GAP * (len(sized) - 1) - width
    while excess > 0:
        index = max(range(len(sized)), key=lambda i: sized[i][1])
        column, size = sized[index]
        if size <= 4:
            break
        sized[index] = (column, size - 1)
        excess -= 1
    return tuple(sized)
