"""Application on a control plane: the first screen is the fleet, below it each runtime has a catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.snapshot.cluster_index import KYMA_FEED
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.connection.cluster_link import ClusterConnection
from kymatui.ui.connection.cluster_view import ClusterView
from kymatui.ui.connection.connection_status import OUT_OF_DATE, connection_banner
from kymatui.ui.connection.fleet_view import FleetReading, FleetSource, FleetView, RuntimeViews
from kymatui.ui.connection.mailbox import Mailbox
from kymatui.ui.flows.flow_app import FleetFlowApp, selected_context, switch_view
from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.navigation.history import OPEN_RUNTIME_FIRST, WHATIF, OtherView, ScreenStep, ViewKind
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.terminal.file_saving import manifest_paths
from kymatui.ui.widgets.top_line import FrameFacts

if TYPE_CHECKING:
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey


FLEET = ScreenStep("fleet")


class FleetApp(KymatuiApp, FleetFlowApp):
    """Application whose displayed cluster is the runtime of the nearest catalog on the screen stack."""

    HOME: ClassVar[ScreenStep] = FLEET
    NARROWS: ClassVar[bool] = False

    def __init__(self, connect: Callable[[], FleetSource], *, allow_fleet_writes: bool = False, **options: Any) -> None:
        self.may_edit_fleet = allow_fleet_writes
        super().__init__(connect, **options)  # type: ignore[arg-type]  # `first_view` takes it

    def first_view(self, connect: Callable[[], Any], mailbox: Mailbox) -> ClusterView:
        self.runtimes = RuntimeViews(mailbox, self.clock, busy=self._is_busy)
        self.fleet_view = FleetView(connect, mailbox, self.clock, self.runtimes.close)
        self._went_straight = False
        return self.fleet_view

    def get_default_screen(self) -> Any:
        return FleetScreen()

    async def look_back(self, connection: ClusterConnection) -> None:
        await super().look_back(connection)
        fleet = self.fleet_view.place
        control = self.fleet_view.control_plane
        if fleet is not None and connection.name == fleet.name and control is not None:
            resuming = await self.jobs.in_thread(lambda: import_module("kymatui.ui.flows.resume"))
            await resuming.report_runtimes(self, control)

    def _is_busy(self, key: RuntimeKey) -> bool:
        """Return whether a job uses the runtime, so that its session must stay open."""
        view = self.runtimes.known(key)
        connection = view.place if view is not None else None
        return connection is not None and any(job.cluster_name == connection.name for job in self.jobs.active)

    # displayed runtime

    @property
    def fleet(self) -> FleetReading | None:
        """Return the latest reading of the fleet; None before the first."""
        return self.fleet_view.seen

    @property
    def runtime_key(self) -> RuntimeKey | None:
        """Return the runtime that the screens are about; None where they are about the fleet."""
        steps = (screen.step for screen in reversed(self.ways.framed))
        return next((split_name(step.about) for step in steps if step.kind == "modules" and step.about), None)

    @property
    def view(self) -> ClusterView:
        key, source = self.runtime_key, self.fleet_view.fleet_link.session
        if key is None or source is None:
            return self.fleet_view
        return self.runtimes.of(key, source)

    def _deliver(self, values: Mapping[str, object]) -> None:
        for connection in self.runtimes.deliver(values):
            self.jobs.run_beside(self.look_back(connection))
        super()._deliver(values)
        if self.fleet is not None and self.fleet.requested_runtime and not self._went_straight:
            self._go_straight(self.fleet)

    def _go_straight(self, reading: FleetReading) -> None:
        """Open the requested runtime; report that it does not exist once all runtimes are listed."""
        if reading.straight_to is not None:
            self._went_straight = True
            if len(self.ways.framed) == 1:
                self.look_at(reading.straight_to)
        elif reading.picture.feeds[KYMA_FEED].state is FeedState.LIVE:
            self._went_straight = True
            self.problem(
                f'no runtime "{sanitize(reading.requested_runtime)}" on this control plane, or several with that name'
            )

    def look_at(self, key: RuntimeKey, module: str = "") -> None:
        """Open the catalog of a runtime with the cursor on a module."""
        self.ways.open(ScreenStep("modules", _runtime_rows().key_text(key), module))

    @property
    def runtime_feed(self) -> Feed | None:
        """Return the feed of the displayed runtime's own connection; None where no runtime is displayed."""
        key = self.runtime_key
        return self.runtimes.feeds().get(key) if key is not None else None

    @property
    def frame_facts(self) -> FrameFacts:
        facts = super().frame_facts
        reading = self.fleet
        if self.runtime_key is None and reading is not None:
            feeds = self.runtimes.feeds()
            counts = _runtime_rows().count_runtimes(reading.picture, feeds.values())
            banner = connection_banner(self.view.connection, self.view.failure)
            return replace(facts, counts=counts, banner=facts.banner or banner)
        feed = self.runtime_feed
        if feed is not None and feed.state is FeedState.FAILED:
            advice = f". {feed.login_advice}" if feed.is_login_rejected else ""
            words = f"▲ cannot read the runtime: {sanitize(feed.message + advice)}; the data is from its control plane"
            return replace(facts, banner=words, connection="control plane only", tone="warning")
        if feed is not None and feed.state is FeedState.SYNCING:
            return replace(facts, connection="connecting", tone="processing")
        return facts

    @property
    def why_no_writes(self) -> str:
        feed = self.runtime_feed
        if self.read_only:
            return self.why_read_only
        if self.runtime_key is None:
            return self.why_no_fleet_writes
        if feed is None:
            return "runtime not connected yet"
        if feed.state is not FeedState.LIVE:
            return "cannot read the runtime"
        return super().why_no_writes

    @property
    def why_no_fleet_writes(self) -> str:
        """Return why kymatui cannot edit several runtimes; "" where it can."""
        if self.read_only:
            return self.why_read_only
        if not self.may_edit_fleet:
            return f"needs the option --allow-fleet-writes; enter opens one {self.subject}"
        if self.view.is_outdated:
            return OUT_OF_DATE
        return "" if self.fleet is not None else "still loading"

    def commands(self) -> Sequence[ScreenCommand]:
        """Return the commands of the fleet, then those of every screen."""
        return (*commands(self), *(command for command in super().commands() if command.name != "fleet"))


