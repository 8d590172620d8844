"""Three lists over a fleet: versions of modules, pending actions, and changes of the last hour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, recent_changes
from kymatui.domain.fleet.pending_actions import pending_actions
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.snapshot.missing_lists import UnknownFact
from kymatui.lists.columns import Column
from kymatui.lists.fleet import WAIT_COLUMNS
from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.flows.flow_app import FleetPart, fleet_catalogs
from kymatui.ui.navigation.history import CONTEXT_MATRIX, FLEET_PROBLEMS
from kymatui.ui.presenters.fleet import fleet_reports
from kymatui.ui.presenters.fleet.fleet_reports import MatrixCursor
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from kymatui.ui.connection.fleet_view import FleetReading


class FleetListScreen(FleetPart, ListScreen):
    """Table over the whole fleet; subclasses return its columns, its rows and the notice if empty."""

    COLUMNS: ClassVar[tuple[Column, ...]] = ()
    SORT: ClassVar[SortOrder | None] = None
    EMPTY: ClassVar[str] = ""

    def body(self) -> ComposeResult:
        columns = [
            replace(column, title=self.fleet_app.subject.upper()) if column.id == "runtime" else column
            for column in self.COLUMNS
        ]
        yield LiveTable(columns, id="fleet-list", sort=self.SORT, copied="runtime")
        yield Static(Content(self.EMPTY), id="nothing", classes="nothing")
        yield StatusLine(id="reason")

    def show_catalog(self) -> None:
        reading = self.fleet_app.fleet
        if reading is None or not self.query(LiveTable):
            return
        rows = self.lines(reading)
        self.main_widget().show(rows)
        self.set_class(not rows, "-empty")
        self.query_one("#nothing", Static).update(Content(sanitize(self.empty(reading.picture))))
        self.show_details()

    def empty(self, picture: FleetSnapshot) -> str:
        """Return why there are no lines: nothing to list, or the source lists are missing."""
        missing = [f"{what}: {why}" for what, why in self.needs(picture) if why is not None]
        return "; ".join(missing) or self.EMPTY

    def needs(self, picture: FleetSnapshot) -> Iterator[tuple[str, UnknownFact | None]]:
        """Yield the sources of the lines, and why a source is unknown."""
        yield "Runtimes", picture.unknown_runtimes

    def lines(self, reading: FleetReading) -> Sequence[Row]:
        raise AssertionError(f"{type(self).__name__} has no lines")

    def status_text(self, row: Row) -> str:
        """Return the whole text of one line, which the table may clip."""
        raise AssertionError(f"{type(self).__name__} has no status text")

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        self.show_details()

    def show_details(self) -> None:
        """Display the details of the line under the cursor."""
        row = self.main_widget().current
        self.query_one(StatusLine).show(Content(self.status_text(row) if row is not None else ""))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.opened(event.key)

    def opened(self, row_key: str) -> None:
        """Open the runtime of a line if it still exists, with its module under the cursor."""
        app, key = self.fleet_app, split_name(fleet_reports.runtime_of(row_key))
        if app.fleet is not None and key in app.fleet.picture.runtimes:
            app.look_at(key, fleet_reports.module_of(row_key))


class WaitingScreen(FleetListScreen):
    """Pending actions, with who must act."""

    COLUMNS = WAIT_COLUMNS
    SORT = SortOrder("state")
    EMPTY = "Nothing is waiting: all modules of all runtimes are ready."
    KIND = "waits"
    name_in_help: ClassVar[str] = "Waiting"

    def needs(self, picture: FleetSnapshot) -> Iterator[tuple[str, UnknownFact | None]]:
        yield from super().needs(picture)
        yield "Manifests", picture.unknown_manifests

    def status_text(self, row: Row) -> str:
        return fleet_reports.format_wait(row)

    def lines(self, reading: FleetReading) -> Sequence[Row]:
        return fleet_reports.wait_rows(
            pending_actions(reading.picture, fleet_catalogs(self.fleet_app)), self.kymatui.clock()
        )


class FleetProblemsScreen(FleetListScreen):
    """The runtimes that the header counts as `with problems`, each with its worst reason and who must act."""

    COLUMNS = fleet_reports.PROBLEM_COLUMNS
    SORT = SortOrder("state")
    EMPTY = "No problems: all runtimes are ready, without drift."
    KIND = FLEET_PROBLEMS
    name_in_help: ClassVar[str] = "Problems"

    def needs(self, picture: FleetSnapshot) -> Iterator[tuple[str, UnknownFact | None]]:
        yield from super().needs(picture)
        yield "Drift", picture.unknown_drift

    def status_text(self, row: Row) -> str:
        return fleet_reports.format_problem(row)

    def lines(self, reading: FleetReading) -> Sequence[Row]:
        return fleet_reports.problem_rows(reading.picture, fleet_catalogs(self.fleet_app))


class RecentChangesScreen(FleetListScreen):
    """Observed changes, and earlier changes that the Manifests report; newest first."""

    COLUMNS = fleet_reports.CHANGE_COLUMNS
    SORT = SortOrder("time", descending=True)
    EMPTY = "No changes in the last hour."
    KIND = "recent"
    name_in_help: ClassVar[str] = "Last hour"

    def needs(self, picture: FleetSnapshot) -> Iterator[tuple[str, UnknownFact | None]]:
        yield from super().needs(picture)
        yield "Manifests", picture.unknown_manifests

    def status_text(self, row: Row) -> str:
        return fleet_reports.format_runtime_change(row)

    def lines(self, reading: FleetReading) -> Sequence[Row]:
        return fleet_reports.change_rows(recent_changes(reading.picture, self.kymatui.clock()))


class VersionMatrixScreen(FleetListScreen):
    """Module by version: left and right choose a cell, Enter displays its runtimes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,less_than_sign", "turn(-1)", "Newer", id="matrix.left"),
        Binding("right,greater_than_sign", "turn(1)", "Older", id="matrix.right"),
        Binding("V", "open('context-matrix')", "Versions by context", show=False, id="matrix.by-context"),
    ]
    COLUMNS = (Column("name", "MODULE", 18, flex=1),)
    SORT = SortOrder("name")
    EMPTY = "No runtime reports modules."
    KIND = "matrix"
    name_in_help: ClassVar[str] = "Versions"

    def __init__(self) -> None:
        super().__init__()
        self._cursor = MatrixCursor()

    def lines(self, reading: FleetReading) -> Sequence[Row]:
        self._cursor.count(list(reading.picture.runtimes.values()))
        self._set_columns()
        return self._cursor.rows(self.main_widget().cursor_key)

    def _set_columns(self) -> None:
        table, columns = self.main_widget(), self._cursor.columns
        if self.fleet_app.has_contexts:
            titles = {"RUNTIMES": "CONTEXTS", "NEWEST REPORTED": "NEWEST INSTALLED"}
            columns = tuple(replace(column, title=titles.get(column.title, column.title)) for column in columns)
        if table.grid.columns != columns:
            table.set_columns(columns)

    def show_details(self) -> None:
        table = self.main_widget()
        module = table.cursor_key
        self._cursor.scroll(module, table.grid.shown)
        self._set_columns()
        table.show(self._cursor.rows(module))
        self.query_one(StatusLine).show(Content(self._cursor.hint(module)))

    def action_turn(self, by: int) -> None:
        self._cursor.turn(self.main_widget().cursor_key, by)
        self.show_details()

    def opened(self, row_key: str) -> None:
        """Open the runtimes that the chosen cell counts."""
        cells, index = self._cursor.cells(row_key), self._cursor.place(row_key)
        first = next((screen for screen in self.app.screen_stack if isinstance(screen, FleetScreen)), None)
        if cells and first is not None:
            self.fleet_app.ways.climb_to(0)
            first.narrow(cells[index], origin=self.step)


