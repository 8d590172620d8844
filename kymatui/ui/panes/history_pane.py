"""Changes of the module since kymatui started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget

from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters.catalog.change_rows import MODULE_COLUMNS, change_rows, change_subjects, format_change
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class HistoryPane(Pane):
    """Tab with the changes, newest first."""

    TITLE: ClassVar[str] = "history"

    LISTS_OBJECTS: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._refs: Mapping[str, ObjectRef] = {}

    def compose(self) -> ComposeResult:
        yield LiveTable(MODULE_COLUMNS, id="history", sort=SortOrder("time", descending=True))
        yield Static(Content("No changes since kymatui started."), id="no-history", classes="nothing")
        yield Static("", id="history-words")

    def target(self) -> Widget:
        return self.query_one(LiveTable)

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        del snapshot
        app = self.kymatui
        changes = app.view.history.of(row.name) if app.view.history is not None else ()
        self._refs = change_subjects(changes)
        self.query_one(LiveTable).show(change_rows(changes, app.clock()))
        self.set_class(not changes, "-empty")

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        self.query_one("#history-words", Static).update(Content(format_change(self.query_one(LiveTable).current)))

    def entry(self) -> ObjectRef | None:
        return self._refs.get(self.query_one(LiveTable).cursor_key or "")

    @on(RowTable.Chosen)
    def _chosen(self) -> None:
        self.open_entry()
