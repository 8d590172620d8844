"""One edit over six runtimes that are servers of their own: in which order, how far, and on again after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.files.job_journals import interrupted, job_records
from kymatui.cli.main import main
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.job_records import JobRecord
from kymatui.engine.jobs.journal import JournalMark
from kymatui.sandbox.world.story.sample_fleet import access_secret
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.settings.config_file import Settings
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.widgets.plan_widgets import PlanTable
from tests import kube_writes
from tests.domain import builders as b
from tests.integration.embedded import GROUP, KYMAS, Embedded, eventually, served
from tests.integration.test_fleet import CONTROL, Fleet
from tests.sandboxes.patience import wait_longer_for_runtimes
from tests.sandboxes.starting import ready_sandbox
from tests.ui.driving import SIZE, text
from tests.ui.test_toggling import Person

pytestmark = pytest.mark.xdist_group("fleet-edits")

NAMES = [f"e{number}" for number in range(6)]
MODULE = "keda"
REPORT = b.report(MODULE, "1.6.0")


@dataclass
class Runtimes:
    """The runtimes, and their control plane."""

    control: Embedded
    clusters: dict[str, Embedded]
    kubeconfig: Path

    def entries(self, name: str) -> list[dict[str, Any]]:
        cluster = self.clusters[name].client
        resource = served(cluster, KYMAS)
        return list(cluster.get(resource, "default", "kyma-system")["spec"].get("modules") or [])

    def policies(self) -> list[str]:
        """Of the module in each runtime, "-" where it is not asked for."""
        found = [next((one for one in self.entries(name) if one["name"] == MODULE), None) for name in NAMES]
        return [one.get("customResourcePolicy", "") if one is not None else "-" for one in found]

    def generations(self) -> list[int]:
        """How often the spec of each Kyma was changed."""
        clusters = [self.clusters[name].client for name in NAMES]
        return [one.get(served(one, KYMAS), "default", "kyma-system")["metadata"]["generation"] for one in clusters]

    def report(self, name: str, modules: Sequence[Any]) -> None:
        """What lifecycle-manager says on the control plane."""
        resource = served(self.control.client, KYMAS)
        body = {"status": {"modules": list(modules)}}
        kube_writes.patch(self.control.client, resource, name, body, PatchKind.MERGE, CONTROL, subresource="status")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtimes]:
    folder = tmp_path_factory.mktemp("edits")
    with ready_sandbox("kcp", *NAMES) as sandbox:
        control = Embedded(sandbox.kubeconfig, "kcp", folder)
        fleet = Fleet(sandbox, control, folder)
        clusters = {name: Embedded(sandbox.kubeconfig, name, folder) for name in NAMES}
        for cluster in (control, *clusters.values()):
            cluster.define_kyma()
        control.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CONTROL}})
        for name, cluster in clusters.items():
            control.put(b.kyma((), name=name, namespace=CONTROL, status=[REPORT]))
            control.put(access_secret(name, fleet.kubeconfig_of(name)))
            cluster.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kyma-system"}})
        yield Runtimes(control, clusters, sandbox.kubeconfig)
        for cluster in (control, *clusters.values()):
            cluster.client.transport.close()


@pytest.fixture
def runtimes(made: Runtimes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtimes]:
    """All of them ask for the module, and have it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(made.kubeconfig))
    wait_longer_for_runtimes(monkeypatch)
    for name, cluster in made.clusters.items():
        body = b.kyma([{"name": MODULE, "customResourcePolicy": "CreateAndDelete"}])
        body["metadata"]["annotations"] = {f"deprecated-{GROUP}/owned-by": f"{CONTROL}/{name}"}
        cluster.put(body)
        made.report(name, [REPORT])
    yield made
    for cluster in made.clusters.values():
        cluster.clear()


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, str], str]]:
    """A command over all of them: its status, how each runtime ended, and what was said on the way."""

    def run(*words: str) -> tuple[int, dict[str, str], str]:
        given = ("--fleet", "--yes", "--allow-fleet-writes", "--at-once", "2", "-o", "json")
        status = main([*words, *given])
        printed = capsys.readouterr()
        return status, {one["runtime"][-2:]: one["outcome"] for one in json.loads(printed.out)["runtimes"]}, printed.err

    return run


def ended(told: str) -> list[str]:
    """The runtimes in the order in which they were done with."""
    starts = tuple(f"  {CONTROL}/{name}: " for name in NAMES)
    return [line.partition(":")[0][-2:] for line in told.splitlines() if line.startswith(starts)]


