"""All channels side by side: a column per channel, a line per module."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.presenters.catalog.channel_matrix import channel_columns, channel_rows
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class ChannelMatrixScreen(ListScreen):
    """Matrix of versions by channel, with the distance from the Kyma's own channel."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "differences", "Show only differences", id="channels.differences"),
    ]

    name_in_help: ClassVar[str] = "Channels"

    def __init__(self) -> None:
        super().__init__()
        self._only_differences = False
        self._channels: tuple[str, ...] | None = None

    @property
    def step(self) -> ScreenStep:
        return ScreenStep("channels")

    def body(self) -> ComposeResult:
        yield LiveTable(id="matrix", sort=SortOrder(), copied="name")

    def show_catalog(self) -> None:
        catalog = self.kymatui.catalog
        if catalog is None or not self.query(LiveTable):
            return
        matrix, lines = channel_rows(catalog, only_differences=self._only_differences)
        table = self.main_widget()
        if matrix.channels != self._channels:
            self._channels = matrix.channels
            table.set_columns(channel_columns(matrix))
        table.show(lines)

    def action_differences(self) -> None:
        self._only_differences = not self._only_differences
        self.show_catalog()

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.open_module(event.key, "versions")
