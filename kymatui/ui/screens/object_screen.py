"""One object of a list or tree, opened from its line, as YAML or described; Escape returns to that line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from msgspec.structs import replace
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.actions.describe import describe_object
from kymatui.domain.catalog.module_events import events_about
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.objects.description import Description
from kymatui.domain.objects.description_text import describe_lines
from kymatui.domain.snapshot.missing_lists import explain_missing
from kymatui.domain.snapshot.snapshots import EVENTS, Snapshot, namespaced_feed
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.navigation.history import DESCRIBE, YAML, ScreenStep, object_step
from kymatui.ui.panes.object_view import ObjectView, ReadingView
from kymatui.ui.terminal.file_saving import as_file_name
from kymatui.ui.terminal.plain_widgets import Box
from kymatui.ui.widgets.document import Document


class ObjectScreen(FramedScreen):
    """Screen that follows a watched object; ctrl-r reads an unwatched object again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "view('yaml')", "YAML", id="object.yaml"),
        Binding("d", "view('describe')", "Describe", id="object.describe"),
        Binding("c", "copy", "Copy text", id="object.copy"),
        Binding("l", "open('object-logs')", "Logs of its Pods", show=False, id="object.logs"),
    ]

    name_in_help: ClassVar[str] = "Object"

    def __init__(self, ref: ObjectRef, tab: str = "") -> None:
        super().__init__()
        self.ref = ref
        self._tab = tab or YAML

    @property
    def step(self) -> ScreenStep:
        return replace(object_step(self.ref), tab=self._tab)

    def body(self) -> ComposeResult:
        with Box(id="object-views"):
            yield self._new_view(self._tab)

    def _new_view(self, tab: str) -> ObjectView | DescriptionView:
        return DescriptionView(self.ref, id=DESCRIBE) if tab == DESCRIBE else ObjectView(id=f"{YAML}-view")

    def on_mount(self) -> None:
        super().on_mount()
        self.show_catalog()
        self.set_focus(self.main_widget())

    def main_widget(self) -> Document:
        return self._view.document

    @property
    def _view(self) -> ObjectView | DescriptionView:
        return self.query_one(DescriptionView) if self._tab == DESCRIBE else self.query_one(ObjectView)

    def show_catalog(self) -> None:
        if self.kymatui.view.snapshot is None or not self.query(Document):
            return
        if self._tab == DESCRIBE:
            self.query_one(DescriptionView).draw()
        else:
            self.query_one(ObjectView).show(self.ref)

    async def show_tab(self, tab: str) -> None:
        """Display the object as YAML, or described."""
        self._tab = tab or YAML
        view_class, other = (DescriptionView, ObjectView) if self._tab == DESCRIBE else (ObjectView, DescriptionView)
        if not self.query(view_class):
            await self.query_one("#object-views").mount(self._new_view(self._tab))
        self.query_one(view_class).display = True
        for view in self.query(other):
            view.display = False
        self.show_catalog()
        self.set_focus(self.main_widget())

    async def action_view(self, tab: str) -> None:
        await self.show_tab(tab)
        self.kymatui.ways.visits.turn(tab)

    def ask_again(self) -> None:
        self._view.ask_again()

    @on(Document.Moved)
    def _show_search(self) -> None:
        document = self.main_widget()
        self._view.note(f"/{document.filter_text}  {document.place}" if document.filter_text else "")

    def exports(self) -> Mapping[str, Callable[[], str]]:
        return {"txt" if self._tab == DESCRIBE else "yaml": lambda: self.main_widget().text, **super().exports()}

    async def action_save(self) -> None:
        await self.command_line.open_command(
            f"save {as_file_name(self.ref.name)}.{'txt' if self._tab == DESCRIBE else 'yaml'}"
        )

    def action_copy(self) -> None:
        self.main_widget().copy()


# One object described: conditions, events, owners, field managers and references that do not resolve.


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
        description = await self._read_in_thread(lambda session: describe_object(session.read, self._ref))
        if description is not None:
            self._found = description
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        app, description, ref = self.kymatui, self._found, self._ref
        self._draw_head(ref, has_body=description is not None)
        if description is not None and app.view.snapshot is not None:
            complete = with_events(description, ref, app.view.snapshot)
            self.document.show("\n".join(describe_lines(complete, app.clock())))


def with_events(description: Description, ref: ObjectRef, snapshot: Snapshot) -> Description:
    """Return the description with the events of the object, or why they are unknown."""
    feed = namespaced_feed(EVENTS, ref.namespace or _CLUSTER_EVENTS)
    gap = explain_missing(snapshot.feeds, [feed])
    unknown = str(gap) if gap is not None else "" if feed in snapshot.feeds else "loading"
    events = tuple(event for event, _ in events_about(snapshot, [ref]))
    return replace(description, events=events, events_unknown="" if events else unknown)
