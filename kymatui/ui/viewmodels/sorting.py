"""Filter and sort order of the rows of any table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.durations import format_duration
from kymatui.ui.viewmodels.row_filter import RowFilter
from kymatui.ui.viewmodels.row_list import EMPTY, Cell, Row

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_DIGITS = re.compile(r"(\d{1,18})")


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
    known = [row for row in chosen if row.cells.get(column, EMPTY).text]
    known.sort(key=lambda row: _order(row.cells[column]), reverse=sort.descending)
    return [*known, *(row for row in chosen if not row.cells.get(column, EMPTY).text)]


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
    return "  ".join([*shown, row.unseen])


def _order(cell: Cell) -> tuple[object, ...]:
    return (0, cell.order) if cell.order is not None else (1, natural_key(cell.text))


@lru_cache(maxsize=32768)
def natural_key(text: str) -> tuple[str | int, ...]:
    """Return a sort key that puts `item-10` after `item-9`.

    Texts and numbers alternate, so that equal types are compared.
    """
    parts: list[str | int] = list(_DIGITS.split(text.casefold()))
    parts[1::2] = map(int, parts[1::2])
    return tuple(parts)


def aged(rows: Iterable[Row], now: float) -> tuple[tuple[Row, ...], float]:
    """Return the rows with their ages at a time, and until when all ages stay the same.

    A row with unchanged texts stays the same object.
    """
    until, aged_rows = float("inf"), []
    for row in rows:
        for name, cell in row.cells.items():
            if cell.since is not None:
                until = min(until, _reads_until(cell.since, now))
                text = _span(now - cell.since)
                if text != cell.text:
                    row = replace(row, cells={**row.cells, name: replace(cell, text=text)})
        aged_rows.append(row)
    return tuple(aged_rows), until


def _reads_until(since: float, now: float) -> float:
    seconds = max(int(now - since), 0)
    size = _DAY if seconds >= _DAY else _HOUR if seconds >= _HOUR else _MINUTE if seconds >= 2 * _MINUTE else 1
    return since + (seconds // size + 1) * size


def _span(seconds: float) -> str:
    return format_duration(seconds)
