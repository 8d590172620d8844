"""Jobs on the screen: they outlive it, are followed, stopped, planned anew, and asked about at the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.plans.jobs import Job, JobState, LogLine, module_key
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.jobs.job_records import JobRecord
from kymatui.engine.jobs.journal import JobHeading, JournalEntry, JournalMark
from kymatui.errors import PartlyDoneError, RefusedError
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.choice_dialog import ConfirmScreen
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.presenters.plans.job_rows import background_job_line, job_rows, stalled_hint
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.jobs_screen import JobScreen, JobsScreen
from kymatui.ui.widgets.top_line import TopLine
from tests.ui.driving import SIZE, cell, ready, shown, text, until
from tests.ui.fleets import StillFleet, fleet_app
from tests.ui.worlds import SilentCluster, StillSession, app_on, world

LONG = 60.0


class Deletion:
    """Work that waits for keda's manager until it is told how it ends."""

    def __init__(self, end: Exception | None = None) -> None:
        self.end = end
        self.go_on = threading.Event()

    def __call__(self, report: JobReport) -> str:
        report.step("delete what it manages")
        report.log("deleted", done=2, total=3, about="ScaledObject shop/cart")
        report.wait("ScaledObject shop/checkout has a finalizer", Actor.MANAGER)
        while not self.go_on.wait(0.01):
            report.check()
        if self.end is not None:
            raise self.end
        report.step("undeploy the manager")
        return "27 deleted"

    def work(self, title: str = "delete keda 1.6.0") -> JobSpec:
        steps = ("look", "delete what it manages", "undeploy the manager")
        stays = "2 of 3 objects are gone, and keda stays installed"
        return JobSpec(title, self, "keda", frozenset({module_key("keda")}), steps, stays)


@pytest.fixture
def deletion() -> Iterator[Deletion]:
    found = Deletion()
    yield found
    found.go_on.set()


async def begun(pilot: Pilot[Any], *works: JobSpec) -> KymatuiApp:
    """The app, with jobs that wait for something."""
    app = await ready(pilot)
    for work in works:
        assert app.jobs.start(work) is not None
    await until(pilot, lambda: bool(app.jobs.all and app.jobs.all[0].waits_for))
    return app


def job(app: KymatuiApp, number: int = 1) -> Job:
    found = app.jobs.find(number)
    assert found is not None
    return found


async def test_a_job_is_followed_from_everywhere_and_outlives_its_screen(pilot: Pilot[Any], deletion: Deletion) -> None:
    app = await begun(pilot, deletion.work(), deletion.work("delete it again"))
    await until(pilot, lambda: app.screen.query_one(TopLine).facts.jobs == "2 jobs")
    await pilot.press("J")
    await pilot.pause()
    assert isinstance(app.screen, JobsScreen)
    assert shown(app) == ["2", "1"]
    assert cell(app, "1", "progress") == "█████░░░░░  55%"
    assert cell(app, "1", "step") == "2/3 delete what it manages"
    assert cell(app, "1", "waits") == "the module's manager: ScaledObject shop/checkout has a finalizer"
    assert cell(app, "2", "waits") == "#1 delete keda 1.6.0 (both change module keda)"
    await pilot.press("j", "enter")
    await pilot.pause()
    assert isinstance(app.screen, JobScreen)
    assert "2 delete what it manages" in text(app, "#job-steps")
    await pilot.press("escape", "escape")
    await pilot.pause()
    assert isinstance(app.screen, CatalogScreen)
    deletion.go_on.set()
    await until(pilot, lambda: not app.jobs.active)
    assert [one.message for one in app.jobs.all] == ["27 deleted", "27 deleted"]
    assert app.screen.query_one(TopLine).facts.jobs == ""


async def test_cancelling_says_what_stays_behind_and_asks(pilot: Pilot[Any], deletion: Deletion) -> None:
    app = await begun(pilot, deletion.work())
    await pilot.press("ctrl+o", "ctrl+x")
    await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
    assert "2 of 3 objects are gone, and keda stays installed" in text(app, "#confirm-words")
    await pilot.press("enter")
    await pilot.pause()
    assert job(app).state is JobState.RUNNING
    await pilot.press("ctrl+x")
    await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
    await pilot.press("y")
    await until(pilot, lambda: job(app).state is JobState.CANCELLED)


