"""Changes of all modules: since kymatui started, and what the cluster recorded before."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content

from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.presenters.catalog.change_rows import COLUMNS, change_rows, format_change, why_no_changes
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine


class ChangesScreen(ListScreen):
    """Table of changes, newest first."""

    KIND = "changes"
    name_in_help: ClassVar[str] = "Changes"

    def body(self) -> ComposeResult:
        yield LiveTable(COLUMNS, id="changes-list", sort=SortOrder("time", descending=True))
        yield Static("", id="nothing", classes="nothing")
        yield StatusLine(id="reason")

    def show_catalog(self) -> None:
        if not self.query(LiveTable):
            return
        app = self.kymatui
        changes = app.view.history.known if app.view.history is not None else ()
        self.main_widget().show(change_rows(changes, app.clock()))
        self.query_one("#nothing", Static).update(why_no_changes(app.view.history))
        self.set_class(not changes, "-empty")

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        self.query_one(StatusLine).show(Content(format_change(self.main_widget().current)))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.open_module(event.key.partition("\0")[0], "history")
