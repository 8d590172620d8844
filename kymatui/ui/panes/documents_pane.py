"""Objects of the module as YAML, with a search that marks and never hides lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.ui.panes.object_view import ObjectView
from kymatui.ui.panes.pane import Pane
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.widgets.document import Document


class DocumentsPane(Pane):
    """Tab with one object at a time: module CRs, template, Manifest, manager."""

    TITLE: ClassVar[str] = "yaml"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("full_stop", "other(1)", "Next object", id="module.other"),
        Binding("comma", "other(-1)", "Previous object", show=False, id="module.other-before"),
        Binding("c", "copy", "Copy YAML", show=False, id="module.copy-yaml"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._refs: tuple[ObjectRef, ...] = ()
        self._chosen: ObjectRef | None = None

    def compose(self) -> ComposeResult:
        yield ObjectView(id="yaml-view")
        yield Static("No objects of this module found.", id="no-yaml", classes="nothing")

    def target(self) -> Widget:
        return self.query_one(Document)

    @property
    def note(self) -> str:
        if self._chosen is None or len(self._refs) < 2:
            return ""
        return f"{self._refs.index(self._chosen) + 1} of {len(self._refs)}"

    def draw(self, row: ModuleRow, snapshot: Snapshot) -> None:
        del snapshot
        resources = (checked.resource for checked in row.checked)
        found = [ref for ref in (*resources, row.template, row.manifest, row.manager) if ref is not None]
        if self._chosen is not None and self._chosen not in found:
            found.insert(0, self._chosen)  # a deleted object is not replaced by another
        self._refs = tuple(dict.fromkeys(found))
        self._show(self._chosen or (found[0] if found else None))

    def _show(self, ref: ObjectRef | None) -> None:
        self._chosen = ref
        self.set_class(ref is None, "-empty")
        if ref is not None:
            self.query_one(ObjectView).show(ref)
        self.post_message(self.Noted())

    def ask_again(self) -> None:
        self.query_one(ObjectView).ask_again()

    def action_other(self, by: int) -> None:
        if self._chosen is not None:
            self._show(self._refs[(self._refs.index(self._chosen) + by) % len(self._refs)])

    def action_copy(self) -> None:
        self.query_one(ObjectView).copy()

    def exports(self) -> Mapping[str, Callable[[], str]]:
        return {"yaml": lambda: self.query_one(ObjectView).text}
