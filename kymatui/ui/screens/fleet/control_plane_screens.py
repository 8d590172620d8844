"""Reports on a control plane and its runtimes: catalog sync, maintenance windows, Watchers.

A thread makes each report, since it reads catalogs or queries clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content

from kymatui.domain.fleet.fleet_tracker import FleetSnapshot
from kymatui.domain.fleet.maintenance import fleet_maintenance, runtime_maintenance
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.template_index import index_templates
from kymatui.domain.remote.catalog_sync import plan_pair_sync
from kymatui.domain.remote.runtime_pair import effective_kyma
from kymatui.domain.snapshot.cluster_index import CATALOG_FEEDS
from kymatui.domain.snapshot.missing_lists import explain_missing
from kymatui.errors import KymatuiError
from kymatui.lists.columns import Column
from kymatui.lists.control_plane import SYNC_COLUMNS, WATCHER_COLUMNS, WINDOW_COLUMNS
from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.connection.remote_reading import LatestReading
from kymatui.ui.flows.flow_app import FleetPart
from kymatui.ui.presenters.fleet import control_plane_reports
from kymatui.ui.presenters.fleet.control_plane_reports import ReportTable
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from textual.timer import Timer

    from kymatui.actions.session import Session
    from kymatui.ui.connection.fleet_view import FleetSource

PAUSE = 5.0
"""Seconds between two looks at the windows of a whole fleet: 5,000 of them take 0.3 s."""


class ReportScreen(FleetPart, ListScreen):
    """Report table made in a thread; subclasses return the reader and the notice for an empty table."""

    COLUMNS: ClassVar[tuple[Column, ...]] = ()
    SORT: ClassVar[SortOrder] = SortOrder("name")
    COPIED: ClassVar[str] = ""
    EMPTY: ClassVar[str] = ""
    OPENS: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._told: ReportTable | None = None
        self._problem: KymatuiError | None = None
        self._reading: LatestReading[ReportTable] = LatestReading(self, self._take)

    @property
    def pair_session(self) -> Session | None:
        """Return the session of the runtime below the screen; None above the fleet or before it is open."""
        return self.kymatui.view.link.session if self.fleet_app.runtime_key is not None else None

    def body(self) -> ComposeResult:
        yield Static("", id="counts", classes="counts")
        yield LiveTable(self.COLUMNS, id="explained", sort=self.SORT, copied=self.COPIED, opens=self.OPENS)
        yield Static("Loading…", id="nothing", classes="nothing")
        yield StatusLine(id="reason")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_class(True, "-empty")

    def show_catalog(self) -> None:
        reader = self.reader()
        if reader is not None:
            self._reading.ask(reader)

    def reader(self) -> Callable[[], ReportTable] | None:
        """Return the call for the thread; None where there is nothing to read."""
        raise AssertionError(f"{type(self).__name__} reads nothing")

    def _take(self, outcome: ReportTable | KymatuiError) -> None:
        """Display a new report; on an error keep the previous report."""
        self._problem = outcome if isinstance(outcome, KymatuiError) else None
        self._told = outcome if isinstance(outcome, ReportTable) else self._told
        if not self.query(LiveTable):
            return
        report = self._told or ReportTable()
        self.main_widget().show(report.rows)
        problem = f"{self._problem}. {self._problem.hint}" if self._problem is not None else ""
        self.query_one("#counts", Static).update(
            Content(sanitize(problem) if problem and report.rows else report.counts)
        )
        self.query_one("#nothing", Static).update(Content(sanitize(problem) or self.EMPTY))
        self.set_class(not report.rows, "-empty")
        self._show_sentence()

    @on(RowTable.Highlighted)
    def _show_sentence(self) -> None:
        key = self.main_widget().cursor_key
        self.query_one(StatusLine).show(Content(self._told.sentences.get(key or "", "") if self._told else ""))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.opened(control_plane_reports.report_subject(event.key), event.key)

    def opened(self, about: str, row_key: str) -> None:
        """Open the subject of a line."""


class SyncScreen(ReportScreen):
    """Templates and release metas that the runtime should have and has, with the reasons."""

    COLUMNS: ClassVar[tuple[Column, ...]] = SYNC_COLUMNS
    SORT = SortOrder("standing")
    COPIED = "name"
    EMPTY = "The control plane has no catalog."
    KIND = "sync"
    name_in_help: ClassVar[str] = "Catalog sync"

    def reader(self) -> Callable[[], ReportTable] | None:
        session = self.pair_session
        return partial(self._explain, session) if session is not None else None

    @staticmethod
    def _explain(session: Session) -> ReportTable:
        pair = session.pair()
        plan = plan_pair_sync(pair) if pair is not None else None
        return control_plane_reports.sync_report(plan) if plan is not None else ReportTable()

    def opened(self, about: str, row_key: str) -> None:
        self.open_module(about, "versions")


class WindowsScreen(ReportScreen):
    """Next maintenance window of each runtime or of one, with the upgrades that wait for it."""

    COLUMNS: ClassVar[tuple[Column, ...]] = WINDOW_COLUMNS
    SORT = SortOrder("")
    COPIED = "runtime"
    EMPTY = "No runtimes."
    KIND = "windows"
    name_in_help: ClassVar[str] = "Maintenance windows"

    def __init__(self) -> None:
        super().__init__()
        self._later: Timer | None = None
        self._outdated: Timer | None = None

    def show_catalog(self) -> None:
        """Read the windows now and then, since thousands are too slow for every change."""
        if self._later is not None:
            return
        if self.fleet_app.runtime_key is None and self._told is not None:
            self._later = self.set_timer(PAUSE, self._show_now)
        else:
            super().show_catalog()

    def _take(self, outcome: ReportTable | KymatuiError) -> None:
        """Read again when the first time on the screen is out of date."""
        super()._take(outcome)
        if self._outdated is not None:
            self._outdated.stop()
        if isinstance(outcome, ReportTable) and outcome.valid_until < float("inf"):
            soonest = 0.1 if self.fleet_app.runtime_key is not None else PAUSE
            self._outdated = self.set_timer(max(outcome.valid_until - self.kymatui.clock(), soonest), self._show_now)

    def _show_now(self) -> None:
        """Leave a screen below others alone: it reads again when it comes back."""
        self._later = None
        if self.is_current:
            super().show_catalog()

    def reader(self) -> Callable[[], ReportTable] | None:
        now = self.kymatui.clock()
        if self.fleet_app.runtime_key is not None:
            session = self.pair_session
            return partial(self._of_one, session, now) if session is not None else None
        reading, source = self.fleet_app.fleet, self.fleet_app.fleet_view.fleet_link.session
        return (
            partial(self._of_all, reading.picture, source, now) if reading is not None and source is not None else None
        )

    @staticmethod
    def _of_one(session: Session, now: float) -> ReportTable:
        pair = session.pair()
        kyma = read_kyma(effective_kyma(pair)) if pair is not None else None
        if pair is None or not isinstance(kyma, Kyma):
            return ReportTable()
        templates = index_templates(pair.control.templates, pair.control.release_metas, kyma.meta.namespace)
        unknown = explain_missing(pair.control.feeds, CATALOG_FEEDS)
        return control_plane_reports.windows_report(
            [runtime_maintenance(kyma, templates, pair.rules, now, unknown)], session.notes, now
        )

    @staticmethod
    def _of_all(picture: FleetSnapshot, source: FleetSource, now: float) -> ReportTable:
        known = {namespace: source.rules(namespace) for namespace in sorted({key[0] for key in picture.runtimes})}
        maintenances = [fleet_maintenance(runtime, known[key[0]][0], now) for key, runtime in picture.runtimes.items()]
        notes = dict.fromkeys(note for _, notes in known.values() for note in notes)
        return control_plane_reports.windows_report(maintenances, notes, now)

    def opened(self, about: str, row_key: str) -> None:
        if self.fleet_app.runtime_key is not None:
            self.open_module(row_key.rpartition("\0")[2], "overview")
        elif self.fleet_app.fleet is not None and split_name(about) in self.fleet_app.fleet.picture.runtimes:
            self.fleet_app.look_at(split_name(about))


class WatchersScreen(ReportScreen):
    """Watchers with the whole path of their events, up to the displayed runtime."""

    COLUMNS: ClassVar[tuple[Column, ...]] = WATCHER_COLUMNS
    SORT = SortOrder("")  # a chain stays together
    OPENS = False
    COPIED = "object"
    EMPTY = control_plane_reports.NO_WATCHERS
    KIND = "watchers"
    name_in_help: ClassVar[str] = "Watchers"

    def __init__(self) -> None:
        super().__init__()
        self._asked = False

    def reader(self) -> Callable[[], ReportTable] | None:
        """Return the reader only once, since the path of events is not watched."""
        in_runtime = self.fleet_app.runtime_key is not None
        source = self.pair_session if in_runtime else self.fleet_app.fleet_view.fleet_link.session
        feed = self.fleet_app.runtime_feed
        if self._asked or source is None or (feed is not None and feed.state is feed.state.SYNCING):
            return None
        self._asked = True
        return partial(self._ask, source, self.kymatui.clock(), in_runtime=in_runtime)

    @staticmethod
    def _ask(source: Session | FleetSource, now: float, *, in_runtime: bool) -> ReportTable:
        return control_plane_reports.watchers_report(source.chains(), now, in_runtime=in_runtime)

    def ask_again(self) -> None:
        self._asked = False
        self.show_catalog()
