"""All channels side by side: a column a channel, a line a module."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.ui.navigation import Step
from kymatui.ui.presenters.matrix import columns, rows
from kymatui.ui.presenters.tables import Sort
from kymatui.ui.screens.listing import ListScreen
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class MatrixScreen(ListScreen):
    """Which version each channel has, and how far it lies from the Kyma's own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "differences", "Only differences", id="channels.differences"),
    ]

    name_in_help: ClassVar[str] = "Channels"

    def __init__(self) -> None:
        super().__init__()
        self._only_differences = False
        self._channels: tuple[str, ...] | None = None

    @property
    def step(self) -> Step:
        return Step("channels")

    def body(self) -> ComposeResult:
        yield LiveTable(id="matrix", sort=Sort(), copied="name")

    def show_catalog(self) -> None:
        catalog = self.kymatui.catalog
        if catalog is None or not self.query(LiveTable):
            return
        found, lines = rows(catalog, only_differences=self._only_differences)
        table = self.main_widget()
        if found.channels != self._channels:
            self._channels = found.channels
            table.set_columns(columns(found))
        table.show(lines)

    def action_differences(self) -> None:
        self._only_differences = not self._only_differences
        self.show_catalog()

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.open_module(event.key, "versions")
