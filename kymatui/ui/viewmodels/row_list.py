"""The rows of a table with a cursor and marks, which follow keys and never positions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Cell:
    """Text and the tone it is drawn in; the text says everything, the tone repeats it in colour.

    `order` is what a column is sorted by, where the text alone would not do: versions, durations, severities. A text
    that tells how long ago `since` was, in seconds of the Unix clock, advances with the time.
    """

    text: str
    tone: str = ""
    order: object = None
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One line: `cells` by column id; `dim` draws the whole line as something of the past; `labels` can be filtered.

    `parent` is the key of the line above in a tree: it stays where a filter keeps this one.
    """

    key: str
    cells: Mapping[str, Cell] = field(hash=False)
    dim: bool = False
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    parent: str = ""


EMPTY = Cell("")


class RowList:
    """A live list may change underneath: the cursor stays with its row, and near it where the row is gone."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.cursor: int | None = None
        self.marks: set[str] = set()
        self._places: dict[str, int] = {}
        self._anchor: str | None = None

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.cursor is not None else None

    @property
    def key(self) -> str | None:
        return self.rows[self.cursor].key if self.cursor is not None else None

    def place(self, key: str) -> int | None:
        """Where the row of a key is."""
        return self._places.get(key)

    def replace(self, rows: Iterable[Row]) -> Sequence[int] | None:
        """Takes new rows; the indices of the lines that differ, or None where everything has to be drawn again."""
        before, key, place = self.rows, self.key, self.cursor
        # Lines that say the same stay the same objects: what was drawn of them is kept by identity.
        self.rows = [self._known(row) for row in rows]
        self._places = {row.key: index for index, row in enumerate(self.rows)}
        self.marks &= self._places.keys()
        self.cursor = self._near(key, place)
        if len(before) != len(self.rows) or self.cursor != place:
            return None
        return [index for index, (old, new) in enumerate(zip(before, self.rows, strict=True)) if old is not new]

    def _known(self, row: Row) -> Row:
        index = self._places.get(row.key)
        old = self.rows[index] if index is not None else row
        return row if old is row or old != row else old  # most are the very same, and then nothing is compared

    def _near(self, key: str | None, place: int | None) -> int | None:
        if not self.rows:
            return None
        if key is not None and key in self._places:
            return self._places[key]
        return min(place or 0, len(self.rows) - 1)

    def move_to(self, index: int) -> bool:
        """Puts the cursor on a row, at the ends where there is none; whether it moved."""
        if not self.rows:
            return False
        before, self.cursor = self.cursor, max(0, min(index, len(self.rows) - 1))
        return before != self.cursor

    def toggle_mark(self) -> None:
        """Marks the row under the cursor, or takes its mark away; ranges begin here."""
        if self.key is not None:
            self.marks ^= {self.key}
            self._anchor = self.key

    def mark_range(self) -> None:
        """Marks everything between the last marked row and the cursor."""
        if self.cursor is not None:
            start = self._places.get(self._anchor or "", self.cursor)
            low, high = sorted((start, self.cursor))
            self.marks.update(row.key for row in self.rows[low : high + 1])
