"""What a change of the catalog does to the fleet, before it is made: versions today and then, and each runtime."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.whatif.summary import forecast_summary
from kymatui.domain.whatif.version_lines import CellKind
from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.connection.forecast_link import ForecastLink, ForecastReading
from kymatui.ui.flows.flow_app import FleetPart
from kymatui.ui.navigation.history import WHATIF, ScreenStep
from kymatui.ui.presenters.fleet import forecast_rows
from kymatui.ui.presenters.fleet.forecast_rows import CELLS, OpenedNumber
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.display_text import clock_time
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine


class WhatIfScreen(FleetPart, ListScreen):
    """Matrix of versions today and then; left and right choose a number, Enter lists its runtimes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,less_than_sign", "turn(-1)", "Previous number", id="matrix.left"),
        Binding("right,greater_than_sign", "turn(1)", "Next number", id="matrix.right"),
        Binding("ctrl+z", "moves", "Show only what moves", id="whatif.moves"),
    ]

    name_in_help: ClassVar[str] = "What if"

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._only_moves = True
        self._place = CELLS.index(CellKind.MOVES)
        self._opened: OpenedNumber | None = None
        self._reading = ForecastReading()

    @property
    def step(self) -> ScreenStep:
        return ScreenStep(WHATIF, self._path)

    def body(self) -> ComposeResult:
        yield Static("", id="counts", classes="counts")
        yield LiveTable(forecast_rows.VERSION_COLUMNS, id="versions", sort=SortOrder(""), copied="module")
        yield LiveTable(forecast_rows.RUNTIME_COLUMNS, id="runtimes", sort=SortOrder(""), copied="runtime")
        yield Static("Loading…", id="nothing", classes="nothing")
        yield StatusLine(id="reason")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#runtimes").display = False
        self.set_class(True, "-empty")
        view = self.fleet_app.fleet_view
        self._link = ForecastLink(self._path, lambda: view.fleet_link.session, self.kymatui.clock, self._take)
        self._link.start()

    def on_unmount(self) -> None:
        self._link.close()

    def main_widget(self) -> LiveTable:
        return self.query_one("#runtimes" if self._opened is not None else "#versions", LiveTable)

    def ask_again(self) -> None:
        """Read the files and lifecycle-manager's settings again."""
        self._link.ask_again()

    def _take(self, reading: ForecastReading) -> None:
        self._reading = reading
        if self.frame.is_whole and self.is_attached:
            self._draw()

    def _draw(self) -> None:
        reading, table = self._reading, self.main_widget()
        if reading.opened == self._opened and self._opened is not None:
            table.show(reading.runtimes)
        elif self._opened is None:
            table.show(_version_rows(reading, table.cursor_key, CELLS[self._place], only_moves=self._only_moves))
        self.query_one("#counts", Static).update(Content(_counts(reading, self._path, self._opened)))
        self.query_one("#nothing", Static).update(Content(sanitize(_why_empty(reading, self._opened))))
        self.set_class(not table.everything, "-empty")
        self.show_details()

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        if self._opened is None:
            self._draw()  # the marked number is on another line
        else:
            self.show_details()

    def show_details(self) -> None:
        """Display what enter does, or the forecast of the runtime under the cursor."""
        row = self.main_widget().current
        text = ""
        if row is not None:
            is_version = self._opened is None
            text = forecast_rows.version_hint(row, CELLS[self._place]) if is_version else ""
            text = text or forecast_rows.runtime_sentence(row)
        self.query_one(StatusLine).show(Content(text))

    def why_off(self, action: str, choice: object = "") -> str:
        if action in ("turn", "moves") and self._opened is not None:
            return "only among the versions"
        return super().why_off(action, choice)

    def action_turn(self, by: int) -> None:
        self._place = max(0, min(self._place + by, len(CELLS) - 1))
        self._draw()

    def action_moves(self) -> None:
        self._only_moves = not self._only_moves
        self._draw()

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        if self._opened is None:
            self._open(forecast_rows.number_of(event.key, CELLS[self._place]))
            return
        runtime, module = forecast_rows.subject_of(event.key)
        fleet = self.fleet_app.fleet
        if fleet is not None and split_name(runtime) in fleet.picture.runtimes:
            self.fleet_app.look_at(split_name(runtime), module)
        else:
            self.notify(f"{sanitize(runtime)} is not in the fleet", timeout=3)

    def _open(self, number: OpenedNumber | None) -> None:
        """List the runtimes behind a number, or the versions again."""
        self._opened = number
        self._link.open(number)
        self.query_one("#versions").display = number is None
        runtimes = self.query_one("#runtimes", LiveTable)
        runtimes.display = number is not None
        runtimes.set_filter("")
        runtimes.show(())
        self.set_focus(self.main_widget())
        self._draw()
        self.refresh_bindings()

    def action_back(self) -> None:
        """Clear the filter, else return to the versions, else close the screen."""
        if self._opened is not None and not self.filter_line.text:
            self._open(None)
        else:
            super().action_back()


def _version_rows(reading: ForecastReading, cursor: str | None, kind: CellKind, *, only_moves: bool) -> tuple[Row, ...]:
    """Return the versions, with the chosen number of the line under the cursor marked."""
    if reading.lines is None:
        return ()
    rows = reading.lines.moving if only_moves else reading.lines.versions
    chosen = cursor if cursor in {row.key for row in rows} else rows[0].key if rows else ""
    return tuple(forecast_rows.with_number(row, kind) if row.key == chosen else row for row in rows)


def _counts(reading: ForecastReading, path: str, opened: OpenedNumber | None) -> str:
    """Return what is listed, the summary, and where the change comes from or why it is not the newest."""
    if reading.forecast is None:
        return ""
    read = f"{path}, {'changed, read again' if reading.reread else 'read'} {clock_time(reading.read_at)} UTC"
    parts = [str(opened)] if opened is not None else []
    if reading.problem is not None:
        parts += [f"▲ {_problem(reading)}; displayed: {read}", forecast_summary(reading.forecast)]
    else:
        parts += [forecast_summary(reading.forecast), "   ".join([read, *reading.notes])]
    return "\n".join(map(sanitize, parts))


def _why_empty(reading: ForecastReading, opened: OpenedNumber | None) -> str:
    if reading.forecast is None:
        return _problem(reading) or "Loading…"
    if opened is not None:
        return "No runtimes." if reading.opened == opened else "Loading…"
    return "Nothing changes: every module of every runtime stays as it is. ctrl-z lists all versions."


def _problem(reading: ForecastReading) -> str:
    problem = reading.problem
    return ". ".join(filter(None, (str(problem), problem.hint))) if problem is not None else ""
