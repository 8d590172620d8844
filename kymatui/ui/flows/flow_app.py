"""Protocols of the application for flows: screens, jobs, and on a control plane the fleet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from kymatui.adapters.files.context_memory import MOST_PINNED, ContextMemory
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.screen_app import ScreenApp
from kymatui.ui.connection.connection_status import OUT_OF_DATE

if TYPE_CHECKING:
    from textual.screen import Screen

    from kymatui.domain.catalog.rows import Catalog
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.domain.snapshot.snapshots import Feed
    from kymatui.ui.base.framed_screen import FramedScreen
    from kymatui.ui.connection.fleet_view import FleetReading, FleetView, RuntimeViews
    from kymatui.ui.flows.context_switch import ContextSwitch
    from kymatui.ui.flows.job_controller import ScreenJobs
    from kymatui.ui.navigation.history import OtherView


_LOCAL = "; written to a file on this machine only, the cluster is not changed"


class Favourites:
    """Pinned modules of the open context; `names` in the order in which they were pinned."""

    def __init__(
        self, app: ScreenApp, context_memory: ContextMemory, jobs: Callable[[], ScreenJobs], redraw: Callable[[], None]
    ) -> None:
        self._app, self._memory, self._jobs, self._redraw = app, context_memory, jobs, redraw
        self._context = ""
        self.names: tuple[str, ...] = ()

    async def load(self, context: str) -> None:
        """Read the pinned modules of a context, which may have none."""
        if context != self._context:
            self._context, self.names = context, ()
        pinned = (await self._jobs().in_thread(lambda: self._memory.of(context))).pinned
        if context == self._context and pinned != self.names:
            self.names = pinned
            self._redraw()

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
        other_view: OtherView | None

        @property
        def shown(self) -> FramedScreen | None: ...

    @property
    def flow_target(self) -> ClusterTarget | None:
        return self.jobs.target

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
