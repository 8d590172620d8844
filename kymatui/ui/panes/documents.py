"""The objects of the module as YAML, with a search that marks and never hides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from kymatui.domain.refs import ObjectRef
from kymatui.domain.rows import Row
from kymatui.domain.snapshots import Object, Snapshot
from kymatui.ui.panes.pane import Pane
from kymatui.ui.presenters.documents import as_yaml
from kymatui.ui.text import plain
from kymatui.ui.widgets.document import Document


class DocumentsPane(Pane):
    """One object at a time: the module's resources, its template, its Manifest, its manager; and any that was asked
    for from the tree."""

    TITLE: ClassVar[str] = "yaml"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "other(1)", "Next object", id="module.other"),
        Binding("O", "other(-1)", "Object before", show=False, id="module.other-before"),
        Binding("c", "copy", "Copy the YAML", show=False, id="module.copy-yaml"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._row: Row | None = None
        self._asked: ObjectRef | None = None
        self._number = 0
        self._shown = ""

    def compose(self) -> ComposeResult:
        yield Static("", id="yaml-name")
        yield Document(id="yaml")
        yield Static("No object of this module is watched.", id="no-yaml", classes="nothing")

    def target(self) -> Widget:
        return self.query_one(Document)

    @property
    def note(self) -> str:
        return self._shown

    def about(self, ref: ObjectRef) -> None:
        """Shows one object, which need not be among those of the module."""
        self._asked, self._number = ref, 0

    def draw(self, row: Row, snapshot: Snapshot) -> None:
        del snapshot
        self._row = row
        found = list(self._objects(row))
        self.set_class(not found, "-empty")
        if not found:
            self._shown = ""
        else:
            ref, body = found[self._number % len(found)]
            self._shown = f"{self._number % len(found) + 1} of {len(found)}" if len(found) > 1 else ""
            self.query_one("#yaml-name", Static).update(Content(plain(str(ref))))
            self.query_one(Document).show(as_yaml(body))
        self.post_message(self.Noted())

    def _objects(self, row: Row) -> Iterator[tuple[ObjectRef, Object]]:
        resources = (checked.resource for checked in row.checked)
        refs = (self._asked, *resources, row.template, row.manifest, row.manager)
        for ref in dict.fromkeys(ref for ref in refs if ref is not None):
            body = self.kymatui.locations.find(ref)
            if body is not None:
                yield ref, body

    def action_other(self, by: int) -> None:
        self._number += by
        snapshot = self.kymatui.snapshot
        if self._row is not None and snapshot is not None:
            self.draw(self._row, snapshot)

    @property
    def text(self) -> str:
        return "\n".join(self.query_one(Document).lines) + "\n"

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.text)
        self.notify(f"copied {len(self.query_one(Document).lines)} lines", timeout=2)

    def exports(self) -> Mapping[str, Callable[[], str]]:
        return {"yaml": lambda: self.text}
