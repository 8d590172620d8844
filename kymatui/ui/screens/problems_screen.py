"""All current problems, listed until they are solved, since a toast is easy to miss."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.navigation.history import LOGS, ScreenStep, object_step
from kymatui.ui.presenters.catalog.problem_rows import (
    COLUMNS,
    lost_server_row,
    problem_line,
    problem_of,
    problem_rows,
    summarize_problems,
)
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine


class ProblemsScreen(ListScreen):
    """Problems of the catalog and of the connection, worst first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l", "logs", "Logs of the module's manager", show=False, id="problems.logs")
    ]

    KIND = "problems"
    name_in_help: ClassVar[str] = "Problems"

    def body(self) -> ComposeResult:
        yield Static("", id="counts", classes="counts")
        yield LiveTable(COLUMNS, id="problems", sort=SortOrder("severity"))
        yield StatusLine(id="reason")

    def show_catalog(self) -> None:
        if self.query(LiveTable):
            catalog, failure = self.kymatui.catalog, self.kymatui.view.failure
            only = self.kymatui.only_namespace
            lost = [lost_server_row(failure)] if catalog is None and failure is not None else []
            self.main_widget().show(lost or problem_rows(catalog, only))
            self.query_one("#counts", Static).update(
                Content("No connection" if lost else summarize_problems(catalog, only))
            )

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        """Display the whole text of the problem, which the table may clip."""
        row = self.main_widget().current
        self.query_one(StatusLine).show(Content(problem_line(row) if row is not None else ""))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        """Open the object that the problem names, else its module."""
        problem = problem_of(self.kymatui.catalog, event.key)
        if problem is not None and problem.ref is not None:
            self.kymatui.ways.open(object_step(problem.ref))
        else:
            self.open_module(problem.module if problem is not None else "", "overview")

    def action_logs(self) -> None:
        problem = problem_of(self.kymatui.catalog, self.main_widget().cursor_key or "")
        if problem is not None and problem.module:
            self.kymatui.ways.open(ScreenStep(LOGS, problem.module))
        else:
            self.notify("this line has no module", timeout=3)
