"""`kymatui upgrade --contexts`: each context has its plan, and only what that displayed is done there."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.actions.batch import BatchJob, run_items
from kymatui.actions.edits.campaign import CampaignEdit, ContextUpgrades, UpgradeCampaign, campaign_item, campaign_steps
from kymatui.actions.modules.install import plan_installs
from kymatui.actions.modules.install_plan import Adoption, InstallRequest
from kymatui.actions.modules.module_sources import ModuleSource
from kymatui.adapters.files.job_journals import open_job
from kymatui.domain.fleet.campaigns import CampaignOutcome, CampaignPace
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.plans.cluster_target import ALL_CONTEXTS
from kymatui.domain.plans.jobs import RUNTIMES, JobPurpose
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.engine.jobs.job_records import RUNTIME_STEP, join_runtimes
from kymatui.engine.jobs.journal import Journal, JournalMark
from kymatui.errors import CancelledError
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.context_fleet import listed_contexts
from kymatui.sessions.contexts import list_entries
from kymatui.sessions.install_port import SessionInstallPort
from kymatui.settings.config_file import Settings
from kymatui.ui.application.contexts_app import ContextsApp
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.widgets.plan_widgets import PlanTable
from tests.cli.test_contexts import Kubeconfig, Run, identity, kubeconfig, outcomes, run, settings
from tests.cli.test_contexts_on_screen import contexts_app, is_read
from tests.ui.driving import SIZE, text
from tests.ui.parsing import parse_once
from tests.ui.test_toggling import Person

__all__ = ["kubeconfig", "run", "settings"]
pytestmark = pytest.mark.xdist_group("fleet")

PROBE = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "probe", "probe")
TEMPLATE = GroupVersionKind("operator.kyma-project.io", "v1beta2", "ModuleTemplate")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
WRITES = ("--allow-fleet-writes", "--yes")
KEPT = ("name", "namespace", "labels", "annotations")


@pytest.fixture
def sides(two_clusters: Path) -> Iterator[dict[str, Cluster]]:
    opened = [open_cluster(SessionOptions(str(two_clusters), name)) for name in ("kcp", "skr")]
    yield {cluster.name: cluster for cluster in opened}
    for cluster in opened:
        cluster.client.transport.close()


@pytest.fixture
def source(tmp_path: Path) -> Callable[[str], str]:
    """Return the file of a version of the module `probe`."""

    def write(version: str) -> str:
        path = tmp_path / f"probe-{version}.yaml"
        path.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: probe}}\ndata: {{v: '{version}'}}\n")
        return str(path)

    return write


@pytest.fixture
def probes(run: Run, source: Callable[[str], str], sides: dict[str, Cluster]) -> Iterator[dict[str, Cluster]]:
    """Install version 1 of `probe` on both clusters."""
    for name in sides:
        assert run("install", "probe", "--file", source("1"), "-n", "probe", "--context", name, "--yes")[0] == 0
    yield sides
    for name in sides:
        run("delete", "probe", "-n", "probe", "--context", name, "--yes", "--no-backup")


@pytest.fixture
def registry(run: Run, sides: dict[str, Cluster]) -> Iterator[None]:
    """Install an old version of a community module on the runtime, which has its templates then."""
    found = [raw for raw in sides["kcp"].list(TEMPLATE, "default") if "registry-proxy" in read_ref(raw).name]
    for body in found:
        body["metadata"] = {key: body["metadata"][key] for key in KEPT if key in body["metadata"]}
        sides["skr"].apply(body, manager="kubectl")
    assert run("install", "registry-proxy", "--version", "0.14.0", "--context", "skr", "--yes")[0] == 0
    yield
    words = ("--context", "skr", "--yes", "--no-backup", "--cascade", "--delete-crds")
    assert run("delete", "registry-proxy", *words)[0] == 0
    for body in found:
        sides["skr"].delete(read_ref(body))


def versions(clusters: dict[str, Cluster]) -> dict[str, str]:
    found = {name: cluster.get(PROBE) for name, cluster in clusters.items()}
    return {name: raw["data"]["v"] for name, raw in found.items() if raw is not None}


@pytest.mark.usefixtures("settings")
def test_each_context_has_its_plan_and_one_cluster_is_upgraded_once(
    run: Run, kubeconfig: Kubeconfig, probes: dict[str, Cluster], source: Callable[[str], str]
) -> None:
    kubeconfig.add("shut")
    kubeconfig.add("dead", server="https://127.0.0.1:9")
    words = ("upgrade", "probe", "--file", source("2"), "--contexts", "prod/*", "kcp", "shut", "dead")
    status, out, err = run(*words, "--dry-run", "-o", "json")
    entries = {entry["context"]: entry for entry in json.loads(out)["contexts"]}
    assert status == 3
    assert outcomes(out) == {
        "dead": "unreachable",
        "kcp": "planned",
        "prod/eu": "planned",
        "prod/us": "unchanged",
        "shut": "unchanged",  # a plan writes nothing, and this is the cluster of prod/eu
    }
    (plan,) = entries["prod/eu"]["plans"]
    assert [step["name"] for step in plan["steps"] if step["action"] == "change"] == ["probe"]
    assert (entries["prod/us"]["plans"], entries["dead"]["plans"]) == ([], [])
    assert "canary: kcp; then 1 more, 4 in parallel" in err
    assert run(*words, "--yes")[0] == 2
    assert "not a terminal" in run(*words, "--allow-fleet-writes")[2]
    assert versions(probes) == {"kcp": "1", "skr": "1"}

    status, out, err = run(*words, *WRITES, "-o", "json")
    assert status == 3
    assert outcomes(out) == {
        "dead": "unreachable",
        "kcp": "done",
        "prod/eu": "done",
        "prod/us": "unchanged",
        "shut": "refused",
    }
    assert err.count('data.v: "1" → "2"') == 2, "the plan of each context is displayed before it is done"
    assert versions(probes) == {"kcp": "2", "skr": "2"}
    again = run("upgrade", "probe", "--file", source("2"), "--contexts", "prod/eu", "kcp", *WRITES, "-o", "json")
    assert (again[0], set(outcomes(again[1]).values())) == (0, {"unchanged"})
    assert run("resume", "--list")[1] == ""


def test_a_module_that_one_context_has_is_unknown_nowhere(
    run: Run, probes: dict[str, Cluster], source: Callable[[str], str]
) -> None:
    assert run("delete", "probe", "-n", "probe", "--context", "kcp", "--yes", "--no-backup")[0] == 0
    words = ("--file", source("2"), "--contexts", "prod/eu", "kcp", "--dry-run", "-o", "json")
    status, out, _ = run("upgrade", "probe", *words)
    assert (status, outcomes(out)) == (0, {"kcp": "unchanged", "prod/eu": "planned"})
    status, out, _ = run("upgrade", "prob", *words)
    assert (status, set(outcomes(out).values())) == (2, {"refused"})
    assert versions(probes) == {"skr": "1"}


def test_an_interrupted_upgrade_of_contexts_continues(
    run: Run, kubeconfig: Kubeconfig, probes: dict[str, Cluster], source: Callable[[str], str]
) -> None:
    names = (f"{identity(kubeconfig, 'prod/eu')}/renamed", f"{identity(kubeconfig, 'kcp')}/kcp")
    options = {"file": source("2"), "canaries": "0", RUNTIMES: join_runtimes(names)}
    job = open_job(ALL_CONTEXTS, JobPurpose("upgrade", ("probe",), options), "upgrade probe in 2 contexts")
    job.journal.write(JournalMark.DONE, RUNTIME_STEP, names[1])
    job.journal.write(JournalMark.FAILED, RUNTIME_STEP, names[0])
    job.end(CancelledError("stopped"))
    status, out, _ = run("resume", "--contexts", *WRITES, "-o", "json")
    assert (status, list(outcomes(out).values())) == (0, ["done"])
    assert versions(probes) == {"kcp": "1", "skr": "2"}, "what is done is not planned again"
    assert run("resume", "--list")[1] == ""


@pytest.mark.usefixtures("registry")
def test_all_outdated_modules_of_contexts_are_upgraded(run: Run) -> None:
    words = ("upgrade", "--all", "--contexts", "prod/eu", "prod/us")
    status, out, _ = run(*words, "--dry-run")
    assert status == 0
    assert ["prod/eu", "planned", "registry-proxy", "0.14.0", "0.15.0"] in [
        [cells[0], *cells[2:6]] for line in out.splitlines() if len(cells := line.split()) > 6
    ]
    status, out, _ = run(*words, *WRITES, "-o", "json")
    assert (status, outcomes(out)) == (0, {"prod/eu": "done", "prod/us": "unchanged"})
    (module,) = (
        entry
        for entry in json.loads(run("catalog", "--context", "skr", "-o", "json")[1])["modules"]
        if entry["name"] == "registry-proxy"
    )
    assert module["installed"] == "0.15.0"


@pytest.mark.parametrize(
    "words",
    [
        ("--all", "--canaries", "2"),
        ("--all", "--allow-fleet-writes"),
        ("--all", "--contexts", "--at-once", "9"),
        ("a", "b", "--file", "x.yaml", "--contexts"),
    ],
)
def test_options_of_many_contexts_need_contexts(run: Run, words: tuple[str, ...]) -> None:
    assert run("upgrade", *words)[0] == 64


class Silent:
    """Displays nothing."""

    def begin(self, items: object) -> None: ...

    stop = begin


def campaign_of(kubeconfig: Kubeconfig, *paths: str, everything: bool = False) -> UpgradeCampaign:
    """Return the upgrade of `probe` from a file; from further files it is refused."""
    options = SessionOptions(str(kubeconfig.path))
    entries = {entry.name: entry for entry in list_entries(options, Settings(), {})}
    requests = {
        path: InstallRequest("probe", ModuleSource(file=path), "probe", adoption=Adoption.UPGRADE) for path in paths
    }

    def planned(session: Any) -> ContextUpgrades:
        return ContextUpgrades(plan_installs(SessionInstallPort(session), requests))

    listed = listed_contexts(options, entries, edits_kymas=False)
    return UpgradeCampaign(listed, SessionInstallPort, planned, CampaignPace(), everything=everything)


@pytest.mark.parametrize("everything", [True, False])
def test_a_refused_module_refuses_a_context_only_if_a_person_named_it(
    kubeconfig: Kubeconfig, probes: dict[str, Cluster], source: Callable[[str], str], everything: bool
) -> None:
    campaign = campaign_of(kubeconfig, source("2"), "/no/such/file.yaml", everything=everything)
    (step,) = campaign.plan(["/kcp"])
    if not everything:
        assert step.outcome is CampaignOutcome.REFUSED
        assert "/no/such/file.yaml" in step.message
        return
    assert (step.outcome, len(campaign.plans_of(step.runtime)), len(step.warnings)) == (CampaignOutcome.PLANNED, 1, 1)
    (ended,) = run_items(
        [campaign_item(step)], CampaignEdit(campaign, lambda _: None), Silent(), BatchJob(threading.Event())
    )
    assert ended.result is not None
    assert (ended.result.outcome, ended.error is None) == (CampaignOutcome.PARTLY, False), "exit status 3"
    assert versions(probes) == {"kcp": "2", "skr": "1"}


def test_a_cluster_that_changed_after_its_plan_stops_the_upgrade(
    kubeconfig: Kubeconfig, probes: dict[str, Cluster], source: Callable[[str], str]
) -> None:
    campaign = campaign_of(kubeconfig, source("2"))
    steps = campaign.plan(["/kcp", "/skr"])
    probes["kcp"].patch(PROBE, {"data": {"v": "another"}}, PatchKind.MERGE)
    journal, items = Journal(None, "", lambda: 0.0), [campaign_item(step) for step in steps]
    verb = CampaignEdit(campaign, lambda _: None)
    ended = campaign_steps(run_items(items, verb, Silent(), BatchJob(threading.Event(), journal)))
    assert [step.outcome for step in ended] == [CampaignOutcome.FAILED, CampaignOutcome.NOT_BEGUN]
    assert "changed since the plan" in ended[0].message
    assert [(step.on, step.mark) for step in journal.steps] == [(steps[0].runtime, JournalMark.FAILED)]
    assert versions(probes) == {"kcp": "another", "skr": "1"}


def test_a_stop_before_the_first_change_changes_nothing(
    kubeconfig: Kubeconfig, probes: dict[str, Cluster], source: Callable[[str], str]
) -> None:
    campaign, cancel = campaign_of(kubeconfig, source("2")), threading.Event()
    (step,) = campaign.plan(["/kcp"])
    cancel.set()
    with campaign.runs([step.runtime]) as plane:
        session = plane.open(step.runtime, lambda: None)
        journal = Journal(None, "", lambda: 0.0)
        ended = campaign.change_runtime(step, session, threading.Event(), cancel, journal)
        session.close()
    assert (ended.outcome, ended.message) == (CampaignOutcome.NOT_BEGUN, "")
    assert versions(probes) == {"kcp": "1", "skr": "1"}


# the screen


async def chosen(person: Person, app: ContextsApp, module: str) -> PlanScreen:
    """Mark the context and plan the upgrade of a module."""
    await person.until(lambda: app.screen.main_widget().move_to("/prod/eu"))  # type: ignore[attr-defined]
    await person.press("space", "a")
    await person.sees(ChoiceScreen)
    await person.until(lambda: app.screen.query_one(PlanTable).move_to("upgrade"))
    await person.press("enter")
    await person.until(lambda: bool(app.screen.query("#choice-module")))
    await person.until(lambda: app.screen.query_one("#choice-module", PlanTable).move_to(module))
    await person.press("enter")
    await person.sees(PlanScreen)
    assert isinstance(app.screen, PlanScreen)
    return app.screen


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("module", ["", "registry-proxy"])
async def test_marked_contexts_are_upgraded_as_the_plan_displays(
    kubeconfig: Kubeconfig, sides: dict[str, Cluster], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    parse_once(monkeypatch)
    app = contexts_app(kubeconfig, "prod/eu", allow_fleet_writes=True)
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.until(lambda: is_read(app))
        plan = await chosen(person, app, module)
        (line,) = plan.preview.lines
        assert line.name == "prod/eu"
        assert {"  registry-proxy", "- 0.14.0", "+ 0.15.0"} < set(line.diff)
        assert any(text.startswith("  change Deployment registry-proxy/") for text in line.diff)
        assert text(app, "#plan-head").splitlines()[0] == "1 context: 1 to change"
        await person.accepts()
        assert await person.ended() == "done: 1 done"
    assert any("0.15.0" in json.dumps(raw) for raw in sides["skr"].list(DEPLOYMENT, "registry-proxy"))


async def test_a_screen_leaves_upgrades_with_options_to_a_terminal(
    kubeconfig: Kubeconfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    parse_once(monkeypatch)
    options = {"file": "/x.yaml", RUNTIMES: f"{identity(kubeconfig, 'prod/eu')}/prod/eu"}
    job = open_job(ALL_CONTEXTS, JobPurpose("upgrade", ("probe",), options), "upgrade probe in 1 context")
    job.journal.write(JournalMark.FAILED, RUNTIME_STEP, options[RUNTIMES])
    job.end(CancelledError("stopped"))
    app = contexts_app(kubeconfig, "prod/eu", allow_fleet_writes=True)
    problems = list[str]()
    monkeypatch.setattr(app, "problem", lambda words, **_: problems.append(words))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.until(lambda: is_read(app) and bool(app.jobs.interrupted))
        await person.types("resume")
        await person.until(lambda: any(f"kymatui resume {job.number} --contexts" in words for words in problems))
