"""What changed in all modules while kymatui was open."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from kymatui.ui.navigation import Step
from kymatui.ui.presenters.changes import COLUMNS, change_rows, change_words
from kymatui.ui.presenters.tables import Sort
from kymatui.ui.screens.listing import ListScreen
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.sentence import Sentence


class ChangesScreen(ListScreen):
    """The newest first."""

    name_in_help: ClassVar[str] = "Changes"

    @property
    def step(self) -> Step:
        return Step("changes")

    def body(self) -> ComposeResult:
        yield LiveTable(COLUMNS, id="changes-list", sort=Sort("time", descending=True))
        yield Static(Content("Nothing changed since kymatui was opened."), id="nothing", classes="nothing")
        yield Sentence(id="reason")

    def show_catalog(self) -> None:
        if not self.query(LiveTable):
            return
        app = self.kymatui
        happenings = app.history.happenings if app.history is not None else ()
        self.main_widget().show(change_rows(happenings, app.clock()))
        self.set_class(not happenings, "-empty")

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        self.query_one(Sentence).say(Content(change_words(self.main_widget().current)))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.open_module(event.key.partition("\0")[0], "history")
