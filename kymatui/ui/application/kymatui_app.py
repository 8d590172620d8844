"""Application with one connection, a stack of screens, themes and problems."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.console import Console
from textual.app import App
from textual.binding import Binding, BindingsMap, BindingType
from textual.filter import LineFilter
from textual.screen import Screen

from kymatui.actions.session import Session
from kymatui.adapters.files.context_memory import ContextMemory
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.errors import ConfigurationError, KymatuiError
from kymatui.lists.columns import SIGNS
from kymatui.settings.config_file import Settings
from kymatui.settings.options_schema import ACCENTS
from kymatui.ui.application.navigator import Navigator
from kymatui.ui.application.screen_registry import HOME, key_scopes
from kymatui.ui.base.framed_screen import AsksAgain, FramedScreen
from kymatui.ui.connection.cluster_link import ClusterConnection
from kymatui.ui.connection.cluster_view import ClusterView
from kymatui.ui.connection.connection_status import OUT_OF_DATE, connection_banner
from kymatui.ui.connection.mailbox import Mailbox
from kymatui.ui.flows.context_switch import ContextSwitch
from kymatui.ui.flows.flow_app import Favourites, FlowApp, note_screen
from kymatui.ui.flows.job_controller import JOBS, ScreenJobs
from kymatui.ui.flows.logins import ScreenLogins
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.history import OtherView, ScreenStep
from kymatui.ui.navigation.key_help import keymap_problems
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.terminal.text_filters import AsciiFilter, ForeignTextFilter
from kymatui.ui.terminal.themes import THEMES, begin_with_theme, default_state_colours, styles_dir
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.top_line import FrameFacts

if TYPE_CHECKING:
    from textual.command import Provider

    from kymatui.domain.catalog.change_history import ChangeHistory, ModuleChange
    from kymatui.domain.catalog.rows import Catalog
    from kymatui.sessions.contexts import KubeContexts


_PALETTE_LINES = 10  # of the terminal, below which the palette's list has no room


def _palette() -> type[Provider]:
    from kymatui.ui.application.command_palette import CommandProvider

    return CommandProvider


class KymatuiApp(FlowApp):
    """Textual application; it calls `connect` in a thread after the first paint to open the session."""

    TITLE = "kymatui"
    CSS_PATH = [styles_dir() / "app.tcss"]  # noqa: RUF012 (Textual declares it so)
    ENABLE_COMMAND_PALETTE = True
    COMMANDS = {_palette}  # noqa: RUF012
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit", id="app.quit"),
        Binding("ctrl+r", "reconnect", "Read the cluster and the kubeconfig again", show=False, id="app.refresh"),
        Binding("ctrl+p", "command_palette", "Command palette", show=False, id="app.palette", priority=True),
        Binding("ctrl+c", "interrupt", "Quit (press twice)", show=False, id="app.interrupt", priority=True),
    ]

    get_theme_variable_defaults = default_state_colours

    HOME: ClassVar[ScreenStep] = HOME
    """What leads to the first screen."""
    NARROWS: ClassVar[bool] = True
    """Whether a namespace narrows lists on the screen, and not what the server is asked for."""

    _mailbox: Mailbox
    _view: ClusterView

    def __init__(
        self,
        connect: Callable[[], Session],
        *,
        context: str = "",
        namespace: str = "",
        read_only: bool = False,
        audit: bool = False,
        settings: Settings | None = None,
        contexts: KubeContexts | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.settings = settings or Settings()
        begin_with_theme(self, f"kymatui-{self.settings.theme}")
        self.set_keymap(self.settings.keys)
        self.plugins = None
        if self.settings.plugins:  # most people have none
            self.plugins = import_module("kymatui.ui.application.plugins").Plugins(self)
            self._bindings = BindingsMap.merge([self._bindings, BindingsMap(self.plugins.bindings())])
        self.clock = clock
        self._ascii, self._foreign_text = AsciiFilter(self.settings.ascii), ForeignTextFilter()
        # a traceback of the toolkit quotes foreign text; without colours it passes the door of standard error whole
        self.error_console = Console(markup=False, highlight=False, stderr=True, color_system=None)
        self.ways: Navigator = Navigator(self, self.HOME)
        self.fatal: KymatuiError | None = None
        self.problems: list[str] = []
        self.is_audit = audit
        self._interrupted_at = float("-inf")
        self.has_begun = False
        self._logins: ScreenLogins | None = None
        self.opens_left_screen = self.HOME == HOME
        self.may_switch = False
        self.other_view: OtherView | None = None
        self.open_context(connect, ClusterConnection(context, namespace, read_only), only=namespace)
        self.contexts = ContextSwitch(
            self,
            contexts,
            lambda: self.jobs,
            self.open_context,
            lambda: self.ways.restart(self.HOME, self.get_default_screen),
            self.redraw if self.NARROWS else None,
        )
        context_memory = contexts.memory if contexts is not None else ContextMemory()
        self.favourites = Favourites(self, context_memory, lambda: self.jobs, self.redraw)

    # displayed cluster

    def open_context(
        self, connect: Callable[[], Session], connection: ClusterConnection, *, again: bool = False, only: str = ""
    ) -> None:
        """Start with a context; its connection, jobs and announcements are its own.

        `again` is the same context with another session: what is displayed stays until its first reading. Lists narrow
        to the namespace `only`.
        """
        previous = (self._mailbox, self._view, self.jobs) if self.has_begun else None
        self._place, self._namespace = connection.context, connection.namespace
        self.read_only = connection.read_only or self.is_audit
        self.only_namespace = only if self.NARROWS else ""
        self._mailbox = Mailbox(self._deliver)
        self._view = self.first_view(connect, self._mailbox)
        if previous is None or not again or previous[2].is_closed:
            self.jobs = ScreenJobs(self, lambda key, value: self._mailbox.put(key, value))  # noqa: PLW0108 (it changes)
        if previous is None or not again:
            self._announcements = Announcements(self, silent=self.is_audit)
        if previous is not None:
            mailbox, view, jobs = previous
            if again:
                self._view.continue_from(view)
            waiting = mailbox.close()
            if jobs is not self.jobs:
                jobs.close()  # so that it publishes nothing to the next context
            elif JOBS in waiting:
                self._mailbox.put(JOBS, waiting[JOBS])
            jobs.when_idle(view.close)
            self._mailbox.open()
            self._view.start()
            if again:
                self.redraw()

    def first_view(self, connect: Callable[[], Session], mailbox: Mailbox) -> ClusterView:
        """Return the view of the cluster that the app starts with."""
        return ClusterView(connect, mailbox, self.clock)

    @property
    def view(self) -> ClusterView:
        """Return the cluster that the screens are about."""
        return self._view

    @property
    def catalog(self) -> Catalog | None:
        return self.view.catalog

    # lifecycle

    def get_default_screen(self) -> CatalogScreen:
        return CatalogScreen()

    def on_mount(self) -> None:
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Start after the first paint everything that the first paint need not wait for."""
        self.has_begun = True
        self._logins = ScreenLogins(self)
        for screen in self.ways.framed:
            screen.call_later(screen.command_line.prepare)
        self._mailbox.open()
        self._view.start()
        self.set_interval(1, self._tick)
        if self.settings.keys:
            for problem in keymap_problems(self.settings.keys, key_scopes(type(self))):
                self.problem(problem)
        if self.plugins is not None:
            for problem in self.plugins.problems(key_scopes(type(self))):
                self.problem(problem)

    def on_unmount(self) -> None:
        if self._logins is not None:
            self._logins.close()
        self.jobs.close()
        self._mailbox.close()
        self._view.close()

    def _tick(self) -> None:
        """Advance the ages on the screen; do nothing while every age reads the same."""
        if self.jobs.active and self.shown is not None and self.shown.step.kind in ("jobs", "job"):
            self.shown.catch_up()
            return
        if self.shown is not None and self.shown.frame.is_whole:
            note_screen(self, self.shown.step)
            if self.view.connection.step:
                self.redraw()  # no answer will, until there is one
            elif self.view.connection.stale_since or self.is_audit:
                self.shown.frame.show(self.frame_facts)
            advance_ages(self.shown, self.clock())

    # updates from the cluster

    def _deliver(self, values: Mapping[str, object]) -> None:
        connection, failure = self._view.deliver(values)
        jobs = values.get(JOBS)
        if isinstance(jobs, tuple):
            self.jobs.deliver(jobs)
        if connection is not None:
            self._arrive(connection)
        if isinstance(failure, ConfigurationError) and not self.contexts.previous:  # nothing to return to: print it
            self.fatal = failure
            self.exit(failure.exit_code, return_code=failure.exit_code)
        if not self.read_only:
            self.view.ask_rights()
        self.redraw()
        self._announcements.announce_changes(self.view.history)

    def _arrive(self, connection: ClusterConnection) -> None:
        """Colour the frame in the accent of the context, so that production is recognisable."""
        self._place = connection.context
        self._namespace, self.read_only = connection.namespace, connection.read_only or self.is_audit
        self.jobs.run_beside(self.contexts.arrived(connection))
        self.jobs.run_beside(self.favourites.load(connection.context))
        self.jobs.run_beside(self.look_back(connection))
        accent = self.settings.context(connection.context).accent
        for name in ACCENTS:
            self.set_class(name == accent, f"-accent-{name}")

    async def look_back(self, connection: ClusterConnection) -> None:
        """Report what an earlier run left unfinished; import the journal reader only after the first rows."""
        resuming = await self.jobs.in_thread(lambda: import_module("kymatui.ui.flows.resume"))
        await resuming.report_interrupted(self)

    @property
    def frame_facts(self) -> FrameFacts:
        connection = self.view.connection
        counts = banner = ""
        if self.catalog is not None:
            from kymatui.ui.presenters.catalog import problem_rows

            counts = problem_rows.count_problems(self.catalog)
            banner = connection_banner(connection, self.view.failure)
            banner = banner or problem_rows.one_kyma_banner(self.catalog, len(self.view.kymas))
        going, session = len(self.jobs.active), self.view.session
        management = self.view.management
        return FrameFacts(
            cluster=self._place or (self.view.snapshot.cluster if self.view.snapshot else ""),
            namespace=session.namespace if session is not None and self.NARROWS else self._namespace,
            only=self.only_namespace,
            user=self.view.target.user if self.view.target is not None else "",
            mode="AUDIT" if self.is_audit else "READ-ONLY" if self.read_only else self.view.write_mode,
            connection=connection.word,
            tone=connection.tone,
            counts=counts,
            sign=SIGNS.get(connection.tone, ""),
            banner=self.contexts.way_back(connection) or banner,
            jobs=format_count(going, "job") if going else "",
            manager=management.word if management is not None else "",
            manager_short=management.short if management is not None else "",
            traffic=session.traffic if self.is_audit and session is not None else None,
        )

    @property
    def shown(self) -> FramedScreen | None:
        """Return the topmost framed screen, even behind a dialog."""
        return self.ways.shown

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), self._foreign_text, *([self._ascii] if self._ascii.enabled else [])]

    # user input

    @property
    def why_read_only(self) -> str:
        """Return why this session never writes; "" where it may. No other reason precedes this reason."""
        if not self.read_only:
            return ""
        return "an audit only reads" if self.is_audit else "kymatui runs read-only"

    @property
    def why_no_writes(self) -> str:
        """Return why nothing can be written now; "" where writes are possible."""
        if self.read_only:
            return self.why_read_only
        if self.view.is_outdated:
            return OUT_OF_DATE
        return "" if self.catalog is not None else "still loading"

    def commands(self) -> Sequence[ScreenCommand]:
        """Return the commands that work on every screen."""
        from kymatui.ui.application.app_commands import commands

        return commands(self)

    def problem(self, text: str, *, seconds: float | None = None) -> None:
        """Notify the user of a problem, for `seconds` or for the default time."""
        self.problems.append(text)
        self.notify(text, severity="warning", timeout=seconds)

    def action_plugin(self, name: str) -> None:
        if self.plugins is not None:
            self.plugins.start(name)

    def action_command_palette(self) -> None:
        """Open the palette unless a dialog is open, or the terminal is too small for its list.

        Paging through a list without room would end the program.
        """
        if self.screen.is_modal:
            return
        if self.size.height < _PALETTE_LINES:
            self.problem("the terminal is too small for the palette; type : for commands")
        else:
            super().action_command_palette()

    def action_reconnect(self) -> None:
        """Query the server now, through another session if the kubeconfig changed."""
        if self._logins is not None:
            self._logins.retry()
        self.view.retry()
        self.jobs.run_beside(self.contexts.reload())
        screen: object = self.shown
        if isinstance(screen, AsksAgain):
            screen.ask_again()

    def action_interrupt(self) -> None:
        now = self.clock()
        if now - self._interrupted_at < 2:
            self.exit(130, return_code=130)
            return
        self._interrupted_at = now
        stops = f" and stop {format_count(len(self.jobs.active), 'job')}" if self.jobs.active else ""
        self.notify(f"press ctrl-c again to quit{stops}", timeout=2)

    async def action_quit(self) -> None:
        """Quit the program; ask first while jobs are running."""
        if self.jobs.active:
            self.jobs.run_flow(self.jobs.quit())
        else:
            self.exit(0)


