"""Dialog for the catalog's columns and their order, for this run or saved to the configuration file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.errors import KymatuiError
from kymatui.lists.catalog import COLUMNS
from kymatui.lists.columns import Cell, Column, pick
from kymatui.settings.config_file import config_path
from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.base.screen_keys import key_for
from kymatui.ui.terminal.plain_widgets import Static, Vertical
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.widgets.row_table import RowTable

_ACTIONS = (
    (("toggle",), "show or hide"),
    (("left", "right"), "move"),
    (("take",), "apply"),
    (("keep",), "apply and save"),
)
_LIST = (Column("shown", "", 3), Column("column", "COLUMN", 12), Column("help", "MEANING", 30, flex=1))


class ColumnsScreen(FirstPaintModal[tuple[str, ...] | None]):
    """Dialog that returns the chosen names, or None without a change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "show_or_hide", "Show or hide", id="columns.toggle", priority=True),
        Binding("less_than_sign,shift+up", "shift(-1)", "Move left", id="columns.left"),
        Binding("greater_than_sign,shift+down", "shift(1)", "Move right", id="columns.right"),
        Binding("enter", "take", "Apply", id="columns.take", priority=True),
        Binding("ctrl+s", "keep", "Apply and save", id="columns.keep", priority=True),
        Binding("escape,q", "dismiss(None)", "Cancel", id="columns.cancel"),
    ]

    def __init__(self, shown: Sequence[str]) -> None:
        super().__init__()
        self._shown = set(shown)
        self._names = [*shown, *(column.id for column in COLUMNS if column.id not in self._shown)]

    def compose(self) -> ComposeResult:
        with Vertical(id="columns-box") as box:
            box.border_title = "Columns"
            box.border_subtitle = "esc cancel"
            yield RowTable(_LIST, id="columns-list")
            yield Static("", id="columns-keys")

    def on_mount(self) -> None:
        self._draw()
        self.set_focus(self._table)
        words = (Content.assemble((" ".join(keys), "bold $accent"), f" {text}") for keys, text in self._keys())
        self.query_one("#columns-keys", Static).update(Content("   ").join(words))

    def _keys(self) -> Iterator[tuple[list[str], str]]:
        """Yield the keys of each action, as the keymap has them."""
        for names, text in _ACTIONS:
            yield [key_for(self, f"columns.{name}") for name in names], text

    @property
    def _table(self) -> RowTable:
        return self.query_one(RowTable)

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(name for name in self._names if name in self._shown)

    def _draw(self) -> None:
        self._table.set_rows(self._row(name) for name in self._names)

    def _row(self, name: str) -> Row:
        shown = name in self._shown
        (column,) = pick(COLUMNS, name)
        cells = {
            "shown": Cell("[x]" if shown else "[ ]", "ready" if shown else "muted"),
            "column": Cell(column.title, "strong" if shown else "muted"),
            "help": Cell(column.help, "muted"),
        }
        return Row(name, cells)

    def action_show_or_hide(self) -> None:
        """Toggle the column; the last column stays."""
        key = self._table.cursor_key
        if key is not None and self._shown != {key}:
            self._shown ^= {key}
            self._draw()

    def action_shift(self, by: int) -> None:
        key = self._table.cursor_key
        index = self._names.index(key) if key is not None else 0
        if key is not None and 0 <= index + by < len(self._names):
            self._names.insert(index + by, self._names.pop(index))
            self._draw()

    def action_take(self) -> None:
        self.dismiss(self.chosen)

    def action_keep(self) -> None:
        """Write the columns to the configuration file and leave all other settings unchanged."""
        from kymatui.settings.option_edit import set_option

        path = config_path(os.environ)
        try:
            set_option(path, "columns", list(self.chosen))
        except KymatuiError as error:
            self.notify(f"{error}. {error.hint}", severity="warning")
            return
        self.notify(f"saved in {path}", timeout=3)
        self.dismiss(self.chosen)
