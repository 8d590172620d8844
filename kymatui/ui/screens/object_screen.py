"""One object of a list or tree, opened from its line; Escape returns to that line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.navigation.history import ScreenStep, object_step
from kymatui.ui.panes.object_view import ObjectView
from kymatui.ui.widgets.document import Document


class ObjectScreen(FramedScreen):
    """Screen that follows a watched object; ctrl-r reads an unwatched object again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy YAML", id="object.copy"),
        Binding("l", "open('logs')", "Logs of its Pods", show=False, id="object.logs"),
    ]

    name_in_help: ClassVar[str] = "Object"

    def __init__(self, ref: ObjectRef) -> None:
        super().__init__()
        self.ref = ref

    @property
    def step(self) -> ScreenStep:
        return object_step(self.ref)

    def body(self) -> ComposeResult:
        yield ObjectView()

    def on_mount(self) -> None:
        super().on_mount()
        self.show_catalog()
        self.main_widget().focus()

    def main_widget(self) -> Document:
        return self.query_one(Document)

    def show_catalog(self) -> None:
        if self.kymatui.snapshot is not None and self.query(Document):
            self.query_one(ObjectView).show(self.ref)

    def ask_again(self) -> None:
        self.query_one(ObjectView).ask_again()

    @on(Document.Moved)
    def _show_search(self) -> None:
        found = self.main_widget()
        self.query_one(ObjectView).note(f"/{found.filter_text}  {found.place}" if found.filter_text else "")

    def exports(self) -> Mapping[str, Callable[[], str]]:
        return {"yaml": lambda: self.query_one(ObjectView).text, **super().exports()}

    async def action_save(self) -> None:
        await self.command_line.open_command(f"save {self.ref.name}.yaml")

    def action_copy(self) -> None:
        self.query_one(ObjectView).copy()
