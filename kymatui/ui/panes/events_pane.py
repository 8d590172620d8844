"""Events of the module's objects, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.widget import Widget

from kymatui.domain.catalog.module_events import module_objects
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters.module import event_rows
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable


class EventsPane(Pane):
    """Tab whose events are followed while the module screen is open."""

    TITLE: ClassVar[str] = "events"

    LISTS_OBJECTS: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._refs: Mapping[str, ObjectRef] = {}

    def compose(self) -> ComposeResult:
        yield LiveTable(event_rows.COLUMNS, id="events", sort=SortOrder("age"))
        yield Static("", id="no-events", classes="nothing")

    def target(self) -> Widget:
        return self.query_one(LiveTable)

    def followed_objects(self, row: ModuleRow) -> FollowedObjects:
        """Return the module's objects in both groups, since their Pods and ReplicaSets have events too."""
        about = module_objects(row)
        return FollowedObjects(about, about)

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        app = self.kymatui
        self._refs = event_rows.event_subjects(row, snapshot, app.view.locations)
        self.query_one(LiveTable).show(
            event_rows.event_lines(row, snapshot, app.clock(), app.view.locations, app.only_namespace)
        )
        self.set_class(not self.query_one(LiveTable).everything, "-empty")
        self.query_one("#no-events", Static).update(event_rows.why_no_events(row, snapshot, app.only_namespace))

    def entry(self) -> ObjectRef | None:
        return self._refs.get(self.query_one(LiveTable).cursor_key or "")

    @on(RowTable.Chosen)
    def _chosen(self) -> None:
        self.open_entry()