async def test_a_bad_end_is_a_problem_and_a_refused_job_can_be_planned_anew() -> None:
    again = []

    async def flow() -> None:
        again.append(True)

    async with app_on(StillSession(world()), bell=True).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        for end in (PartlyDoneError("half of it", hint="run it again"), RefusedError("somebody was faster")):
            deletion = Deletion(end)
            deletion.go_on.set()
            app.jobs.start(deletion.work(), flow)
        await until(pilot, lambda: len(app.problems) == 2)
        assert app.problems == [
            "#1 delete keda 1.6.0: half of it. run it again",
            "#2 delete keda 1.6.0: somebody was faster",
        ]
        await pilot.press("J", "r")
        await until(pilot, lambda: again == [True])


@pytest.mark.parametrize("keys", [("q",), ("colon", *"quit", "enter")], ids=["key", "command"])
async def test_quitting_with_jobs_under_way_asks(deletion: Deletion, keys: tuple[str, ...]) -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await begun(pilot, deletion.work())
        await pilot.press(*keys)
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("escape")
        await pilot.pause()
        assert app.is_running
        await pilot.press(*keys)
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: app.return_code == 0)


async def test_read_only_begins_no_job(deletion: Deletion) -> None:
    session = StillSession(world())
    session.read_only = True
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert app.jobs.start(deletion.work()) is None
        assert app.jobs.all == ()
        assert app.problems == ["read-only: delete keda 1.6.0 is not started"]


def interrupt(monkeypatch: pytest.MonkeyPatch, *records: JobRecord) -> None:
    """Have journals of interrupted jobs on this machine."""
    for place in ("kymatui.adapters.files.job_journals", "kymatui.ui.flows.resume"):
        monkeypatch.setattr(f"{place}.interrupted", lambda cluster="": records)


async def test_what_was_cut_off_is_told_at_the_start_and_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    step = JournalEntry(1.0, "dead", JournalMark.BEGUN, "delete", "ScaledObject shop/cart")
    heading = JobHeading("delete", ("keda",), title="delete keda", cluster="prod-eu")
    others = JobRecord("9f8e7d", JobHeading("delete", ("keda",), cluster="prod-us"), 0.0, "dead", None, (step,))
    interrupt(monkeypatch, JobRecord("0a1b2c", heading, 0.0, "dead", None, (step,)), others)
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, lambda: bool(app.problems))
        assert app.problems == [
            "“delete keda”, started 1970-01-01 00:00 UTC, was interrupted at: delete ScaledObject shop/cart; "
            "type `:resume 0a1b2c` to continue"
        ]
        assert app.shown is not None
        app.shown.command_line.run("resume")
        await until(pilot, lambda: app.shown is not None and app.shown.step == ScreenStep("delete", "keda"))


async def test_a_job_with_options_that_the_screen_has_not_names_the_command_that_continues_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heading = JobHeading("install", ("keda",), {"verify": "true"}, "install keda", "prod-eu")
    interrupt(monkeypatch, JobRecord("0a1b2c", heading, 0.0, "dead"))
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, lambda: bool(app.problems))
        assert app.shown is not None
        app.shown.command_line.run("resume")
        advice = "run `kymatui resume 0a1b2c --context prod-eu` in a terminal"
        await until(pilot, lambda: any(advice in problem for problem in app.problems), lambda: app.problems)


class IdentifiedCluster(SilentCluster):
    """A control plane with an identity."""

    name = "kcp-prod"

    def __init__(self, uid: str) -> None:
        self._uid = uid

    def get(self, ref: ObjectRef, *, cancel: object = None) -> dict[str, Any]:
        del ref, cancel
        return {"metadata": {"uid": self._uid}}


async def test_an_interrupted_campaign_is_on_its_control_plane_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    step = JournalEntry(1.0, "dead", JournalMark.BEGUN, "runtime", "kcp-system/skr")
    options = {"channel": "fast", "runtimes": "kcp-system/skr"}
    heading = JobHeading("channel", ("keda",), options, "move keda", "kcp-prod", "uid-1")
    interrupt(monkeypatch, JobRecord("0a1b2c", heading, 0.0, "dead", None, (step,)))
    reported = {}
    for uid in ("uid-1", "uid-2"):
        fleet = StillFleet()
        fleet.home = cast("Cluster", IdentifiedCluster(uid))
        async with fleet_app(fleet).run_test(size=SIZE) as pilot:
            app = await ready(pilot)
            await until(pilot, lambda: app.jobs.is_read)  # noqa: B023 (awaited in the same turn)
            reported[uid] = [record.number for record in app.jobs.interrupted]
            await pilot.press("J")
            await until(pilot, lambda: app.shown is not None and app.shown.step.kind == "jobs")  # noqa: B023
            assert app.screen.has_class("-empty") is (uid == "uid-2"), "no word of no jobs while one waits"
    assert reported == {"uid-1": ["0a1b2c"], "uid-2": []}