def test_the_canary_goes_first_then_two_at_once_and_nothing_after_a_failure(
    runtimes: Runtimes, command: Callable[..., tuple[int, dict[str, str], str]]
) -> None:
    runtimes.clusters["e3"].fault("error", verb="patch", resource=KYMAS)
    status, outcomes, told = command("policy", MODULE, "Ignore")
    done, failed, left = "done", "failed", "not started"
    assert (status, list(outcomes.values())) == (3, [done, done, done, failed, done, left])
    assert "canary: e0; then 5 more, 2 in parallel; stop on failure" in told
    order = ended(told)
    assert (order[0], set(order[1:3]), set(order[3:])) == ("e0", {"e1", "e2"}, {"e3", "e4"})
    was, now = "CreateAndDelete", "Ignore"
    assert runtimes.policies() == [now, now, now, was, now, was]
    runtimes.clusters["e3"].clear()
    status, outcomes, told = command("policy", MODULE, "Ignore")
    assert (status, list(outcomes.values())) == (0, ["unchanged"] * 3 + ["done", "unchanged", "done"])
    assert ended(told) == ["e3", "e5"], "the canary is the first of those that are left"
    assert runtimes.policies() == [now] * 6


def test_what_a_killed_run_has_edited_is_seen_to_its_end_before_anything_more_is_edited(
    runtimes: Runtimes, command: Callable[..., tuple[int, dict[str, str], str]]
) -> None:
    words = ("disable", MODULE, "--fleet", "--yes", "--allow-fleet-writes")
    killed = subprocess.Popen([sys.executable, "-m", "kymatui", *words], env=os.environ)
    try:
        eventually(lambda: not runtimes.entries("e0"), "the canary is edited", timeout=60)
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    left = "not started"
    status, outcomes, told = command("disable", MODULE, "--timeout", "0.1")
    assert (status, list(outcomes.values()), ended(told)) == (3, ["failed", *[left] * 5], ["e0"])
    assert "first wait for runtimes an earlier run changed: e0; canary: e1; then 4 more" in told
    assert runtimes.policies() == ["-", *["CreateAndDelete"] * 5]
    for name in NAMES:
        runtimes.report(name, [])  # lifecycle-manager has let all of them go
    status, outcomes, _ = command("disable", MODULE)
    assert (status, list(outcomes.values())) == (0, ["unchanged", *["done"] * 5])
    assert main(["disable", "kedda", "--runtime", "e0", "--fleet", "--dry-run"]) == 64, "what nobody knows is a slip"


IGNORE = ("policy", MODULE, "Ignore", "--fleet", "--yes", "--allow-fleet-writes", "--at-once", "2")


def steps(record: JobRecord | None) -> dict[str, JournalMark]:
    return {step.on[-2:]: step.mark for step in record.steps} if record is not None else {}


def running() -> JobRecord | None:
    return next((one for one in job_records() if one.is_running), None)


def test_a_killed_campaign_is_resumed_with_each_runtime_edited_once(
    runtimes: Runtimes, capsys: pytest.CaptureFixture[str]
) -> None:
    runtimes.clusters["e1"].fault("hang", verb="patch", resource=KYMAS)
    before = runtimes.generations()
    killed = subprocess.Popen([sys.executable, "-m", "kymatui", *IGNORE], stderr=subprocess.DEVNULL)
    began, done = JournalMark.BEGUN, JournalMark.DONE
    try:
        expected = {"e0": done, "e1": began, "e2": done}
        eventually(lambda: steps(running()) == expected, "the canary is edited, and one of the next two")
    finally:
        killed.kill()
        killed.wait()
    runtimes.clusters["e1"].clear()
    runtimes.clusters["e5"].fault("unauthorized")
    (record,) = interrupted()
    assert (record.title, record.state_words) == ("set policy Ignore for keda in 6 runtimes", "killed")
    listed = json.loads(printed(capsys, 0, "resume", "--list", "-o", "json"))["jobs"]
    assert [one["runtimes"] for one in listed] == [[f"{CONTROL}/{name}" for name in ("e1", "e3", "e4", "e5")]]
    printed(capsys, 2, "resume", "--yes")  # without --allow-fleet-writes
    told = json.loads(printed(capsys, 3, "resume", "--yes", "--allow-fleet-writes", "-o", "json"))
    outcomes = {one["runtime"][-2:]: one["outcome"] for one in told["runtimes"]}
    assert outcomes == {"e1": "done", "e3": "done", "e4": "done", "e5": "unreachable"}
    (record,) = interrupted()
    assert record.runtimes == (f"{CONTROL}/e5",), "what cannot be reached is still to be edited"
    runtimes.clusters["e5"].clear()
    printed(capsys, 0, "resume", "--yes", "--allow-fleet-writes")
    assert (interrupted(), len(job_records())) == ((), 1)
    assert runtimes.policies() == ["Ignore"] * 6
    assert [after - one for one, after in zip(before, runtimes.generations(), strict=True)] == [1] * 6


