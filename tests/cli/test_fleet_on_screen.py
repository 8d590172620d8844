"""The screen on a control plane and a runtime that are both really there: which side is written to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.transport.transport import is_read_only_request
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MODULE_NAME
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.world.story import sample_fleet
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.settings.config_file import Settings
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.dialogs.action_menu import MenuScreen
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.screens.fleet.compare_screen import CompareScreen
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.widgets.plan_widgets import PlanTable
from tests.ui.driving import SIZE, table, text
from tests.ui.parsing import parse_once
from tests.ui.test_toggling import Person

pytestmark = pytest.mark.xdist_group("fleet")

MODULE = "connectivity-proxy"
INTERNAL = "operator.kyma-project.io/internal"
GROUP = "operator.kyma-project.io"
KYMA = GroupVersionKind(GROUP, "v1beta2", "Kyma")
MANIFEST = GroupVersionKind(GROUP, "v1beta2", "Manifest")
ON_KCP, ON_SKR = ObjectRef(KYMA, "kcp-system", "skr"), ObjectRef(KYMA, "kyma-system", "default")


@pytest.fixture(autouse=True)
def environment(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))
    monkeypatch.chdir(tmp_path)
    parse_once(monkeypatch)


@pytest.fixture
def sides(two_clusters: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """The control plane, and the runtime."""
    found = [open_cluster(SessionOptions(str(two_clusters), name)) for name in ("kcp", "skr")]
    yield found[0], found[1]
    for one in found:
        one.client.transport.close()


def fleet_app(two_clusters: Path, runtime: str = "", **more: Any) -> FleetApp:
    control = SessionOptions(str(two_clusters), "kcp", read_only=more.pop("read_only", False))
    options = RemoteOptions(control, runtime=runtime)
    return FleetApp(lambda: RemoteSession(options), settings=Settings(), **more)


def asked(cluster: Cluster, kyma: ObjectRef) -> list[str]:
    found = cluster.get(kyma)
    assert found is not None
    return [entry["name"] for entry in found["spec"].get("modules") or []]


def labels_of(cluster: Cluster, kyma: ObjectRef) -> dict[str, str]:
    found = cluster.get(kyma)
    assert found is not None
    return dict(found["metadata"].get("labels") or {})


def manifests(control: Cluster, module: str) -> list[str]:
    labels = f"{LABEL_KYMA_NAME}=skr,{LABEL_MODULE_NAME}={module}"
    return [raw["metadata"]["name"] for raw in control.list(MANIFEST, "kcp-system", labels=labels)]


async def test_what_is_enabled_and_deleted_goes_to_the_runtime_and_is_followed_on_its_control_plane(
    two_clusters: Path, sides: tuple[Cluster, Cluster]
) -> None:
    control, runtime = sides
    before = control.get(ON_KCP)
    assert before is not None
    async with fleet_app(two_clusters, "skr").run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("connectivity-proxy")
        await person.until(lambda: person.app.why_no_writes == "")
        await person.press("a")
        await person.sees(MenuScreen)
        await person.press("enter")
        await person.sees(ChoiceScreen)
        await person.press("enter")
        await person.sees(PlanScreen)
        assert person.lines()[0] == "~ Kyma kyma-system/default spec.modules[connectivity-proxy]"
        await person.press("enter", "space")
        await person.accepts()
        assert await person.ended() == "done: connectivity-proxy 1.0.2 is ready"
        assert "connectivity-proxy" in asked(runtime, ON_SKR)
        assert len(manifests(control, "connectivity-proxy")) == 1, "its Manifest is on the control plane"
        await person.types("label beta off")
        await person.sees(PlanScreen)
        assert [line.partition("  ")[0] for line in person.lines()][:4] == [
            "~ Kyma kcp-system/skr metadata.labels",
            "- module connectivity-proxy is uninstalled",
            "- ConnectivityProxy kyma-system/default deleted by lifecycle-manager",
            "- ModuleReleaseMeta connectivity-proxy catalog: delete",
        ]
        await person.press("enter")
        assert isinstance(person.app.screen, PlanScreen), "what is uninstalled has to be agreed to"
        await person.press("escape")
        await person.at("connectivity-proxy")
        await person.press("ctrl+d")
        await person.until(lambda: "on kcp: Manifest kcp-system/skr-" in text(person.app, "#departing-words"))
        await person.press("escape")
        await person.types("disable connectivity-proxy")
        await person.sees(PlanScreen)
        await person.press("enter", "space")
        await person.accepts()
        assert (await person.ended(2)).startswith("done: connectivity-proxy is removed from the Kyma")
        await person.types("label internal on")
        await person.sees(PlanScreen)
        assert any(line.startswith("+ ModuleTemplate compass-manager-") for line in person.lines())
        await person.accepts()
        assert await person.ended(3) == f"done: {INTERNAL} set to true"
    found = [labels_of(control, ON_KCP), labels_of(runtime, ON_SKR)]
    assert [INTERNAL in one for one in found] == [True, False], "the control plane's Kyma decides"
    control.patch(ON_KCP, {"metadata": {"labels": {INTERNAL: None}}}, PatchKind.MERGE)
    assert "connectivity-proxy" not in asked(runtime, ON_SKR)
    assert manifests(control, "connectivity-proxy") == []
    after = control.get(ON_KCP)
    assert after is not None
    assert (after["spec"], after["metadata"]["generation"]) == (before["spec"], before["metadata"]["generation"])


async def planned(person: Person, verb: str) -> None:
    """The plan of one verb with the module, for what is marked."""
    await person.press("a")
    await person.sees(ChoiceScreen)
    await person.until(lambda: person.app.screen.query_one(PlanTable).move_to(verb))
    await person.press("enter")
    await person.until(lambda: bool(person.app.screen.query("#choice-module")))
    await person.until(lambda: person.app.screen.query_one("#choice-module", PlanTable).move_to(MODULE))
    await person.press("enter")
    await person.sees(PlanScreen)


async def marked_in(person: Person, *names: str) -> FleetScreen:
    """The fleet with these runtimes marked."""
    screen = person.app.screen
    assert isinstance(screen, FleetScreen)
    for name in names:
        await person.until(lambda name=name: screen.main_widget().move_to(f"kcp-system/{name}"))  # type: ignore[misc]
        await person.press("space")
    return screen


async def test_marked_runtimes_are_one_plan_and_one_job_that_goes_on_where_it_stopped(
    two_clusters: Path, sides: tuple[Cluster, Cluster]
) -> None:
    control, runtime = sides
    paper = next(sample_fleet.runtimes(1))
    async with fleet_app(two_clusters, allow_fleet_writes=True).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        screen = await marked_in(person, "skr", paper)
        assert screen.targets == tuple(sorted(screen.targets, key=[r.key for r in screen.main_widget().rows].index))
        await planned(person, "enable")
        lines = person.lines()
        assert (lines[0][:5], "canary: " in lines[0]) == ("~ skr", True)
        assert lines[1].startswith(f"! {paper}"[:12])
        assert "unreachable: access secret not found" in lines[1]
        assert text(person.app, "#plan-head").splitlines()[0] == "2 runtimes: 1 to change, 1 unreachable"
        assert MODULE not in asked(runtime, ON_SKR)
        await person.accepts()
        assert await person.ended() == "done: 1 done"
        job = person.app.jobs.find(1)
        assert job is not None
        assert [step.title for step in job.steps] == ["skr"]
        assert MODULE in asked(runtime, ON_SKR)
        again = person.app.jobs.again(1)
        assert again is not None
        person.app.jobs.run_flow(again())
        await person.sees(PlanScreen)
        assert [line[:1] for line in person.lines()] == ["=", "!"], "what is done is done"
        assert "no selected runtime can be changed" in text(person.app, "#plan-words")
        await person.press("escape")
        await planned(person, "disable")
        await person.press("enter")
        assert isinstance(person.app.screen, PlanScreen), "what is uninstalled is agreed to by its number"
        await person.press("1")
        await person.accepts()
        assert await person.ended(2) == "done: 1 done"
    assert MODULE not in asked(runtime, ON_SKR)
    assert asked(control, ON_KCP) == []


@pytest.mark.parametrize(("read_only", "why"), [(False, "--allow-fleet-writes"), (True, "")])
async def test_many_runtimes_are_edited_only_when_that_is_allowed(
    two_clusters: Path, read_only: bool, why: str
) -> None:
    async with fleet_app(two_clusters, read_only=read_only).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        screen = await marked_in(person)
        await person.until(lambda: bool(screen.main_widget().rows))
        assert screen.why_off("edit_runtimes") == "mark runtimes first (space)"
        await marked_in(person, "skr")
        assert why in screen.why_off("edit_runtimes")
        assert bool(screen.why_off("edit_runtimes")) is not read_only, "an audit sees the plan"
        assert person.app.why_no_writes != ""


async def test_an_audit_shows_every_screen_of_both_clusters_and_neither_was_written_to(two_clusters: Path) -> None:
    logs = [FaultClient.for_kubeconfig(two_clusters, name) for name in ("kcp", "skr")]
    for log in logs:
        log.requests(forget=True)
    async with fleet_app(two_clusters, read_only=True, audit=True).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await marked_in(person, "skr")
        for key in ("v", "w", "h"):
            await person.press(key)
            await person.until(lambda: not isinstance(person.app.screen, FleetScreen))
            await person.press("escape")
            await person.until(lambda: isinstance(person.app.screen, FleetScreen))
        await planned(person, "enable")
        assert "an audit only reads" in text(person.app, "#plan-off")
        await person.press("enter")
        assert isinstance(person.app.screen, PlanScreen)
        await person.press("escape")
        await marked_in(person, "skr")
        await person.press("up", "equals_sign")
        await person.sees(CompareScreen)
        await person.until(lambda: bool(table(person.app).rows))
        await person.press("escape")
        await person.at("keda")
        await person.types("disable keda")
        await person.sees(PlanScreen)
        await person.press("enter")
        assert isinstance(person.app.screen, PlanScreen)
        await person.press("escape", "ctrl+d")
        await person.until(lambda: "on kcp: Manifest" in text(person.app, "#departing-words"))
    told = [one for log in logs for one in log.requests()["requests"] if "kymatui" in one["agent"]]
    assert len(told) > 30
    assert [one for one in told if not is_read_only_request(one["method"], one["path"])] == []
