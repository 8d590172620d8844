"""What a column of a list is: its title, its cell, its part of the entry's document, and its order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Final, Generic, Self, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.moments import format_duration

T = TypeVar("T")
E = TypeVar("E")
ABSENT: Final = "–"
"""What a screen draws where there is no value; commands print it as they print an empty cell."""
SIGNS: Mapping[str, str] = MappingProxyType(
    {"ready": "●", "processing": "◐", "warning": "▲", "error": "✖", "deleting": "◌", "unmanaged": "○", "muted": "·"}
)
"""Signs of tones. A word always follows; `ascii_filter` translates the signs where needed."""
_DIGITS = re.compile(r"(\d{1,18})")


class Cell(Struct, frozen=True):
    """Text and its tone; the tone repeats in colour what the text says.

    `order` is the sort value where the text sorts wrongly: versions, durations, severities. A text with the age of
    `since`, in seconds of the Unix clock, advances with the time. `short` is drawn where the text does not fit. `full`
    is what commands print where `text` has a sign or an abbreviation.
    """

    text: str
    tone: str = ""
    order: object = None
    since: float | None = None
    short: str = ""
    full: str = ""

    @property
    def plain(self) -> str:
        """Return the text without signs and abbreviations, "" without a value."""
        return self.full or ("" if self.text == ABSENT else self.text)

    @property
    def is_empty(self) -> bool:
        """Return whether the cell has no value, so that it comes last in every order."""
        if self.since is not None:  # its text is the age, which a list without a clock does not have
            return False
        return not self.text or (self.text == ABSENT and self.order is None)


class Column(Struct, frozen=True):
    """One column of a table.

    width     cells on a screen; 0 for columns that only commands print
    flex      its share of the remaining width
    priority  0 is always displayed; of the others, the highest is hidden first on a narrow terminal
    falls     whether the greatest value comes first when the list is sorted by it: counts and times do
    wraps     whether a text that does not fit continues on the next line while the screen has room
    """

    id: str
    title: str
    width: int = 0
    flex: int = 0
    priority: int = 0
    right: bool = False
    falls: bool = False
    wraps: bool = False


def text_cell(text: str, tone: str = "") -> Cell:
    """Return the cell of a text from the cluster, which may be missing."""
    return Cell(sanitize(text), tone) if text else Cell(ABSENT, "muted")


class ListColumn(Column, Generic[T], frozen=True, kw_only=True):
    """One column of a list that screens, commands and documents have.

    cell  the cell of a row
    help  what it says, for the help of screens and the reference
    json  the keys of the entry's document that hold the value, and how they are read from a row
    wide  whether commands print it only with `-o wide` and in Markdown
    also  earlier titles, which `--sort-by` takes too
    """

    cell: Callable[[T], Cell]
    help: str = ""
    json: Mapping[str, Callable[[T], Any]] = field(default_factory=dict)
    wide: bool = False
    also: tuple[str, ...] = ()

    @classmethod
    def of_text(
        cls, name: str, title: str, width: int, read: Callable[[T], str], tone: str = "", **layout: Any
    ) -> Self:
        """Return the column of a text that may be missing, which is null in the document."""
        json = {layout.pop("key", name): lambda row: read(row) or None}
        return cls(name, title, width, cell=lambda row: text_cell(read(row), tone), json=json, **layout)

    @classmethod
    def of_value(
        cls, name: str, title: str, width: int, read: Callable[[T], str], tone: str = "", **layout: Any
    ) -> Self:
        """Return the column of a text that no row misses."""
        json = {layout.pop("key", name): read}
        return cls(name, title, width, cell=lambda row: Cell(sanitize(read(row)), tone), json=json, **layout)

    def with_json(self, **keys: Callable[[T], Any]) -> Self:
        """Return the column with further keys of the entry's document."""
        return replace(self, json={**self.json, **keys})

    def is_named(self, name: str) -> bool:
        """Return whether a name is its title, also an earlier one, or the name that the configuration has for it."""
        return _plain(name) in map(_plain, (self.title, self.id, *self.also))


def _plain(title: str) -> str:
    return re.sub(r"[\s_-]", "", title.casefold())


def on_screen(columns: Iterable[ListColumn[T]]) -> tuple[ListColumn[T], ...]:
    """Return the columns that have room on a screen."""
    return tuple(column for column in columns if column.width)


def pick(columns: Iterable[ListColumn[T]], *ids: str) -> tuple[ListColumn[T], ...]:
    """Return the columns of these ids, in the order of the ids."""
    by_id = {column.id: column for column in columns}
    return tuple(by_id[name] for name in ids)


def text_columns(*titles: str, wide: Sequence[str] = ()) -> tuple[ListColumn[Sequence[str]], ...]:
    """Return the columns of a list that no screen has, whose rows are texts by place."""

    def cell(place: int, row: Sequence[str]) -> Cell:
        return Cell(row[place])

    return tuple(
        ListColumn(title.casefold().replace(" ", "-"), title, cell=partial(cell, place), wide=title in wide)
        for place, title in enumerate(titles)
    )


def cells_of(columns: Iterable[ListColumn[T]], row: T, now: float = 0.0) -> dict[str, Cell]:
    """Return the cells of a row by column, with their ages at a time."""
    return {column.id: with_age(column.cell(row), now) for column in columns}


def with_age(cell: Cell, now: float) -> Cell:
    """Return the cell with its age as text; a cell without an age is unchanged."""
    return cell if cell.since is None else replace(cell, text=format_duration(now - cell.since))


def row_document(columns: Iterable[ListColumn[T]], row: T) -> dict[str, Any]:
    """Return the JSON of a row: the keys of all columns."""
    return {key: read(row) for column in columns for key, read in column.json.items()}


# the order


def in_order(entries: Iterable[E], cell: Callable[[E], Cell], *, descending: bool = False) -> list[E]:
    """Return the entries by a cell; empty cells come last in both directions, equal ones keep their order."""
    cells = [(cell(entry), entry) for entry in entries]
    known = [pair for pair in cells if not pair[0].is_empty]
    known.sort(key=lambda pair: order_key(pair[0]), reverse=descending)
    return [*(entry for _, entry in known), *(entry for found, entry in cells if found.is_empty)]


def order_key(cell: Cell) -> tuple[object, ...]:
    return (0, cell.order) if cell.order is not None else (1, natural_key(cell.full or cell.text))


@lru_cache(maxsize=32768)
def natural_key(text: str) -> tuple[str | int, ...]:
    """Return a sort key that puts `item-10` after `item-9`.

    Texts and numbers alternate, so that equal types are compared.
    """
    parts: list[str | int] = list(_DIGITS.split(text.casefold()))
    parts[1::2] = map(int, parts[1::2])
    return tuple(parts)
