"""Protocols of the application for flows: screens, jobs, and on a control plane the fleet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from kymatui.adapters.files.context_memory import MOST_PINNED, ContextMemory
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.screen_app import ScreenApp
from kymatui.ui.connection.connection_status import OUT_OF_DATE

if TYPE_CHECKING:
    from textual.screen import Screen

    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.domain.snapshot.snapshots import Feed
    from kymatui.ui.base.framed_screen import FramedScreen
    from kymatui.ui.connection.fleet_view import FleetReading, FleetView, RuntimeViews
    from kymatui.ui.flows.context_switch import ContextSwitch
    from kymatui.ui.flows.job_controller import ScreenJobs


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
    """The application on a control plane; `FleetApp` implements it."""

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