# Announcements of modules that got worse while you look elsewhere.


_SECONDS: Final = 15.0


class Announcements:
    """Announcer of each worse state, once: in the corner, and by the terminal if you look at another window."""

    def __init__(self, app: FlowApp, *, silent: bool) -> None:
        """Take `silent` for an audit, which notifies no terminal."""
        self._app = app
        self._silent = silent
        self._newest: dict[int, ModuleChange] = {}

    def announce_changes(self, history: ChangeHistory | None) -> None:
        """Announce what got worse since the last look at this history."""
        if history is None or not history.changes:
            return
        from kymatui.domain.catalog.change_history import changes_since, worse_states  # not before the first paint

        fresh = changes_since(history.changes, self._newest.get(id(history)))
        self._newest[id(history)] = history.changes[0]
        for change in worse_states(fresh):
            self._announce(change)

    def _announce(self, change: ModuleChange) -> None:
        from kymatui.domain.kyma.states import State

        app = self._app
        row = app.catalog.row(change.module) if app.catalog is not None else None
        text = sanitize(f"{change.module} is {change.after} (was {change.before})")
        reason = sanitize(row.reason.text) if row is not None else ""
        if not self._is_displayed(change.module):
            severity = "error" if change.after == State.ERROR else "warning"
            app.notify(f"{text}. {reason}".rstrip(". "), severity=severity, timeout=_SECONDS)  # type: ignore[arg-type]
        if not self._silent and not app.app_focus:
            write_notice(app, app.settings.notifications, text)

    def _is_displayed(self, module: str) -> bool:
        """Return whether the screen on top has the module's state: the catalog, or the module itself."""
        shown = self._app.shown
        if shown is None or shown is not self._app.screen:
            return False
        return shown.step.kind == "modules" or shown.step.about == module


