"""Rows of a table with a cursor and marks, which follow keys and never positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from kymatui.lists.columns import Cell
from kymatui.structs import hash_by

if TYPE_CHECKING:
    pass


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
