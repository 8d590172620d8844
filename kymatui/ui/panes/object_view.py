"""One object as YAML: the watched copy, or the server's copy if the watch has only a part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar, cast

from textual import work
from textual.app import ComposeResult
from textual.content import Content

from kymatui.actions.session import Session
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.snapshot.snapshots import Object
from kymatui.errors import DefectError, KymatuiError, UnreachableError
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.presenters.module.yaml_documents import DocumentReading, as_yaml, reading_line, reading_of
from kymatui.ui.terminal.plain_widgets import Static, Vertical, with_tone
from kymatui.ui.widgets.document import Document

T = TypeVar("T")


class ReadingView(Vertical):
    """A document of one object that is read in a worker, below its name and when it was read."""

    KIND: ClassVar[str]
    """The id of the document, and the start of the others."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._reading = DocumentReading.LOADING
        self._error = ""
        self._at = 0.0
        self._note = ""

    def compose(self) -> ComposeResult:
        yield Static("", id=f"{self.KIND}-name", classes="object-name")
        yield Static("", id=f"{self.KIND}-state", classes="object-state")
        yield Document(id=self.KIND)

    @property
    def kymatui(self) -> FlowApp:
        return cast("FlowApp", self.app)

    @property
    def document(self) -> Document:
        return self.query_one(Document)

    def note(self, text: str) -> None:
        """Display a note after the name of the object."""
        self._note = text
        self._draw()

    def _draw(self) -> None:
        raise NotImplementedError

    async def _read_in_thread(self, read: Callable[[Session], T]) -> T | None:
        """Return what is read; None, and why, where that fails."""
        app, error = self.kymatui, None
        try:
            session = app.view.session
            if session is None:
                raise UnreachableError("not connected to the cluster yet")
            value = await app.jobs.in_thread(lambda: read(session))
            self._reading, self._error, self._at = DocumentReading.READ, "", app.clock()
            return value
        except KymatuiError as failure:
            error = failure
        except Exception as failure:  # noqa: BLE001 (else the view would load for ever)
            error = DefectError(failure)
        self._reading, self._error = reading_of(error), str(error)
        return None

    def _draw_head(self, ref: ObjectRef, *, has_body: bool) -> None:
        is_secret = (ref.kind.group, ref.kind.kind) == ("", "Secret")
        line, tone = reading_line(self._reading, self._error, at=self._at, has_body=has_body, is_secret=is_secret)
        self.query_one(f"#{self.KIND}-name", Static).update(Content(sanitize(f"{ref}   {self._note}".rstrip())))
        self.query_one(f"#{self.KIND}-state", Static).update(with_tone(line, tone))


class ObjectView(ReadingView):
    """View that reads in a worker, again on each watched change; it never displays another object."""

    KIND = "yaml"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._ref: ObjectRef | None = None
        self._body: Object | None = None
        self._asked: tuple[ObjectRef, str] | None = None  # the last object read, and its resourceVersion
        self._asking: ObjectRef | None = None
        self._drawn: Object | None = None

    def show(self, ref: ObjectRef) -> None:
        """Display an object, or refresh the same object."""
        if ref != self._ref:
            self._ref, self._body, self._asked = ref, None, None
            self._reading, self._error = DocumentReading.LOADING, ""
        locations, now = self.kymatui.view.locations, self.kymatui.clock()
        body = locations.whole(ref)
        if body is not None:
            self._body, self._reading, self._at, self._asked = body, DocumentReading.WATCHED, now, None
        else:
            part = locations.find(ref)
            version = JsonReader(part).child("metadata").text("resourceVersion") if part is not None else ""
            if self._asked != (ref, version) and self._asking != ref:
                self._asked, self._asking = (ref, version), ref
                self._read(ref)
        self._draw()

    def ask_again(self) -> None:
        """Read the object again."""
        self._asked = None
        if self._ref is not None:
            self.show(self._ref)

    @work(exclusive=True, group="object", exit_on_error=False)
    async def _read(self, ref: ObjectRef) -> None:
        """Read in a thread; a request for another object cancels it."""
        body = await self._read_in_thread(lambda session: session.read(ref))
        self._asking = None
        if body is not None:
            self._body = body
        if self.is_mounted:
            self.show(ref)

    def _draw(self) -> None:
        ref, body = self._ref, self._body
        if ref is None or not self.query(Document):
            return
        self._draw_head(ref, has_body=body is not None)
        if body is None or body is not self._drawn:  # a large CRD takes a quarter of a second
            self.document.show(as_yaml(body) if body is not None else "")
            self._drawn = body
