"""The events of the module's objects, the newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Static

from kymatui.domain.events import module_objects
from kymatui.domain.refs import ObjectRef
from kymatui.domain.rows import Row
from kymatui.domain.snapshots import Snapshot
from kymatui.ui.link import Looks
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters import events
from kymatui.ui.presenters.tables import Sort
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class EventsPane(Pane):
    """They are followed while the module's screen is open."""

    TITLE: ClassVar[str] = "events"

    LISTS_OBJECTS: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._refs: Mapping[str, ObjectRef] = {}

    def compose(self) -> ComposeResult:
        yield LiveTable(events.COLUMNS, id="events", sort=Sort("age"))
        yield Static("", id="no-events", classes="nothing")

    def target(self) -> Widget:
        return self.query_one(LiveTable)

    def looks(self, row: Row) -> Looks:
        """Return the module's objects twice: their Pods and ReplicaSets have events, too."""
        about = module_objects(row)
        return Looks(about, about)

    def draw(self, row: Row, snapshot: Snapshot) -> None:
        app = self.kymatui
        self._refs = events.subjects(row, snapshot, app.locations)
        self.query_one(LiveTable).show(events.event_lines(row, snapshot, app.clock(), app.locations))
        self.set_class(not self.query_one(LiveTable).everything, "-empty")
        self.query_one("#no-events", Static).update(events.why_none(row, snapshot))

    def entry(self) -> ObjectRef | None:
        return self._refs.get(self.query_one(LiveTable).cursor_key or "")

    @on(RowTable.Chosen)
    def _chosen(self) -> None:
        self.open_entry()
