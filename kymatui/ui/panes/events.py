"""The events of the module's objects, the newest first."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Static

from kymatui.domain.rows import Row
from kymatui.domain.snapshots import Snapshot
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters import events
from kymatui.ui.presenters.tables import Sort
from kymatui.ui.widgets.live_table import LiveTable


class EventsPane(Pane):
    """They are followed while the module's screen is open."""

    TITLE: ClassVar[str] = "events"

    def compose(self) -> ComposeResult:
        yield LiveTable(events.COLUMNS, id="events", sort=Sort("age"))
        yield Static("", id="no-events", classes="nothing")

    def target(self) -> Widget:
        return self.query_one(LiveTable)

    def draw(self, row: Row, snapshot: Snapshot) -> None:
        self.query_one(LiveTable).show(events.event_lines(row, snapshot, self.kymatui.clock()))
        self.set_class(not self.query_one(LiveTable).everything, "-empty")
        self.query_one("#no-events", Static).update(events.why_none(row, snapshot))
