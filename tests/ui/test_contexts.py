"""Another context without leaving, and the same one again after its kubeconfig changed on disk."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.adapters.files.context_memory import ContextMemory
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.engine.cluster.ports import Cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.contexts import KubeContexts
from kymatui.settings.config_file import Settings
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen, ConfirmScreen
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.contexts_screen import ContextsScreen
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.screens.problems_screen import ProblemsScreen
from kymatui.ui.widgets.top_line import TopLine
from tests.adapters.kube.test_kubeconfig import config, write
from tests.domain import builders as b
from tests.ui.conftest import Compare
from tests.ui.driving import SIZE, Size, cell, ready, shown, table, text, until
from tests.ui.fleets import StillFleet
from tests.ui.worlds import SilentCluster, StillSession, world

SETTINGS = Settings(contexts={"prod*": {"accent": "red", "read_only": True}})


class Session(StillSession):
    """A session with one context, which says when it is closed."""

    def __init__(self, options: SessionOptions, snapshot: Snapshot) -> None:
        super().__init__(replace(snapshot, cluster=options.context))
        self.name, self.namespace, self.read_only = options.context, options.namespace, options.read_only
        self.closed = threading.Event()
        self.is_whole = True

    def use_namespace(self, namespace: str) -> bool:
        if self.is_whole:
            self.namespace = namespace
        return self.is_whole

    @property
    def cluster(self) -> Cluster:
        return cast("Cluster", Namespaces())

    def close(self) -> None:
        self.closed.set()


class Namespaces(SilentCluster):
    """A cluster with three namespaces."""

    name = "dev"

    def kind(self, gvk: GroupVersionKind) -> object:
        return gvk

    def get(self, ref: ObjectRef, *, cancel: object = None) -> dict[str, Any] | None:
        return next((one for one in self.list(ref.kind) if one["metadata"]["name"] == ref.name), None)

    def list(self, gvk: GroupVersionKind) -> Any:
        names = ("apps", "empty", "kyma-system")
        return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]


class Machine:
    """A kubeconfig with three contexts, and an app on the first."""

    def __init__(self, folder: Path, **given: Any) -> None:
        parts = [config(name, server=f"https://{name}.example") for name in ("dev", "prod-eu", "stage")]
        joined = {key: [entry for one in parts for entry in one[key]] for key in ("clusters", "users", "contexts")}
        self.file = write(folder / "config", {**joined, "current-context": "dev"})
        self.memory = ContextMemory(folder / "state")
        self.sessions: list[Session] = []
        self.given: list[SessionOptions] = []
        self.world = world()
        self.options = SessionOptions(str(self.file), "dev", **given)
        contexts = KubeContexts(lambda: self.options, SETTINGS, self.open, context_memory=self.memory)
        self.app = KymatuiApp(
            lambda: self.open(self.options),
            context="dev",
            read_only=self.options.read_only,
            settings=SETTINGS,
            contexts=contexts,
            clock=lambda: b.NOW,
        )

    def open(self, options: SessionOptions) -> Session:
        self.given.append(options)
        self.sessions.append(Session(options, self.world))
        return self.sessions[-1]

    def change(self, change: Callable[[dict[str, Any]], None]) -> None:
        body = json.loads(self.file.read_text())
        change(body)
        write(self.file, body)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def opened(pilot: Pilot[Any], name: str) -> KymatuiApp:
    """Return the app once a context is open and displayed."""
    app = await ready(pilot)
    await until(pilot, lambda: app.contexts.here == name and app.view.place is not None and app.catalog is not None)
    await until(pilot, lambda: name in app.contexts.names)
    return app


async def types(pilot: Pilot[Any], line: str) -> None:
    """Run a command line as the prompt does."""
    app = pilot.app
    assert isinstance(app, KymatuiApp)
    assert app.shown is not None
    app.shown.command_line.run(line)
    await pilot.pause()


def messages(app: KymatuiApp) -> list[str]:
    return [one.message for one in app._notifications]


def top(app: KymatuiApp) -> str:
    return text(app, "TopLine")


async def test_contexts_are_listed_and_enter_switches(machine: Machine) -> None:
    machine.memory.note_use("stage", b.NOW - 7200)
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        await pilot.press("colon", *"ctx", "enter")
        await until(pilot, lambda: isinstance(app.screen, ContextsScreen) and len(table(app).rows) == 3)
        assert shown(app) == ["dev", "stage", "prod-eu"], "the recently used first"
        assert [cell(app, name, "status") for name in shown(app)] == ["● open", "", ""]
        assert [cell(app, name, "mode") for name in shown(app)] == ["RW", "RW", "read-only"]
        assert (cell(app, "prod-eu", "accent"), cell(app, "prod-eu", "user")) == ("red", "prod-eu")
        assert cell(app, "stage", "used") == "2h"
        await pilot.press("slash", *"prod", "enter")
        await until(pilot, lambda: shown(app) == ["prod-eu"])
        assert "server https://prod-eu.example" in text(app, "#reason")
        await pilot.press("enter")
        await opened(pilot, "prod-eu")
        assert isinstance(app.screen, CatalogScreen)
        await until(pilot, lambda: "ctx prod-eu" in top(app) and "[READ-ONLY]" in top(app))
        await until(pilot, lambda: app.has_class("-accent-red"))
        assert app.why_no_writes == "kymatui runs read-only"
        assert machine.sessions[0].closed.wait(10)
        assert not machine.sessions[1].closed.is_set()


async def test_history_marks_and_problems_are_left_behind(machine: Machine) -> None:
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        await pilot.press("space", "enter", "escape")
        await until(pilot, lambda: bool(table(app).marked))
        machine.sessions[0].show(module_resources={b.gvk("api-gateway"): (b.resource("api-gateway", "Error"),)})
        await until(pilot, lambda: app.view.history is not None and bool(app.view.history.changes))
        await types(pilot, "ctx stage")
        await opened(pilot, "stage")
        await until(pilot, lambda: bool(table(app).rows))
        assert not table(app).marked
        assert not app.ways.visits.can_go(-1)
        assert app.view.history is not None
        assert not app.view.history.changes
        machine.sessions[0].show(kymas=())
        machine.sessions[1].show()
        await pilot.pause()
        assert app.view.snapshot is not None
        assert app.view.snapshot.cluster == "stage", "the context before says nothing any more"
        await types(pilot, "ctx -")
        await opened(pilot, "dev")
        assert [one.name for one in machine.sessions] == ["dev", "stage", "dev"]


@pytest.mark.parametrize("audit", [False, True])
async def test_what_the_command_line_forbids_stays_forbidden(audit: bool, tmp_path: Path) -> None:
    machine = Machine(tmp_path, read_only=True)
    machine.app.is_audit = audit
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        await types(pilot, "ctx stage")
        await opened(pilot, "stage")
        assert app.read_only
        assert machine.sessions[-1].read_only
        assert ("[AUDIT" if audit else "[READ-ONLY]") in top(app)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ctx prod-eo", 'no context "prod-eo"; did you mean prod-eu?'),
        ("ctx -", "no earlier context; type `:ctx [NAME|-]`"),
        ("ctx dev", "dev is already open"),
    ],
)
async def test_a_context_that_is_no_other_one_is_refused(line: str, said: str, machine: Machine) -> None:
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        await types(pilot, line)
        await until(pilot, lambda: any(said in one for one in messages(app)), lambda: messages(app))
        assert len(machine.sessions) == 1


def cluster_of(body: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one["cluster"] for one in body["clusters"] if one["name"] == name)


async def test_a_broken_context_is_named_and_the_open_one_stays(machine: Machine) -> None:
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        machine.change(lambda body: cluster_of(body, "stage").update({"server": "ftp://stage"}))
        await types(pilot, "ctx")
        await until(pilot, lambda: isinstance(app.screen, ContextsScreen) and len(table(app).rows) == 3)
        assert cell(app, "stage", "status") == "✖ unusable"
        await types(pilot, "ctx stage")
        await until(pilot, lambda: bool(app.problems))
        assert "the cluster 'stage' in" in app.problems[0]
        assert "is not an http or https address" in app.problems[0]
        assert app.problems[0].endswith("dev stays open")
        machine.file.write_text("{")
        await types(pilot, "ctx prod-eu")
        await until(pilot, lambda: len(app.problems) == 2)
        assert "is not YAML" in app.problems[1]
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "Reading the kubeconfig" not in text(app, "#nothing"))
        await until(pilot, lambda: "is not YAML" in text(app, "#nothing"))
        assert app.view.session is machine.sessions[0]


async def test_a_server_that_does_not_answer_has_a_way_back(machine: Machine) -> None:
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        await types(pilot, "ctx stage")
        await opened(pilot, "stage")
        failed = Feed(FeedState.FAILED, b.NOW, "connection refused")
        session = machine.sessions[1]
        session.show(
            feeds=dict.fromkeys(session.snapshot().feeds, failed),
            **dict.fromkeys(("kymas", "templates", "release_metas", "manifests", "workloads"), ()),
            module_resources={},
        )
        await until(pilot, lambda: "`:ctx -` returns to dev" in text(app, "#banner"))
        assert "stage does not answer" in text(app, "#banner")
        await types(pilot, "ctx -")
        await opened(pilot, "dev")
        assert not app.screen.query_one("#banner").display


@pytest.mark.parametrize(
    "size", [(60, 24), (80, 24), (120, 40), (160, 24), (200, 24)], ids=lambda size: "x".join(map(str, size))
)
def test_pictures(size: Size, machine: Machine, compare: Compare) -> None:
    machine.memory.note_use("stage", b.NOW - 7200)

    async def walk(pilot: Pilot[Any]) -> None:
        app = await opened(pilot, "dev")
        await types(pilot, "ctx")
        await until(pilot, lambda: isinstance(app.screen, ContextsScreen) and len(table(app).rows) == 3)
        await pilot.press("j", "j")

    assert compare(machine.app, size, walk)


# jobs


class Work:
    """A job of one step, which notes the session that it writes to."""

    def __init__(self, machine: Machine) -> None:
        self._session = machine.sessions[-1]
        self.stepping, self.finish = threading.Event(), threading.Event()
        self.closed_while_running: bool | None = None

    def run(self, report: JobReport) -> str:
        report.step("first")
        self.stepping.set()
        assert self.finish.wait(30)
        self.closed_while_running = self._session.closed.is_set()
        report.step("second")
        return "done"

    def start(self, app: KymatuiApp) -> None:
        app.jobs.start(JobSpec("upgrade keda", self.run, "keda", frozenset({"keda"}), ("first", "second")))


async def test_a_job_is_asked_about_and_ends_on_its_own_cluster(machine: Machine) -> None:
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        work = Work(machine)
        work.start(app)
        assert work.stepping.wait(10)
        await until(pilot, lambda: bool(app.jobs.active))
        await types(pilot, "ctx stage")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert app.screen.query_one("#confirm").border_title == "Switch to stage and stop 1 job?"
        assert "upgrade keda" in text(app, "#confirm-words")
        await pilot.press("n")
        await until(pilot, lambda: not app.jobs.busy)
        assert (app.contexts.here, len(machine.sessions)) == ("dev", 1)
        await types(pilot, "ctx stage")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await until(pilot, lambda: app.jobs.is_closed)
        assert app.contexts.here == "dev", "it waits for the current step"
        work.finish.set()
        await opened(pilot, "stage")
        assert work.closed_while_running is False
        assert machine.sessions[0].closed.wait(10)
        assert app.jobs.all == ()


async def test_a_step_that_takes_longer_keeps_its_session(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kymatui.ui.flows.job_controller._PATIENCE", 0.05)
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        work = Work(machine)
        work.start(app)
        assert work.stepping.wait(10)
        await until(pilot, lambda: bool(app.jobs.active))
        await types(pilot, "ctx stage")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y")
        await opened(pilot, "stage")
        assert not machine.sessions[0].closed.is_set()
        work.finish.set()
        assert machine.sessions[0].closed.wait(10)
        assert work.closed_while_running is False
        await pilot.pause()
        assert app.jobs.all == (), "the jobs of another cluster are not those of this one"


# the same context again


async def test_a_changed_kubeconfig_is_read_again_and_what_changed_is_reported(machine: Machine) -> None:
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        await pilot.press("j", "space", "ctrl+r")
        await until(pilot, lambda: machine.sessions[0].retries == 1)
        machine.change(lambda body: cluster_of(body, "dev").update({"server": "https://new.example"}))
        machine.change(lambda body: body["users"][0]["user"].update({"token": "s3cr3t"}))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(machine.sessions) == 2, lambda: messages(app))
        await until(pilot, lambda: app.view.session is machine.sessions[1] and bool(table(app).rows))
        assert (
            "the kubeconfig changed (server https://dev.example → https://new.example, token); connecting with it"
            in messages(app)
        )
        assert table(app).marked == {"btp-operator"}, "what is displayed stays"
        assert machine.sessions[0].closed.wait(10)
        await until(pilot, lambda: app.view.connection.word == "live")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: machine.sessions[1].retries == 1)
        assert len(machine.sessions) == 2


async def test_a_kubeconfig_that_broke_is_reported_and_the_connection_stays(machine: Machine) -> None:
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        machine.change(lambda body: body.update(contexts=[]))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: bool(app.problems))
        assert 'no context "dev"' in app.problems[0] or "dev" in app.problems[0]
        assert app.problems[0].endswith("dev stays open")
        assert app.view.session is machine.sessions[0]


# namespaces


@pytest.fixture
def spread() -> Snapshot:
    """Modules in two namespaces, with objects and events in both."""
    apps = b.resource("nats")
    apps["metadata"]["namespace"] = "apps"
    return replace(world(), module_resources={**world().module_resources, b.gvk("nats"): (b.resource("nats"), apps)})


@pytest.mark.parametrize("is_whole", [True, False])
async def test_a_namespace_narrows_lists_and_is_read_only_where_it_must(
    machine: Machine, spread: Snapshot, is_whole: bool
) -> None:
    """Where all namespaces are listed, nothing is read again; else another session reads this namespace first."""
    machine.world = spread
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        machine.sessions[0].is_whole = is_whole
        whole = shown(app)
        await types(pilot, "ns apps")
        await until(pilot, lambda: shown(app) == ["nats"])
        assert len(machine.sessions) == (1 if is_whole else 2)
        assert machine.sessions[-1].namespace == "apps", "as --namespace does"
        await until(pilot, lambda: "ctx dev  ns apps" in top(app))
        assert "1 of 9" in text(app, "#views").replace("of  ", "of ")
        await until(pilot, lambda: app.view.session is machine.sessions[-1])
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, ModuleScreen) and bool(table(app).rows))
        assert {cell(app, key, "namespace") for key in shown(app)} <= {"apps", ""}
        await types(pilot, "problems")
        await until(pilot, lambda: isinstance(app.screen, ProblemsScreen))
        assert "only namespace apps" in text(app, "#counts")
        assert not [key for key in shown(app) if "kyma-system/" in cell(app, key, "object")]
        await types(pilot, "modules")
        await types(pilot, "ns all")
        await until(pilot, lambda: shown(app) == whole)
        assert machine.sessions[-1].namespace == ""
        assert "ns apps" not in top(app)


async def test_an_empty_namespace_says_what_is_hidden(machine: Machine) -> None:
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        await types(pilot, "ns empty")
        await until(pilot, lambda: "Nothing in namespace empty" in text(app, "#notice"))
        assert "9 modules hidden" in text(app, "#notice")
        await types(pilot, "ns appps")
        await until(pilot, lambda: bool(app.problems))
        assert "appps" in app.problems[0]
        assert "did you mean apps?" in app.problems[0]
        assert app.only_namespace == "empty"
        await types(pilot, "ctx stage")
        await opened(pilot, "stage")
        assert app.only_namespace == "", "it belonged to the context before"


async def test_a_namespace_is_chosen_from_a_list_and_jobs_continue(machine: Machine, spread: Snapshot) -> None:
    machine.world = spread
    async with machine.app.run_test(size=SIZE) as pilot:
        app = await opened(pilot, "dev")
        work = Work(machine)
        work.start(app)
        assert work.stepping.wait(10)
        await until(pilot, lambda: bool(app.jobs.active))
        await types(pilot, "ns")
        await until(pilot, lambda: isinstance(app.screen, ChoiceScreen))
        assert shown(app) == ["all", "apps", "kyma-system"]
        await pilot.press("j", "enter")
        await until(pilot, lambda: app.only_namespace == "apps")
        assert app.jobs.active
        assert not machine.sessions[0].closed.is_set(), "the job writes to it"
        work.finish.set()
        await until(pilot, lambda: not app.jobs.active)
        assert [job.state.value for job in app.jobs.all] == ["done"]
        assert machine.sessions[0].closed.wait(10)


async def test_a_namespace_of_the_command_line_is_the_same(tmp_path: Path, spread: Snapshot) -> None:
    app = KymatuiApp(lambda: StillSession(spread), namespace="apps", clock=lambda: b.NOW)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: shown(app) == ["nats"])
        assert "ns apps" in top(app)


async def test_without_a_kubeconfig_the_command_says_so() -> None:
    async with KymatuiApp(lambda: StillSession(world()), clock=lambda: b.NOW).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await types(pilot, "ctx other")
        await until(pilot, lambda: bool(app.problems))
        assert app.problems == ["this session has no kubeconfig with other contexts"]


async def test_a_fleet_switches_to_another_control_plane(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    fleets: list[StillFleet] = []

    def connect(options: SessionOptions) -> StillFleet:
        fleets.append(StillFleet())
        fleets[-1].name = options.context
        return fleets[-1]

    contexts = KubeContexts(lambda: machine.options, SETTINGS, connect, context_memory=machine.memory)
    fleet = FleetApp(lambda: connect(machine.options), contexts=contexts, settings=SETTINGS, clock=lambda: b.NOW)
    async with fleet.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await until(pilot, lambda: fleet.contexts.here == "dev")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(fleet.screen, CatalogScreen))
        await types(pilot, "ctx stage")
        await until(pilot, lambda: isinstance(fleet.screen, FleetScreen) and fleet.contexts.here == "stage")
        await until(pilot, lambda: fleet.fleet is not None and bool(table(fleet).rows))
        assert "ctx stage" in str(fleet.screen.query_one(TopLine).render())
        assert len(fleets) == 2
