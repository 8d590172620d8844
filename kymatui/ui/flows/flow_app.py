"""Protocols of the application for flows: screens, jobs, and on a control plane the fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

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
    from kymatui.ui.flows.favourites import Favourites
    from kymatui.ui.flows.job_controller import ScreenJobs


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
