"""One object of a list or tree, opened from its line, as YAML or described; Escape returns to that line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.navigation.history import DESCRIBE, YAML, ScreenStep, object_step
from kymatui.ui.panes.description_view import DescriptionView
from kymatui.ui.panes.object_view import ObjectView
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
        wanted, other = (DescriptionView, ObjectView) if self._tab == DESCRIBE else (ObjectView, DescriptionView)
        if not self.query(wanted):
            await self.query_one("#object-views").mount(self._new_view(self._tab))
        self.query_one(wanted).display = True
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
        found = self.main_widget()
        self._view.note(f"/{found.filter_text}  {found.place}" if found.filter_text else "")

    def _text(self) -> str:
        return "\n".join(self.main_widget().lines) + "\n"

    def exports(self) -> Mapping[str, Callable[[], str]]:
        return {"txt" if self._tab == DESCRIBE else "yaml": self._text, **super().exports()}

    async def action_save(self) -> None:
        await self.command_line.open_command(
            f"save {as_file_name(self.ref.name)}.{'txt' if self._tab == DESCRIBE else 'yaml'}"
        )

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text())
        self.notify(f"copied {format_count(len(self.main_widget().lines), 'line')}", timeout=2)
