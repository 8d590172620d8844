"""Protocols of the application for flows: screens, jobs, and on a control plane the fleet."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace
from textual.message_pump import MessagePump

from kymatui.adapters.files.context_memory import MOST_PINNED, ContextMemory, RememberedView
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.snapshot.snapshots import Feed
from kymatui.errors import ConfigurationError
from kymatui.ui.base.screen_app import ScreenApp
from kymatui.ui.connection.connection_status import OUT_OF_DATE
from kymatui.ui.navigation.history import OtherView, ScreenStep

if TYPE_CHECKING:
    from textual.screen import Screen

    from kymatui.actions.session import Session
    from kymatui.domain.catalog.rows import Catalog
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.ui.base.framed_screen import FramedScreen
    from kymatui.ui.connection.fleet_view import FleetReading, FleetView, RuntimeViews
    from kymatui.ui.flows.context_switch import ContextSwitch
    from kymatui.ui.flows.job_controller import ScreenJobs


_RESTORED = ("module", "problems", "channels", "changes")
"""The screens that are opened again, in the context where they were left."""
_LOCAL = "; written to a file on this machine only, the cluster is not changed"


class Favourites:
    """What is remembered of the open context: `names` of pinned modules in their order, and how its list was left."""

    def __init__(
        self, app: ScreenApp, context_memory: ContextMemory, jobs: Callable[[], ScreenJobs], redraw: Callable[[], None]
    ) -> None:
        self._app, self._memory, self._jobs, self._redraw = app, context_memory, jobs, redraw
        self._context = ""
        self.names: tuple[str, ...] = ()
        self.filters: Mapping[str, str] = {}
        """The filters that were saved under names."""
        self.view: RememberedView | None = None
        """How the list of the context was left; None before it is read."""

    async def load(self, context: str) -> None:
        """Read what is remembered of a context, which may be nothing."""
        if context != self._context:
            self._context, self.names, self.view = context, (), None
        remembered, filters = await self._jobs().in_thread(lambda: (self._memory.of(context), self._memory.filters))
        if context == self._context:
            is_new = self.view is None or remembered.pinned != self.names
            self.names, self.filters = remembered.pinned, filters
            self.view = self.view or remembered.view
            if is_new:
                self._redraw()

    def leave(self, view: RememberedView) -> None:
        """Record how the list of the context is now; nothing before it was read, or without a change."""
        if self.view is None or view == self.view:
            return
        self.view, context = view, self._context
        self._jobs().run_beside(self._written(lambda: self._memory.leave(context, view)))

    async def save_filter(self, name: str, text: str) -> None:
        """Save a filter under a name, "" deletes it. Raise ConfigurationError if it cannot be written."""
        await self._jobs().in_thread(lambda: self._memory.save_filter(name, text))
        self.filters = await self._jobs().in_thread(lambda: self._memory.filters)

    async def _written(self, write: Callable[[], None]) -> None:
        with contextlib.suppress(ConfigurationError):  # where a list was left must not stop the screen
            await self._jobs().in_thread(write)

    async def toggle(self, module: str) -> None:
        """Pin a module, or unpin it; report where that is written. Raise ConfigurationError if it cannot be."""
        context, before = self._context, self.names
        is_pinned = module in before
        if not is_pinned and len(before) >= MOST_PINNED:
            self._app.problem(f"{MOST_PINNED} modules are pinned; unpin another one first")
            return
        names = tuple(name for name in before if name != module) if is_pinned else (*before, module)
        await self._jobs().in_thread(lambda: self._memory.pin(context, names))
        if context != self._context:
            return
        self.names = names
        done = "unpinned" if is_pinned else "pinned to the top"
        local = _LOCAL if self._app.read_only else ""
        self._app.notify(f"{sanitize(module)} {done}{local}", timeout=3)
        self._redraw()


class FlowApp(ScreenApp):
    """The application as a flow uses it; `KymatuiApp` implements it."""

    if TYPE_CHECKING:
        jobs: ScreenJobs
        contexts: ContextSwitch
        favourites: Favourites
        may_switch: bool
        opens_left_screen: bool
        other_view: OtherView | None

        @property
        def shown(self) -> FramedScreen | None: ...

    @property
    def flow_target(self) -> ClusterTarget | None:
        return self.jobs.target

    @property
    def writing_session(self) -> Session:
        """Return the session that writes to the displayed cluster. Raise ConfigurationError before it is connected."""
        session = self.view.writing
        if session is None:
            raise ConfigurationError("not connected to the cluster yet")
        return session

    def redraw(self) -> None:
        """Draw the topmost framed screen as everything is now."""
        if self.shown is not None:
            self.shown.catch_up()


class FleetFlowApp(FlowApp):
    """The application on a control plane or on many contexts; `FleetApp` implements it."""

    has_contexts = False
    """Whether the fleet is one of contexts, without a control plane."""
    subject = "runtime"
    """What the fleet consists of."""
    left: Favourites | None = None
    """How the list of contexts was left; None on a control plane."""

    if TYPE_CHECKING:
        fleet_view: FleetView
        runtimes: RuntimeViews

        @property
        def fleet(self) -> FleetReading | None: ...

        @property
        def runtime_key(self) -> RuntimeKey | None: ...

        @property
        def runtime_feed(self) -> Feed | None: ...

        @property
        def why_no_fleet_writes(self) -> str: ...

        def look_at(self, key: RuntimeKey, module: str = "") -> None: ...


class FleetPart(MessagePump):
    """Base of the screens and panes of a fleet, next to what they are."""

    @property
    def fleet_app(self) -> FleetFlowApp:
        return cast("FleetFlowApp", self.app)


def fleet_catalogs(app: FleetFlowApp) -> Mapping[RuntimeKey, Catalog]:
    """Return the catalogs of the runtimes that are read; those of open ones are newer."""
    own = app.fleet.picture.catalogs if app.fleet is not None else {}
    return {**own, **app.runtimes.catalogs()}


def selected_context(app: FleetFlowApp) -> str:
    """Return the context that is displayed, or is under the cursor of a fleet of contexts; "" without any."""
    if app.runtime_key is not None:
        return app.runtime_key[1]
    table = app.shown.filter_line.table if app.shown is not None and app.ways.depth == 1 else None
    key = split_name(table.cursor_key or "") if table is not None else ("", "")
    return key[1] if app.fleet is not None and key in app.fleet.picture.clusters else ""


def note_screen(app: FlowApp, step: ScreenStep) -> None:
    """Remember the screen for the context; once its modules are known, open the one that was left."""
    view = app.favourites.view
    if view is None or app.catalog is None:
        return
    if app.opens_left_screen:
        app.opens_left_screen = False
        is_known = view.screen != "module" or app.catalog.row(view.about) is not None
        if view.screen in _RESTORED and is_known and app.ways.depth == 1:
            app.ways.open(ScreenStep(view.screen, view.about))
            return
    if step.kind in _RESTORED:
        app.favourites.leave(replace(view, screen=step.kind, about=step.about))
    elif step.kind == "modules":
        app.favourites.leave(replace(view, screen="", about=""))


def switch_view(app: FlowApp, view: OtherView) -> None:
    """Leave for another view of the same kubeconfig, which the program then opens."""
    if not app.may_switch:
        app.problem("this program has one view; start `kymatui --contexts` or `kymatui --remote`")
    elif app.jobs.active:
        app.problem("jobs are running; wait for them, or stop them first (J)")
    else:
        app.other_view = view
        app.exit(0)


def why_no_plan(app: ScreenApp) -> str:
    """Return why no action can be planned now, because a plan reads the cluster; "" where one can.

    A plan can be read without the right to apply it.
    """
    if app.read_only:
        return OUT_OF_DATE if app.view.is_outdated else ""
    return app.why_no_writes


def flow_app(screen: Screen[Any]) -> FlowApp:
    """Return the application of a screen as flows need it."""
    return cast(FlowApp, screen.app)
