"""Rows of a table with a cursor and marks, which follow keys and never positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.lists.columns import Cell, Column
from kymatui.structs import hash_by
from kymatui.ui.viewmodels.display_text import wrap_text


class Row(Struct, frozen=True):
    """One row: `cells` by column id; `dim` marks outdated data; `labels` are for filters.

    `parent` is the key of the parent row in a tree, which stays if a filter accepts this row. A `pinned` row precedes
    all others in every order. `unseen` is text that only filters read.
    """

    key: str
    cells: Mapping[str, Cell]
    dim: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    parent: str = ""
    pinned: bool = False
    unseen: str = ""

    __hash__ = hash_by("key", "dim", "parent", "pinned", "unseen")


EMPTY = Cell("")


_MOST_LINES = 5  # of one row
_SPARE_LINES = 4  # of the screen, for the line below the table: its height changes with the row under the cursor


class RowLines:
    """The lines of a list's rows: one each, or as many as the texts need while the screen has room for all."""

    def __init__(self) -> None:
        self._rows: Sequence[Row] = ()
        self._lines: list[tuple[Row, int]] = []
        self._tops: list[int] = []

    @property
    def is_wrapped(self) -> bool:
        return bool(self._tops)

    @property
    def count(self) -> int:
        return len(self._lines) if self._tops else len(self._rows)

    def at(self, line: int) -> tuple[Row, int]:
        """Return what a line displays, and the index of its row."""
        return self._lines[line] if self._tops else (self._rows[line], line)

    def span(self, index: int) -> tuple[int, int]:
        """Return the first line of a row, and the one behind its last."""
        if not self._tops:
            return index, index + 1
        tops = [*self._tops[index : index + 2], len(self._lines)]
        return tops[0], tops[1]

    def wrap(self, rows: Sequence[Row], fitted: Sequence[tuple[Column, int]], height: int) -> None:
        """Take the rows of a list, and the columns and height in cells that they are displayed in."""
        self._rows, self._lines, self._tops = rows, [], []
        room = height - _SPARE_LINES
        if len(rows) >= room or not any(column.wraps for column, _ in fitted):
            return
        for most in range(_MOST_LINES, 1, -1):
            wrapped = [wrapped_row(row, fitted, most) for row in rows]
            if sum(map(len, wrapped)) <= room:
                break
        else:
            return
        for index, lines in enumerate(wrapped):
            self._tops.append(len(self._lines))
            self._lines += ((line, index) for line in lines)


def wrapped_row(row: Row, fitted: Sequence[tuple[Column, int]], most: int) -> list[Row]:
    """Return a row as one row for each line that its wrapping columns need, at most `most`."""
    chunks = {
        column.id: wrap_text(row.cells[column.id].text, size, most)
        for column, size in fitted
        if column.wraps and column.id in row.cells
    }
    height = max(map(len, chunks.values()), default=1)
    if height == 1:
        return [row]
    lines = [replace(row, cells={**row.cells, **_line_cells(row, chunks, 0)})]
    for number in range(1, height):
        cells = _line_cells(row, chunks, number)
        lines.append(replace(row, key=f"{row.key}\0{number}", cells=cells, pinned=False))
    return lines


def _line_cells(row: Row, chunks: Mapping[str, Sequence[str]], number: int) -> dict[str, Cell]:
    return {
        name: replace(row.cells[name], text=lines[number], short="")
        for name, lines in chunks.items()
        if number < len(lines)
    }


def rows_with(keys: frozenset[str], rows: Iterable[Row]) -> Sequence[Row]:
    """Return the rows of the keys, in their order."""
    return [row for row in rows if row.key in keys] if keys else []


def displayed_first(keys: frozenset[str], rows: Iterable[Row]) -> Sequence[str]:
    """Return all keys, those of the rows first, in their order."""
    shown = [row.key for row in rows_with(keys, rows)]
    return (*shown, *sorted(keys - {*shown}))


class RowList:
    """Rows of a live list: the cursor stays on its row, and near its place if the row is gone."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.cursor: int | None = None
        self.marks: set[str] = set()
        self._places: dict[str, int] = {}
        self._anchor: str | None = None

    @property
    def current(self) -> Row | None:
        return self.rows[self.cursor] if self.cursor is not None else None

    @property
    def key(self) -> str | None:
        return self.rows[self.cursor].key if self.cursor is not None else None

    def place(self, key: str) -> int | None:
        """Return the index of a row's key."""
        return self._places.get(key)

    def replace(self, rows: Iterable[Row], known: Iterable[str] = ()) -> Sequence[int] | None:
        """Replace the rows; return the indices of changed lines, or None to draw all again.

        `known` are keys of other rows, whose marks stay.
        """
        before, key, position = self.rows, self.key, self.cursor
        # Equal lines stay the same objects, since their drawing is cached by identity.
        self.rows = [self._known(row) for row in rows]
        self._places = {row.key: index for index, row in enumerate(self.rows)}
        self.marks &= {*self._places, *known} if self.marks else set()
        self.cursor = self._near(key, position)
        if len(before) != len(self.rows) or self.cursor != position:
            return None
        return [index for index, (old, new) in enumerate(zip(before, self.rows, strict=True)) if old is not new]

    def _known(self, row: Row) -> Row:
        index = self._places.get(row.key)
        old = self.rows[index] if index is not None else row
        return row if old is row or old != row else old  # most are identical, which needs no comparison

    def _near(self, key: str | None, position: int | None) -> int | None:
        if not self.rows:
            return None
        if key is not None and key in self._places:
            return self._places[key]
        return min(position or 0, len(self.rows) - 1)

    def move_to(self, index: int) -> bool:
        """Move the cursor to an index, limited to the list; return whether it moved."""
        if not self.rows:
            return False
        before, self.cursor = self.cursor, max(0, min(index, len(self.rows) - 1))
        return before != self.cursor

    def toggle_mark(self) -> None:
        """Toggle the mark of the row under the cursor; a range starts here."""
        if self.key is not None:
            self.marks ^= {self.key}
            self._anchor = self.key

    def mark_range(self) -> None:
        """Mark all rows between the last marked row and the cursor."""
        if self.cursor is not None:
            start = self._places.get(self._anchor or "", self.cursor)
            low, high = sorted((start, self.cursor))
            self.marks.update(row.key for row in self.rows[low : high + 1])

    def mark_all(self) -> None:
        """Mark all displayed rows; marks that a filter hides stay."""
        self.marks.update(row.key for row in self.rows)
