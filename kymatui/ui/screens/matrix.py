"""All channels side by side: a column a channel, a line a module."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from kymatui.ui.presenters.matrix import columns, rows
from kymatui.ui.screens.framed import FramedScreen
from kymatui.ui.widgets.row_table import RowTable


class MatrixScreen(FramedScreen):
    """Which version each channel has, and how far it lies from the Kyma's own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "differences", "Only differences", id="matrix.differences"),
    ]

    name_in_help: ClassVar[str] = "Channels"

    def __init__(self) -> None:
        super().__init__()
        self._only_differences = False
        self._channels: tuple[str, ...] | None = None

    @property
    def trail(self) -> tuple[str, ...]:
        return ("modules", "channels")

    def body(self) -> ComposeResult:
        yield RowTable(id="matrix")

    def on_mount(self) -> None:
        super().on_mount()
        self.show_catalog()
        self.main_widget().focus()

    def main_widget(self) -> Widget:
        return self.query_one(RowTable)

    def show_catalog(self) -> None:
        catalog = self.kymatui.catalog
        if catalog is None or not self.query(RowTable):
            return
        found, lines = rows(catalog, only_differences=self._only_differences)
        table = self.query_one(RowTable)
        if found.channels != self._channels:
            self._channels = found.channels
            table.set_columns(columns(found))
        table.set_rows(lines)

    def action_differences(self) -> None:
        self._only_differences = not self._only_differences
        self.show_catalog()

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        from kymatui.ui.screens.module import ModuleScreen

        self.app.push_screen(ModuleScreen(event.key, 2))
