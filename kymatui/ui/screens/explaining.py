"""What is explained of a control plane and its runtimes: the catalog sync, maintenance windows, Watchers.

Each is worked out in a thread: catalogs are read for it, or clusters are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from kymatui.errors import KymatuiError
from kymatui.ui.navigation import Step
from kymatui.ui.presenters import explaining
from kymatui.ui.presenters.explaining import Told
from kymatui.ui.presenters.fleet import key_of
from kymatui.ui.presenters.tables import Sort
from kymatui.ui.screens.listing import ListScreen
from kymatui.ui.text import plain
from kymatui.ui.widgets.columns import Column
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.sentence import Sentence

if TYPE_CHECKING:
    from textual.timer import Timer

    from kymatui.domain.fleet_pictures import FleetPicture
    from kymatui.domain.pairs.pair import Pair
    from kymatui.domain.watcher_chains import Chain
    from kymatui.ui.fleet_app import FleetApp
    from kymatui.ui.fleet_view import FleetSource

PAUSE = 5.0
"""Seconds between two looks at the windows of a whole fleet: 5,000 of them take 0.3 s."""


class Explained(Protocol):
    """A session that knows both sides of a runtime."""

    @property
    def notes(self) -> Sequence[str]: ...

    def pair(self) -> Pair: ...

    def chains(self) -> Sequence[Chain]: ...


class ExplainingScreen(ListScreen):
    """One table that a thread makes; subclasses say how, and what there is when it is empty."""

    COLUMNS: ClassVar[tuple[Column, ...]] = ()
    SORT: ClassVar[Sort] = Sort("name")
    COPIED: ClassVar[str] = ""
    EMPTY: ClassVar[str] = ""
    KIND: ClassVar[str] = ""
    OPENS: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._told: Told | None = None
        self._problem: KymatuiError | None = None

    @property
    def fleet_app(self) -> FleetApp:
        return cast("FleetApp", self.app)

    @property
    def step(self) -> Step:
        return Step(self.KIND)

    @property
    def pair_session(self) -> Explained | None:
        """Of the runtime that the screen stands above; None above the fleet, or before there is one."""
        found: Any = self.kymatui.view.link.session if self.fleet_app.runtime_key is not None else None
        return found if hasattr(found, "pair") else None

    def body(self) -> ComposeResult:
        yield Static("", id="counts", classes="counts")
        yield LiveTable(self.COLUMNS, id="explained", sort=self.SORT, copied=self.COPIED, opens=self.OPENS)
        yield Static("Loading …", id="nothing", classes="nothing")
        yield Sentence(id="reason")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_class(True, "-empty")

    def show_catalog(self) -> None:
        reader = self.reader()
        if reader is not None:
            self.run_worker(partial(self._read, reader), thread=True, exclusive=True, group="explaining")

    def reader(self) -> Callable[[], Told] | None:
        """What the thread calls; None where there is nothing to be read (again)."""
        raise AssertionError(f"{type(self).__name__} reads nothing")

    def _read(self, reader: Callable[[], Told]) -> None:
        found: Told | KymatuiError
        try:
            found = reader()
        except KymatuiError as error:
            found = error
        if self.is_attached and self.app.is_running:
            self.app.call_from_thread(self._take, found)

    def _take(self, found: Told | KymatuiError) -> None:
        """What was told before stays where it cannot be told again."""
        self._problem = found if isinstance(found, KymatuiError) else None
        self._told = found if isinstance(found, Told) else self._told
        if not self.query(LiveTable):
            return
        told = self._told or Told()
        self.main_widget().show(told.rows)
        problem = f"{self._problem}. {self._problem.hint}" if self._problem is not None else ""
        self.query_one("#counts", Static).update(Content(plain(problem) if problem and told.rows else told.counts))
        self.query_one("#nothing", Static).update(Content(plain(problem) or self.EMPTY))
        self.set_class(not told.rows, "-empty")
        self._tell()

    @on(RowTable.Highlighted)
    def _tell(self) -> None:
        key = self.main_widget().cursor_key
        self.query_one(Sentence).say(Content(self._told.sentences.get(key or "", "") if self._told else ""))

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.opened(explaining.about_of(event.key), event.key)

    def opened(self, about: str, row_key: str) -> None:
        """Goes on to what a line is about."""


class SyncScreen(ExplainingScreen):
    """Which templates and release metas the runtime should have, which it has, and why (not)."""

    COLUMNS = explaining.SYNC_COLUMNS
    SORT = Sort("standing")
    COPIED = "name"
    EMPTY = "The control plane has no catalog."
    KIND = "sync"
    name_in_help: ClassVar[str] = "Catalog sync"

    def reader(self) -> Callable[[], Told] | None:
        session = self.pair_session
        return partial(self._explain, session) if session is not None else None

    @staticmethod
    def _explain(session: Explained) -> Told:
        from kymatui.domain.pairs.offering import plan_of

        plan = plan_of(session.pair())
        return explaining.sync_told(plan) if plan is not None else Told()

    def opened(self, about: str, row_key: str) -> None:
        self.open_module(about, "versions")


class WindowsScreen(ExplainingScreen):
    """The next maintenance window of each runtime, and which upgrades wait for it; or of one."""

    COLUMNS = explaining.WINDOW_COLUMNS
    SORT = Sort("")
    COPIED = "runtime"
    EMPTY = "There is no runtime."
    KIND = "windows"
    name_in_help: ClassVar[str] = "Maintenance windows"

    def __init__(self) -> None:
        super().__init__()
        self._later: Timer | None = None

    def show_catalog(self) -> None:
        """Thousands of windows are worked out now and then, and not with every change of any runtime."""
        if self._later is not None:
            return
        if self.fleet_app.runtime_key is None and self._told is not None:
            self._later = self.set_timer(PAUSE, self._show_late)
        else:
            super().show_catalog()

    def _show_late(self) -> None:
        self._later = None
        super().show_catalog()

    def reader(self) -> Callable[[], Told] | None:
        now = self.kymatui.clock()
        if self.fleet_app.runtime_key is not None:
            session = self.pair_session
            return partial(self._of_one, session, now) if session is not None else None
        seen, source = self.fleet_app.fleet, self.fleet_app.fleet_view.fleet_link.session
        return partial(self._of_all, seen.picture, source, now) if seen is not None and source is not None else None

    @staticmethod
    def _of_one(session: Explained, now: float) -> Told:
        from kymatui.domain.kymas import Kyma, read_kyma
        from kymatui.domain.lists import missing
        from kymatui.domain.maintenance import maintenance
        from kymatui.domain.observing import CATALOG_FEEDS
        from kymatui.domain.pairs.pair import effective_kyma
        from kymatui.domain.shelves import read_shelf

        pair = session.pair()
        kyma = read_kyma(effective_kyma(pair))
        if not isinstance(kyma, Kyma):
            return Told()
        shelf = read_shelf(pair.control.templates, pair.control.release_metas, kyma.meta.namespace)
        unknown = missing(pair.control.feeds, CATALOG_FEEDS)
        return explaining.windows_told([maintenance(kyma, shelf, pair.rules, now, unknown)], session.notes, now)

    @staticmethod
    def _of_all(picture: FleetPicture, source: FleetSource, now: float) -> Told:
        from kymatui.domain.maintenance import maintenance_in_fleet

        known = {namespace: source.rules(namespace) for namespace in sorted({key[0] for key in picture.runtimes})}
        found = [maintenance_in_fleet(one, known[key[0]][0], now) for key, one in picture.runtimes.items()]
        notes = dict.fromkeys(note for _, notes in known.values() for note in notes)
        return explaining.windows_told(found, notes, now)

    def opened(self, about: str, row_key: str) -> None:
        if self.fleet_app.runtime_key is not None:
            self.open_module(row_key.rpartition("\0")[2], "overview")
        elif self.fleet_app.fleet is not None and key_of(about) in self.fleet_app.fleet.picture.runtimes:
            self.fleet_app.look_at(key_of(about))


class WatchersScreen(ExplainingScreen):
    """The Watchers with everything that carries their events, to the end in the runtime where one is on show."""

    COLUMNS = explaining.WATCHER_COLUMNS
    SORT = Sort("")  # a chain stays together
    OPENS = False
    COPIED = "object"
    EMPTY = explaining.NO_WATCHERS
    KIND = "watchers"
    name_in_help: ClassVar[str] = "Watchers"

    def __init__(self) -> None:
        super().__init__()
        self._asked = False

    def reader(self) -> Callable[[], Told] | None:
        """Clusters are asked once: what carries events is not watched."""
        in_runtime = self.fleet_app.runtime_key is not None
        source = self.pair_session if in_runtime else self.fleet_app.fleet_view.fleet_link.session
        feed = self.fleet_app.runtime_feed
        if self._asked or source is None or (feed is not None and feed.state is feed.state.SYNCING):
            return None
        self._asked = True
        return partial(self._ask, source, self.kymatui.clock(), in_runtime=in_runtime)

    @staticmethod
    def _ask(source: Explained | FleetSource, now: float, *, in_runtime: bool) -> Told:
        return explaining.chains_told(source.chains(), now, in_runtime=in_runtime)

    def ask_again(self) -> None:
        self._asked = False
        self.show_catalog()