class ContextVersionsScreen(FleetListScreen):
    """Context by module: the installed version of each; left and right move between modules."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,less_than_sign", "turn(-1)", "Modules to the left", id="context-matrix.left"),
        Binding("right,greater_than_sign", "turn(1)", "Modules to the right", id="context-matrix.right"),
    ]
    COLUMNS = (Column("name", "CONTEXT", 16, flex=1),)
    SORT = SortOrder("name")
    EMPTY = "No context has modules."
    KIND = CONTEXT_MATRIX
    name_in_help: ClassVar[str] = "Versions by context"

    def __init__(self) -> None:
        super().__init__()
        self._first = 0

    def lines(self, reading: FleetReading) -> Sequence[Row]:
        clusters, table = reading.picture.clusters.values(), self.main_widget()
        columns = fleet_reports.context_columns(clusters, self._first)
        if table.grid.columns != columns:
            table.set_columns(columns)
        return fleet_reports.context_rows(clusters)

    def status_text(self, row: Row) -> str:
        return f"{row.cells['name'].text}   enter opens its catalog"

    def opened(self, row_key: str) -> None:
        """Open the catalog of the context."""
        self.fleet_app.look_at(split_name(row_key))

    def action_turn(self, by: int) -> None:
        last = self._first + len(self.main_widget().grid.columns) - 2
        self._first = max(0, min(self._first + by, last))
        self.show_catalog()