async def test_an_interrupted_job_on_a_runtime_is_reported_on_its_control_plane_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = JournalEntry(1.0, "dead", JournalMark.BEGUN, "delete", "ScaledObject shop/cart")
    whose = ("kcp-prod/kcp-system/skr", "uid-skr", "uid-1")
    heading = JobHeading("delete", ("keda",), {}, "delete keda", *whose)
    interrupt(monkeypatch, JobRecord("0a1b2c", heading, 0.0, "dead", None, (step,)))
    reported = {}
    for uid in ("uid-1", "uid-2"):
        fleet = StillFleet()
        fleet.home = cast("Cluster", IdentifiedCluster(uid))
        async with fleet_app(fleet).run_test(size=SIZE) as pilot:
            app = await ready(pilot)
            await until(pilot, lambda: app.jobs.is_read)  # noqa: B023 (awaited in the same turn)
            await pilot.pause(0.3)
            reported[uid] = [problem for problem in app.problems if "a job on runtime" in problem]
    expected = "a job on runtime kcp-system/skr was interrupted; open the runtime (enter) to resume it"
    assert reported == {"uid-1": [expected], "uid-2": []}


async def test_an_edit_that_was_followed_is_followed_again_and_not_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    heading = JobHeading("channel", ("api-gateway",), {"channel": "default"}, "move api-gateway", "prod-eu")
    interrupt(monkeypatch, JobRecord("0a1b2c", heading, 0.0, "dead"))
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, lambda: bool(app.problems))
        assert app.problems == [
            "“move api-gateway”, started 1970-01-01 00:00 UTC, was interrupted; type `:resume 0a1b2c` to continue"
        ]
        assert app.shown is not None
        app.shown.command_line.run("resume api-gateway")
        await until(pilot, lambda: bool(app.jobs.all) and app.jobs.all[0].is_over)
        (job,) = app.jobs.all
        assert (job.title[:8], job.state, job.message) == ("resume: ", JobState.DONE, "api-gateway 3.4.1 is ready")


@pytest.mark.parametrize(
    ("waits", "actor", "seconds", "said"),
    [
        ("the Manifest", Actor.KLM, 299.0, ""),
        ("the Manifest", Actor.KLM, 300.0, "no progress for 5m: check that lifecycle-manager is running"),
        ("a name", Actor.YOU, 7200.0, "no progress for 2h: action needed"),
        ("", Actor.KLM, 7200.0, ""),
    ],
)
def test_who_waits_for_long_is_told_whom_to_look_after(waits: str, actor: Actor, seconds: float, said: str) -> None:
    job = Job(1, "enable keda", state=JobState.RUNNING, waits_for=waits, actor=actor, log=(LogLine(1_000.0, "begun"),))
    assert stalled_hint(job, 1_000.0 + seconds) == said
    assert said in " ".join(cell.text for row in job_rows([job], 1_000.0 + seconds) for cell in row.cells.values())


def test_who_looks_at_something_else_is_told_how_a_job_goes_on_and_is_stopped() -> None:
    job = Job(7, "delete keda", state=JobState.RUNNING, began=1_000.0, log=(LogLine(1_360.0, "begun"),))
    ways = "(continues in the background; J opens it, ctrl-x stops it)"
    assert (
        background_job_line(replace(job, message="deleting cart"), 1_420.0)
        == f"#7 delete keda: deleting cart, 7m so far {ways}"
    )
    waits = replace(job, waits_for="Keda a/b: still there", actor=Actor.MANAGER)
    assert background_job_line(waits, 1_960.0) == (
        "#7 delete keda: waiting for the module's manager: Keda a/b: still there, 16m so far; "
        f"no progress for 10m: check that the module's manager is running {ways}"
    )
