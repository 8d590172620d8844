"""Every screen that leads to a write names its cluster, in the accent of the context."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.domain.kyma_edit.module_edit import EditVerb
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.choice_dialog import ConfirmScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.kyma_edit import edit_modules
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.widgets.status_line import TargetLine
from tests.ui.driving import SIZE, ready, until
from tests.ui.fleets import StillFleet
from tests.ui.previews import PREVIEW
from tests.ui.test_plan import PLAIN
from tests.ui.worlds import StillSession, app_on, uninstall, world

HERE = "Cluster: context prod-eu (api.prod-eu.example.com), namespace kyma-system, read-write"
RUNTIME = (
    "Cluster: runtime kcp-system/runtime (api.runtime.example.com) of context kcp-prod (api.kcp-prod.example.com), "
    "namespace kyma-system, read-write"
)
RED = {"prod-*": {"accent": "red"}}


def lines(screen: Screen[Any]) -> list[str]:
    return [str(found.render()) for found in screen.query(TargetLine)]


def test_the_line_says_what_is_known() -> None:
    assert ClusterTarget("a").line == "Cluster: context a (not connected), all namespaces, read-write"
    assert ClusterTarget("a", "h", "n", read_only=True).line == "Cluster: context a (h), namespace n, read-only"
    assert ClusterTarget("a\x1b", "h").question("Delete b", "1 object") == "Delete b in context a ? 1 object."
    assert ClusterTarget("a", runtime="n/r").question("Delete b") == "Delete b in runtime n/r of context a?"
    edited = ClusterTarget("a").of_kyma(["n/k", "n/k"])
    assert edited.question("Enable b") == "Enable b in Kyma n/k of context a?"
    assert edited.lines == ("Cluster: context a (not connected), all namespaces, read-write", "Kyma: n/k")


async def test_plans_and_the_questions_behind_them_name_the_cluster(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await app.push_screen(PlanScreen(PLAIN))
    await pilot.pause()
    assert lines(app.screen) == [HERE]
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
    assert lines(app.screen) == [HERE]


async def test_plans_of_edits_name_the_kyma(pilot: Pilot[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterKymaEdits, "may_write", lambda self, proposal: True)
    monkeypatch.setattr(ClusterKymaEdits, "uninstalls", lambda self, modules, *_: tuple(map(uninstall, modules)))
    app = await ready(pilot)
    app.jobs.run_flow(edit_modules(app, EditVerb.DISABLE, ["istio"]))
    await until(pilot, is_on(app, PlanScreen))
    assert lines(app.screen) == [f"{HERE}\nKyma: kyma-system/default"]


async def test_a_plan_that_asks_for_a_typed_name_has_the_accent_of_its_context() -> None:
    app = app_on(StillSession(world()), contexts=RED)
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await app.push_screen(PlanScreen(PREVIEW))
        await pilot.pause()
        assert lines(app.screen) == [HERE]
        assert app.screen.query_one(TargetLine).styles.background.hex == "#7A1F1F"


async def test_the_header_names_the_context_that_plans_and_backups_name() -> None:
    """The demo is opened under a name before its cluster has one."""
    session = StillSession(world())
    app = KymatuiApp(lambda: session, context="demo")
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        assert app.frame_facts.cluster == session.target.context == session.name


async def test_the_steps_of_a_deletion_name_the_cluster(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    app.ways.open(ScreenStep("delete", "keda"))
    await until(pilot, lambda: bool(lines(app.screen)))
    assert lines(app.screen) == [HERE]


async def test_jobs_name_the_cluster_that_they_write_to() -> None:
    app = FleetApp(StillFleet)
    go_on = threading.Event()

    def run(report: JobReport) -> str:
        go_on.wait(30)
        return "done"

    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.runtime_key is not None and app.catalog is not None)
        app.jobs.start(JobSpec("enable keda", run))
        await until(pilot, lambda: bool(app.jobs.all))
        app.ways.climb_to(0)  # the fleet's own screen names the control plane; the job stays the runtime's
        for step in (ScreenStep("jobs"), ScreenStep("job", "1")):
            app.ways.open(step)
            await until(pilot, lambda: lines(app.screen) == [RUNTIME])
        await pilot.press("ctrl+x")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert lines(app.screen) == [RUNTIME]
        await pilot.press("n")
        app.call_later(app.action_quit)
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert lines(app.screen) == [RUNTIME]
        go_on.set()


async def test_a_plan_is_for_the_cluster_on_which_it_was_asked_for() -> None:
    """Whoever leaves the runtime while its plan is made gets the plan of the runtime, and a job there."""
    app = FleetApp(StillFleet)
    made = threading.Event()

    async def plan(app: KymatuiApp) -> None:
        await app.jobs.in_thread(lambda: made.wait(30))
        answer = await app.push_screen_wait(PlanScreen(PLAIN))
        if answer.is_yes:
            app.jobs.start(JobSpec("enable keda", lambda report: "done"))

    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.runtime_key is not None and app.catalog is not None)
        app.jobs.run_flow(plan(app))
        await pilot.pause()
        app.ways.climb_to(0)
        await until(pilot, lambda: app.runtime_key is None)
        made.set()
        await until(pilot, is_on(app, PlanScreen))
        assert lines(app.screen) == [RUNTIME]


def is_on(app: KymatuiApp, kind: type[Screen[Any]]) -> Callable[[], bool]:
    return lambda: isinstance(app.screen, kind)
