"""Everything that is wrong, kept until it is gone: a toast is easy to miss."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from kymatui.ui.presenters.problems import COLUMNS, problem_rows
from kymatui.ui.screens.framed import FramedScreen
from kymatui.ui.widgets.row_table import RowTable


class ProblemsScreen(FramedScreen):
    """Problems of the catalog, of its feeds, and of what was typed, the worst first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy", id="problems.copy"),
    ]

    name_in_help: ClassVar[str] = "Problems"

    @property
    def trail(self) -> tuple[str, ...]:
        return ("modules", "problems")

    def body(self) -> ComposeResult:
        yield RowTable(COLUMNS, id="problems")
        yield Static("", id="reason")

    def on_mount(self) -> None:
        super().on_mount()
        self.show_catalog()
        self.main_widget().focus()

    def main_widget(self) -> Widget:
        return self.query_one(RowTable)

    def show_catalog(self) -> None:
        if self.query(RowTable):
            app = self.kymatui
            self.query_one(RowTable).set_rows(problem_rows(app.catalog, app.snapshot, app.problems))

    def action_copy(self) -> None:
        table = self.query_one(RowTable)
        found = next((row for row in table.rows if row.key == table.cursor_key), None)
        if found is not None:
            self.app.copy_to_clipboard("\t".join(cell.text for cell in found.cells.values()))
            self.notify("copied", timeout=2)

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        """The whole text of the problem under the cursor: in the table it is often cut."""
        key = self.query_one(RowTable).cursor_key or ""
        self.query_one("#reason", Static).update(Content(key.rpartition("\0")[2]))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        module = event.key.partition("\0")[0]
        if self.kymatui.catalog is not None and self.kymatui.catalog.row(module) is not None:
            from kymatui.ui.screens.module import ModuleScreen

            self.app.push_screen(ModuleScreen(module))