def test_a_second_interrupt_ends_a_campaign_and_says_what_is_unknown(
    runtimes: Runtimes, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("e1", "e2"):
        runtimes.clusters[name].fault("hang", verb="patch", resource=KYMAS)
    with subprocess.Popen([sys.executable, "-m", "kymatui", *IGNORE], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        eventually(lambda: {"e1", "e2"} <= set(steps(running())), "two runtimes are being edited")
        for name in ("e1", "e2"):
            runtimes.clusters[name].fault("hang")  # nor do they say whether they are edited
        process.send_signal(signal.SIGINT)
        assert any("press Ctrl-C again" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        told = process.stderr.read().replace("\n", " ")
        assert process.wait() == 130, told
    e0, e1, e2, *left = (f"{CONTROL}/{name}" for name in NAMES)
    assert f"Stopped. The last request may still take effect. Changed: {e0}. Unknown: " in told
    assert f"Unknown: {e1}, {e2}. " in told or f"Unknown: {e2}, {e1}. " in told
    assert f"Not changed: {', '.join(left)}. `kymatui resume` continues" in told
    for name in ("e1", "e2"):
        runtimes.clusters[name].clear()
    assert [len(one.runtimes) for one in interrupted()] == [5]
    printed(capsys, 0, "resume", "--yes", "--allow-fleet-writes")
    assert (interrupted(), runtimes.policies()) == ((), ["Ignore"] * 6)


def printed(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> str:
    ended = main([*words])
    out, err = capsys.readouterr()
    assert ended == status, err
    return out


async def test_the_screen_marks_them_shows_one_table_and_goes_on_where_a_failure_stopped_it(runtimes: Runtimes) -> None:
    options = RemoteOptions(SessionOptions(str(runtimes.kubeconfig), "kcp"))
    app = FleetApp(lambda: RemoteSession(options), settings=Settings(), allow_fleet_writes=True)
    async with app.run_test(size=SIZE) as pilot:
        person, screen = Person(pilot), app.screen
        assert isinstance(screen, FleetScreen)
        for name in NAMES:
            await person.until(lambda name=name: screen.main_widget().move_to(f"{CONTROL}/{name}"))  # type: ignore[misc]
            await person.press("space")
        await person.press("a")
        await person.sees(ChoiceScreen)
        await person.until(lambda: person.app.screen.query_one(PlanTable).move_to("policy"))
        await person.press("enter")
        await person.until(lambda: bool(person.app.screen.query("#choice-policy")))
        await person.until(lambda: person.app.screen.query_one("#choice-policy", PlanTable).move_to("Ignore"))
        await person.press("enter")
        await person.sees(PlanScreen)
        assert text(person.app, "#plan-head").splitlines()[0] == "6 runtimes: 6 to change"
        edited = [line for line in person.lines() if line.startswith("~ ")]
        order = [line.split()[1] for line in edited]  # as they stand in the fleet, the worst first
        assert (sorted(order), ["canary: " in line for line in edited]) == (NAMES, [True, *[False] * 5])
        assert runtimes.policies() == ["CreateAndDelete"] * 6
        runtimes.clusters[order[2]].fault("error", verb="patch", resource=KYMAS)
        await person.accepts()
        said = await person.ended()
        assert f"4 done, 1 failed, 1 not started; failed: {order[2]} (" in said, said
        job = person.app.jobs.find(1)
        assert job is not None
        assert [step.title for step in job.steps] == [order[0], f"{order[1]} and 3 more", order[5]]
        runtimes.clusters[order[2]].clear()
        again = person.app.jobs.again(1)
        assert again is not None
        person.app.jobs.run_flow(again())
        await person.sees(PlanScreen)
        assert text(person.app, "#plan-head").splitlines()[0] == "6 runtimes: 2 to change, 4 unchanged"
        await person.accepts()
        assert await person.ended(2) == "done: 2 done"
    assert runtimes.policies() == ["Ignore"] * 6
