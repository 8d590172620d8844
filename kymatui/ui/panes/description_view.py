"""One object described: conditions, events, owners, field managers and references that do not resolve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import work

from kymatui.actions.describe import describe_object
from kymatui.domain.catalog.module_events import events_about
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.objects.description import Description
from kymatui.domain.objects.description_text import describe_lines
from kymatui.domain.snapshot.missing_lists import explain_missing
from kymatui.domain.snapshot.snapshots import EVENTS, Snapshot, namespaced_feed
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.panes.object_view import ReadingView
from kymatui.ui.presenters.module.yaml_documents import DocumentReading
from kymatui.ui.widgets.document import Document

if TYPE_CHECKING:
    pass

_CLUSTER_EVENTS = "default"  # the namespace of events about objects that have none


class DescriptionView(ReadingView):
    """View that reads the object and what it refers to in a worker, again when the object changes."""

    KIND = "describe"

    def __init__(self, ref: ObjectRef, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ref = ref
        self._found: Description | None = None
        self._asked: str | None = None  # the resourceVersion that was last read

    def draw(self) -> None:
        """Display what is known, and read the object again if it changed."""
        if not self.query(Document):
            return
        self.kymatui.view.follow(self, FollowedObjects(events=(self._ref,)))
        watched = self.kymatui.view.locations.find(self._ref)
        version = JsonReader(watched).child("metadata").text("resourceVersion")
        if self._asked != version:
            self._asked = version
            self._read()
        self._draw()

    def on_unmount(self) -> None:
        self.kymatui.view.follow(self, FollowedObjects())

    def ask_again(self) -> None:
        """Read the object and its references again."""
        self._asked = None
        self.draw()

    @work(exclusive=True, group="describe", exit_on_error=False)
    async def _read(self) -> None:
        found = await self._read_in_thread(lambda session: describe_object(session.read, self._ref))
        if found is not None:
            self._found, self._reading, self._error, self._at = found, DocumentReading.READ, "", self.kymatui.clock()
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        app, found, ref = self.kymatui, self._found, self._ref
        self._draw_head(ref, has_body=found is not None)
        if found is not None and app.view.snapshot is not None:
            whole = with_events(found, ref, app.view.snapshot)
            self.document.show("\n".join(describe_lines(whole, app.clock())))


def with_events(found: Description, ref: ObjectRef, snapshot: Snapshot) -> Description:
    """Return the description with the events of the object, or why they are unknown."""
    feed = namespaced_feed(EVENTS, ref.namespace or _CLUSTER_EVENTS)
    gap = explain_missing(snapshot.feeds, [feed])
    unknown = str(gap) if gap is not None else "" if feed in snapshot.feeds else "loading"
    events = tuple(event for event, _ in events_about(snapshot, [ref]))
    return replace(found, events=events, events_unknown="" if events else unknown)
