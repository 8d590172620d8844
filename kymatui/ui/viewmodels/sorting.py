"""Filter and sort order of the rows of any table."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct
from msgspec.structs import replace

from kymatui.lists.columns import in_order, with_age
from kymatui.patterns import deferred
from kymatui.ui.viewmodels.row_filter import RowFilter
from kymatui.ui.viewmodels.row_list import EMPTY, Row

_COMMAND = deferred(r"`kymatui [^`]*`")  # of an advice: `/kyma` means modules of that source
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class SortOrder(Struct, frozen=True):
    """Sort column and direction; "" keeps the given order."""

    column: str = "name"
    descending: bool = False


def arrange_rows(
    rows: Iterable[Row], row_filter: RowFilter, sort: SortOrder | None, columns: Collection[str] | None = None
) -> list[Row]:
    """Return the accepted rows in order; equal rows keep their given order.

    The filter reads the cells of the table's `columns`, also of those that a narrow terminal hides; None: all cells.
    Pinned rows come first, and empty cells last in both directions.
    """
    chosen = _chosen(list(rows), row_filter, columns) if row_filter else list(rows)
    if any(row.pinned for row in chosen):
        pinned, others = ([row for row in chosen if row.pinned is is_pinned] for is_pinned in (True, False))
        return [*_sorted(pinned, sort), *_sorted(others, sort)]
    return _sorted(chosen, sort)


def _sorted(chosen: list[Row], sort: SortOrder | None) -> list[Row]:
    if sort is None or not sort.column:
        return chosen
    column = sort.column
    return in_order(chosen, lambda row: row.cells.get(column, EMPTY), descending=sort.descending)


def _chosen(rows: list[Row], row_filter: RowFilter, columns: Collection[str] | None) -> list[Row]:
    """Return the accepted rows, and in a tree their parents."""
    keys = {row.key for row in rows if row_filter.accepts(_line(row, columns), row.labels)}
    parents = {row.key: row.parent for row in rows if row.parent}
    for key in list(keys) if parents else ():
        while key := parents.get(key, ""):
            keys.add(key)
    return [row for row in rows if row.key in keys]


def _line(row: Row, columns: Collection[str] | None) -> str:
    shown = (cell.text for name, cell in row.cells.items() if columns is None or name in columns)
    return _COMMAND.sub("", "  ".join([*shown, row.unseen]))


def aged(rows: Iterable[Row], now: float) -> tuple[tuple[Row, ...], float]:
    """Return the rows with their ages at a time, and until when all ages stay the same.

    A row with unchanged texts stays the same object.
    """
    until, aged_rows = float("inf"), []
    for row in rows:
        for name, cell in row.cells.items():
            if cell.since is not None:
                until = min(until, _reads_until(cell.since, now))
                advanced = with_age(cell, now)
                if advanced.text != cell.text:
                    row = replace(row, cells={**row.cells, name: advanced})
        aged_rows.append(row)
    return tuple(aged_rows), until


def _reads_until(since: float, now: float) -> float:
    seconds = max(int(now - since), 0)
    size = _DAY if seconds >= _DAY else _HOUR if seconds >= _HOUR else _MINUTE if seconds >= 2 * _MINUTE else 1
    return since + (seconds // size + 1) * size