# Notifications that terminals pass on to the desktop.


_MOST: Final = 200  # characters of a title or text


def terminal_notice(kind: str, title: str, text: str) -> str:
    """Return the escape sequence of a notification, "" for "off".

    iTerm2, kitty and WezTerm know OSC 9, foot and urxvt OSC 777. Control characters and separators are left out.
    """
    title, text = (_plain(part) for part in (title, text))
    if kind == "osc9":
        return f"\x1b]9;{title}: {text}\x07"
    return f"\x1b]777;notify;{title};{text}\x07" if kind == "osc777" else ""


def write_notice(app: App[Any], kind: str, text: str) -> None:
    """Write a notification to the terminal of an app; nothing where it has none or `kind` is "off"."""
    sequence = terminal_notice(kind, app.title, text)
    if sequence and app._driver is not None:  # as Textual itself writes OSC 52; it has no public way
        app._driver.write(sequence)


def _plain(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable() and letter != ";")[:_MOST]


def advance_ages(screen: Screen[Any], now: float) -> None:
    """Advance the ages in tables and lists of facts that are on the screen."""
    for table in screen.query(LiveTable):
        if table.is_on_screen:
            table.advance(now)
    for facts in screen.query(Facts):
        if facts.is_on_screen:
            facts.advance(now)