def _runtime_rows() -> ModuleType:
    """Return the module of the rows, which is not loaded before the first paint."""
    from kymatui.ui.presenters.fleet import runtime_rows

    return runtime_rows


PLACES = {
    "matrix": "count module versions over the fleet",
    "waits": "list what the fleet waits for, and who acts",
    "recent": "list the fleet's changes of the last hour",
}
AT_RUNTIME = {
    "compare": "compare this runtime with its control plane",
    "sync": "show which ModuleTemplates and ModuleReleaseMetas this runtime should have and has, with the reasons",
}
ANYWHERE = {
    "windows": "show the next maintenance windows and the upgrades that wait for them",
    "watchers": "check whether changes in a runtime reach the control plane",
}


def commands(app: FleetFlowApp) -> Sequence[ScreenCommand]:
    """Return the commands in the order in which the help displays them."""
    own = [
        ScreenCommand(
            "fleet [contexts|runtimes]",
            f"list all {app.subject}s, or those of another fleet",
            partial(_fleet, app),
            arguments=lambda: (ViewKind.CONTEXTS.value, ViewKind.RUNTIMES.value),
        )
    ]
    own += [ScreenCommand(kind, text, partial(_place, app, kind)) for kind, text in PLACES.items()]
    own.append(
        ScreenCommand(
            "runtime NAME",
            "open the catalog of a runtime",
            partial(_runtime, app),
            aliases=("rt",),
            arguments=partial(_names, app),
        )
    )
    own.append(
        ScreenCommand(
            "whatif FILE|FOLDER",
            "show what new or changed ModuleReleaseMetas, ModuleTemplates and Kymas do to the fleet",
            partial(_what_if, app),
            arguments=manifest_paths,
        )
    )
    own += [ScreenCommand(kind, text, partial(_at_runtime, app, kind)) for kind, text in AT_RUNTIME.items()]
    own += [ScreenCommand(kind, text, partial(_anywhere, app, kind)) for kind, text in ANYWHERE.items()]
    return own


def _fleet(app: FleetFlowApp, words: Sequence[str]) -> None:
    kind = words[0] if words else ""
    if kind in ("", f"{app.subject}s"):
        app.ways.climb_to(0)
    elif kind not in (ViewKind.CONTEXTS, ViewKind.RUNTIMES):
        app.problem(unknown_name("fleet", kind, tuple(ViewKind)[1:], "fleet [contexts|runtimes]"))
    elif not app.has_contexts:
        switch_view(app, OtherView(ViewKind.CONTEXTS))
    elif context := selected_context(app):
        switch_view(app, OtherView(ViewKind.RUNTIMES, context))
    else:
        app.problem("select a control plane first")


def _at_runtime(app: FleetFlowApp, kind: str, words: Sequence[str]) -> None:
    del words
    if app.runtime_key is None:
        app.problem(OPEN_RUNTIME_FIRST)
    else:
        app.ways.open(ScreenStep(kind))


def _anywhere(app: FleetFlowApp, kind: str, words: Sequence[str]) -> None:
    del words
    app.ways.open(ScreenStep(kind))


def _place(app: FleetFlowApp, kind: str, words: Sequence[str]) -> None:
    del words
    app.ways.climb_to(0)
    app.ways.open(ScreenStep(kind))


def _what_if(app: FleetFlowApp, words: Sequence[str]) -> None:
    path = Path(" ".join(words)).expanduser()
    if not words or words == ["-"]:
        problem = "standard input is the keyboard here" if words else "file missing"
        app.problem(f"{problem}; type `:whatif FILE|FOLDER`")
        return
    app.ways.climb_to(0)
    app.ways.open(ScreenStep(WHATIF, str(path)))


def _names(app: FleetFlowApp) -> Sequence[str]:
    return [name for _, name in app.fleet.picture.runtimes] if app.fleet is not None else ()


def _runtime(app: FleetFlowApp, words: Sequence[str]) -> None:
    runtime = app.fleet.picture.named(words[0]) if app.fleet is not None and words else None
    if runtime is None:
        name, known = " ".join(words), _names(app)
        several = list(known).count(name) > 1
        app.problem(
            f'several runtimes have the name "{name}"; type NAMESPACE/NAME'
            if several
            else unknown_name("runtime", name, known, "runtime NAME")
        )
        return
    app.ways.climb_to(0)
    app.look_at((runtime.ref.namespace, runtime.name))
