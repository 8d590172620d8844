"""One object described: conditions, events, owners, field managers and references that do not resolve."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from kymatui.actions.describe import describe_object
from kymatui.domain.catalog.module_events import events_about
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.objects.description import Description
from kymatui.domain.objects.description_text import describe_lines
from kymatui.domain.snapshot.missing_lists import explain_missing
from kymatui.domain.snapshot.snapshots import EVENTS, Snapshot, namespaced_feed
from kymatui.errors import DefectError, KymatuiError, UnreachableError
from kymatui.first_use import replace
from kymatui.ui.connection.cluster_link import FollowedObjects
from kymatui.ui.presenters.module.yaml_documents import DocumentReading, reading_line, reading_of
from kymatui.ui.widgets.document import Document
from kymatui.ui.widgets.tone_styles import with_tone

if TYPE_CHECKING:
    from kymatui.ui.flows.flow_app import FlowApp

_CLUSTER_EVENTS = "default"  # the namespace of events about objects that have none


class DescriptionView(Vertical):
    """View that reads the object and what it refers to in a worker, again when the object changes."""

    def __init__(self, ref: ObjectRef, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ref = ref
        self._found: Description | None = None
        self._reading = DocumentReading.LOADING
        self._error = ""
        self._at = 0.0
        self._asked: str | None = None  # the resourceVersion that was last read
        self._note = ""

    def compose(self) -> ComposeResult:
        yield Static("", id="describe-name", classes="object-name")
        yield Static("", id="describe-state", classes="object-state")
        yield Document(id="describe")

    @property
    def kymatui(self) -> FlowApp:
        return cast("FlowApp", self.app)

    @property
    def document(self) -> Document:
        return self.query_one(Document)

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

    def note(self, text: str) -> None:
        """Display a note after the name of the object."""
        self._note = text
        self._draw()

    @work(exclusive=True, group="describe", exit_on_error=False)
    async def _read(self) -> None:
        app, error = self.kymatui, None
        try:
            session = app.view.session
            if session is None:
                raise UnreachableError("not connected to the cluster yet")
            self._found = await app.jobs.in_thread(lambda: describe_object(session.read, self._ref))
            self._reading, self._error, self._at = DocumentReading.READ, "", app.clock()
        except KymatuiError as failure:
            error = failure
        except Exception as failure:  # noqa: BLE001 (else the view would load for ever)
            error = DefectError(failure)
        if error is not None:
            self._reading, self._error = reading_of(error), str(error)
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        app, found, ref = self.kymatui, self._found, self._ref
        is_secret = (ref.kind.group, ref.kind.kind) == ("", "Secret")
        line, tone = reading_line(
            self._reading, self._error, at=self._at, has_body=found is not None, is_secret=is_secret
        )
        self.query_one("#describe-name", Static).update(Content(sanitize(f"{ref}   {self._note}".rstrip())))
        self.query_one("#describe-state", Static).update(with_tone(line, tone))
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
