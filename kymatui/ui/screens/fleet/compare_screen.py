"""A control plane and one of its runtimes side by side, differences first."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.actions.session import Session
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.remote.differences import ComparisonLine, LineVerdict
from kymatui.domain.remote.side_by_side import SideBySide, compare_sides
from kymatui.errors import KymatuiError
from kymatui.lists.columns import cells_of, on_screen
from kymatui.lists.control_plane import COMPARISON_COLUMNS
from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.connection.remote_reading import LatestReading
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine


class CompareScreen(ListScreen):
    """Comparison above the catalog of a runtime."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+z", "whole", "Show only differences", id="compare.whole"),
        Binding("T", "open('sync')", "Catalog sync", id="compare.sync"),
    ]
    KIND = "compare"
    name_in_help: ClassVar[str] = "Comparison"

    def __init__(self) -> None:
        super().__init__()
        self._found: SideBySide | None = None
        self._problem: KymatuiError | None = None
        self._reading: LatestReading[SideBySide | None] = LatestReading(self, self._take)
        self._whole = False

    def body(self) -> ComposeResult:
        yield Static("", id="counts", classes="counts")
        yield LiveTable(COLUMNS, id="comparison", sort=SortOrder("verdict"), copied="subject")
        yield Static("", id="nothing", classes="nothing")
        yield StatusLine(id="reason")

    def show_catalog(self) -> None:
        """Compare in a thread, since that reads two catalogs."""
        session, clock = self.kymatui.view.link.session, self.kymatui.clock
        if session is not None:
            self._reading.ask(lambda: _compare(session, clock()))

    def _take(self, outcome: SideBySide | KymatuiError | None) -> None:
        """Display a new comparison; on an error keep the previous one."""
        self._problem = outcome if isinstance(outcome, KymatuiError) else None
        self._found = outcome if isinstance(outcome, SideBySide) else self._found
        self._draw()

    def _draw(self) -> None:
        if (self._found is None and self._problem is None) or not self.query(LiveTable):
            return
        rows = comparison_rows(self._found, with_equal=self._whole) if self._found else []
        problem = sanitize(f"{self._problem}. {self._problem.hint}".rstrip()) if self._problem is not None else ""
        counts = count_differences(self._found) if self._found else ""
        self.query_one("#counts", Static).update(Content(problem if problem and rows else counts))
        self.query_one("#nothing", Static).update(Content("" if rows else problem or "No differences."))
        self.main_widget().show(rows)
        self.set_class(not rows, "-empty")
        self._show_difference()

    def action_whole(self) -> None:
        self._whole = not self._whole
        self._draw()

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        """Open the module of the line, if it has one."""
        self.open_module(compared_object(event.key), "overview")

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        self._show_difference()

    def _show_difference(self) -> None:
        key = self.main_widget().cursor_key
        lines = self._found.lines if self._found is not None else ()
        keys = (row.key for row in comparison_rows(self._found, with_equal=True)) if self._found else ()
        line = next((line for line, row_key in zip(lines, keys, strict=False) if row_key == key), None)
        self.query_one(StatusLine).show(Content(explain_difference(line) if line is not None else ""))


def _compare(session: Session, now: float) -> SideBySide | None:
    pair = session.pair()
    return compare_sides(pair, now) if pair is not None else None


COLUMNS: Final = on_screen(COMPARISON_COLUMNS)


def comparison_rows(comparison: SideBySide, *, with_equal: bool) -> list[Row]:
    """Return the differences first; equal lines only with `with_equal`."""
    lines = comparison.lines if with_equal else comparison.differing
    return [_row(line) for line in lines]


def _row(line: ComparisonLine) -> Row:
    key = "\0".join((line.area.value, line.subject, line.field, line.control))
    return Row(key, cells_of(COLUMNS, line))


def compared_object(row_key: str) -> str:
    """Return the subject of a line, often a module."""
    return row_key.split("\0")[1]


def explain_difference(line: ComparisonLine) -> str:
    """Return the sentence for one line: both sides in full, the reason, and who must act."""
    sides = f"{line.subject} {line.field}: KCP {line.control or 'none'}, SKR {line.runtime or 'none'}"
    act = f"   who acts: {line.actor}" if line.actor.value else ""
    return sanitize(f"{sides}. {line.why}{act}" if line.why else sides)


def count_differences(comparison: SideBySide) -> str:
    """Return the number of lines per verdict."""
    return "   ".join(f"{comparison.count(verdict)} {verdict.value}" for verdict in LineVerdict)
