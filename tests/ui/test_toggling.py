"""Edits of the Kyma from the screen, in the sample world: keys pressed, the screen read, the cluster looked at."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from textual.pilot import Pilot

from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.adapters.kube.transport.transport import is_read_only_request
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma_edit.module_edit import EditProposal
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.errors import OutdatedError
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.settings.config_file import Settings
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.action_menu import MenuScreen
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen, ConfirmScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.object_edit import why_not_editable
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.widgets.plan_widgets import DiffView, PlanTable, Tick
from kymatui.ui.widgets.top_line import TopLine
from tests.domain import builders as b
from tests.sandboxes.resuming import resume_reconciliation
from tests.sandboxes.starting import told_sandbox
from tests.ui.driving import SIZE, table, text, until
from tests.ui.worlds import LIVE, SilentCluster, StillSession, app_on, installed, uninstall, world

pytestmark = pytest.mark.xdist_group("toggling-screens")  # one sandbox for all of them

KYMA = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), "kyma-system", "default")


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionOptions]:
    with told_sandbox() as running:
        yield SessionOptions(str(running.kubeconfig))


@pytest.fixture
def app(options: SessionOptions) -> KymatuiApp:
    return app_of(options)


@pytest.fixture
def cluster(options: SessionOptions) -> Cluster:
    return open_cluster(options)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def entries(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """The modules that the Kyma asks for, by name."""
    kyma = cluster.get(KYMA)
    assert kyma is not None
    return {entry["name"]: entry for entry in kyma["spec"]["modules"]}


class Person:
    """Somebody before the screen: waits for what should come, as long as it takes."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot = pilot
        assert isinstance(pilot.app, KymatuiApp)
        self.app = pilot.app

    async def until(self, holds: Callable[[], bool]) -> None:
        await until(self.pilot, holds, lambda: f"; problems: {self.app.problems}, jobs: {self.app.jobs.all}")

    async def sees(self, screen: type) -> None:
        def is_there() -> bool:
            found = self.app.screen
            is_complete = not isinstance(found, MenuScreen) or found.is_complete
            return isinstance(found, screen) and found.is_attached and is_complete

        await self.until(is_there)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def at(self, module: str) -> None:
        """The cursor of the catalog on a module."""
        await self.until(lambda: self.app.catalog is not None and self.app.catalog.row(module) is not None)
        await self.until(lambda: table(self.app).move_to(module))

    async def types(self, line: str) -> None:
        await self.press("colon", *[{" ": "space"}.get(letter, letter) for letter in line], "enter")

    async def accepts(self) -> None:
        await self.sees(PlanScreen)
        await self.press("enter")
        await self.sees(ConfirmScreen)
        await self.press("y")

    async def ended(self, number: int = 1) -> str:
        await self.until(lambda: (job := self.app.jobs.find(number)) is not None and job.is_over)
        job = self.app.jobs.find(number)
        assert job is not None
        return f"{job.state.value}: {job.message}"

    def lines(self) -> list[str]:
        """The plan, as it stands there."""
        rows = self.app.screen.query_one(PlanTable).rows
        return [" ".join(cell.text for cell in row.cells.values()) for row in rows]


def app_of(options: SessionOptions, **more: Any) -> KymatuiApp:
    return KymatuiApp(lambda: open_session(options), settings=Settings(), read_only=options.read_only, **more)


async def test_a_module_is_enabled_from_the_menu_and_followed_until_it_is_ready(
    cluster: Cluster, pilot: Pilot[Any]
) -> None:
    person = Person(pilot)
    await person.at("connectivity-proxy")
    await person.press("a")
    await person.sees(MenuScreen)
    assert "lifecycle-manager installs modules here" in text(person.app, "#menu-words")
    off = {row.key: row.cells["off"].text for row in person.app.screen.query_one(PlanTable).rows}
    assert off["enable"] == ""
    assert "is not enabled in" in off["disable"]
    await person.press("enter")
    await person.sees(ChoiceScreen)
    await person.press("enter")
    await person.sees(PlanScreen)
    assert person.lines() == [
        "~ Kyma kyma-system/default spec.modules[connectivity-proxy]",
        "+ module connectivity-proxy is installed (1.0.2)",
    ]
    assert "+     - name: connectivity-proxy" in person.app.screen.query_one(DiffView).lines
    assert "connectivity-proxy" not in entries(cluster)
    await person.press("enter")
    assert "install the beta module connectivity-proxy" in text(person.app, ".plan-tick:focus")
    await person.press("space")
    await person.accepts()
    assert await person.ended() == "done: connectivity-proxy 1.0.2 is ready"
    job = person.app.jobs.find(1)
    assert job is not None
    assert [step.title for step in job.steps] == [
        "edit the Kyma",
        "accepted by the server",
        "Manifest created",
        "applying",
        "ready",
    ]
    assert any(line.about == "who acts: lifecycle-manager" for line in job.log)
    assert entries(cluster)["connectivity-proxy"] == {
        "name": "connectivity-proxy",
        "customResourcePolicy": "CreateAndDelete",
        "managed": True,
    }


def but_for(module: str, carry_out: Callable[..., int]) -> Callable[..., int]:
    """The edits of all modules but one, which somebody else has changed."""

    def edit(toggling: ClusterKymaEdits, proposal: EditProposal, *given: Any) -> int:
        if proposal.toggle.module == module:
            raise OutdatedError(f"somebody else has changed {module}")
        return carry_out(toggling, proposal, *given)

    return edit


async def test_several_modules_are_one_plan_and_what_is_uninstalled_is_agreed_to(
    cluster: Cluster, pilot: Pilot[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(pilot)
    await asyncio.to_thread(resume_reconciliation, cluster, "application-connector")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(ClusterKymaEdits, "carry_out", but_for("nats", ClusterKymaEdits.carry_out))
        await person.at("nats")
        await person.types("policy nats cluster-ip Ignore")
        await person.accepts()
        said = await person.ended()
    assert said == "partly done: the policy is set; 1 failed: somebody else has changed nats"
    policies = [entries(cluster)[name].get("customResourcePolicy") for name in ("cluster-ip", "nats")]
    assert policies == ["Ignore", "CreateAndDelete"], "what cannot be edited keeps no other from it"
    for module in ("application-connector", "telemetry", "warden"):
        await person.at(module)
        await person.press("space")
    await person.types("disable")
    await person.sees(PlanScreen)
    assert "not included: warden is mandatory" in text(person.app, "#plan-words")
    assert [line[:1] for line in person.lines()] == ["~", "~", "-", "-", "-", "-"], "the default CRs too"
    assert "2 to change, 2 to delete, 2 modules to uninstall" in text(person.app, "#plan-head")
    await person.press("enter")
    assert isinstance(person.app.screen, PlanScreen)
    await person.press("space", "tab", "space")
    await person.accepts()
    assert await person.ended(2) == (
        "done: application-connector is removed from the Kyma; telemetry is removed from the Kyma"
    )
    assert {"application-connector", "telemetry"}.isdisjoint(entries(cluster))


async def test_what_blocks_a_deletion_is_listed_and_deleted_only_where_that_is_ticked(
    cluster: Cluster, pilot: Pilot[Any]
) -> None:
    person = Person(pilot)
    await person.at("serverless")
    await person.press("a")
    await person.sees(MenuScreen)
    assert person.app.screen.query_one(PlanTable).cursor_key not in ("disable", "delete")
    await person.press("escape")
    await person.types("disable")
    await person.sees(PlanScreen)
    assert sum("Function " in line for line in person.lines()) == 3, person.lines()
    assert [one.consent.id for one in person.app.screen.query(Tick)] == ["uninstall serverless", "cascade serverless"]
    await person.press("enter", "space", "enter")
    await person.until(lambda: "also delete 3 Functions of users, which block" in text(person.app, ".plan-tick:focus"))
    await person.press("escape")
    assert "serverless" in entries(cluster)
    assert len(cluster.list(GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function"))) == 3


async def test_what_somebody_else_changed_meanwhile_is_seen_and_planned_anew(
    cluster: Cluster, pilot: Pilot[Any]
) -> None:
    person = Person(pilot)
    await person.at("istio")
    await person.types("channel istio fast")
    await person.sees(PlanScreen)
    place = list(entries(cluster)).index("istio")
    cluster.patch(
        KYMA, [{"op": "add", "path": f"/spec/modules/{place}/customResourcePolicy", "value": "Ignore"}], PatchKind.JSON
    )
    await person.until(
        lambda: "the entry of istio in Kyma kyma-system/default has changed" in text(person.app, "#plan-off")
    )
    await person.press("enter")
    assert isinstance(person.app.screen, PlanScreen)
    first = person.app.screen
    await person.press("e")
    await person.until(lambda: isinstance(person.app.screen, PlanScreen) and person.app.screen is not first)
    await person.accepts()
    assert await person.ended() == "done: istio 1.12.0 is ready"
    assert (entries(cluster)["istio"]["channel"], entries(cluster)["istio"]["customResourcePolicy"]) == (
        "fast",
        "Ignore",
    )


async def test_a_module_is_let_go_and_taken_back_with_one_key(cluster: Cluster, pilot: Pilot[Any]) -> None:
    person = Person(pilot)
    await person.at("transparent-proxy")
    await person.press("enter", "m")
    await person.accepts()
    assert await person.ended() == "done: lifecycle-manager has released the module"
    assert entries(cluster)["transparent-proxy"]["managed"] is False
    row = person.app.catalog.row if person.app.catalog is not None else None
    assert row is not None
    await person.until(
        lambda: (
            person.app.catalog is not None
            and (found := person.app.catalog.row("transparent-proxy")) is not None
            and not found.managed
        )
    )
    await person.press("m")
    await person.accepts()
    assert (await person.ended(2)).startswith("done: ")
    assert entries(cluster)["transparent-proxy"]["managed"] is True


EDITOR = """\
import pathlib, sys
file, turns = pathlib.Path(sys.argv[1]), pathlib.Path({turns!r})
text = file.read_text()
turns.mkdir(exist_ok=True)
(turns / str(len(list(turns.iterdir())))).write_text(text)
file.write_text(text.replace("nonsense: 1\\n", "") if "nonsense" in text else text.replace({old!r}, {new!r}))
"""
SERVERLESS = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Serverless"), "kyma-system", "default")


def editor(folder: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> Callable[[], list[str]]:
    """Set an editor that replaces a text and repairs nonsense; return what it was given each time."""
    turns = folder / "turns"
    (folder / "editor.py").write_text(EDITOR.format(turns=str(turns), old=old, new=new))
    monkeypatch.setenv("KUBE_EDITOR", shlex.join([sys.executable, str(folder / "editor.py")]))
    return lambda: [file.read_text() for file in sorted(turns.glob("*"))]


def leave_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No terminal is left to an editor in a test."""
    monkeypatch.setattr(KymatuiApp, "suspend", lambda self: contextlib.nullcontext())


async def test_a_module_cr_is_edited_in_an_editor(
    cluster: Cluster, pilot: Pilot[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(pilot)
    await person.at("serverless")
    await person.until(lambda: why_not_editable(person.app, ["serverless"]) == "")
    await person.press("E")
    await person.until(lambda: bool(person.app.problems))
    assert person.app.problems == [
        "this terminal cannot run an editor. run `kymatui edit serverless` for this cluster in another terminal"
    ]
    leave_terminal(monkeypatch)
    seen = editor(tmp_path, monkeypatch, "\nmetadata:\n", "\nnonsense: 1\nmetadata:\n  annotations:\n    team: blue\n")
    await person.press("E")
    await person.sees(PlanScreen)
    first, again = seen()
    assert "# error: " not in first
    assert 'unknown field "nonsense"' in again.partition("# error: ")[2].splitlines()[0]
    assert person.lines() == ["~ Serverless kyma-system/default change"]
    assert "team: blue" in "\n".join(person.app.screen.preview.lines[0].diff)  # type: ignore[attr-defined]
    await person.accepts()
    assert await person.ended() == "done: Serverless kyma-system/default changed"
    body = cluster.get(SERVERLESS)
    assert body is not None
    assert body["metadata"]["annotations"]["team"] == "blue"
    await person.sees(CatalogScreen)
    await person.until(lambda: not person.app.jobs.busy)
    editor(tmp_path, monkeypatch, "", "")
    person.app.shown.command_line.run("edit kyma")  # type: ignore[union-attr]
    await person.until(lambda: any("default: no changes" in one.message for one in person.app._notifications))


@pytest.mark.parametrize("audit", [True, False])
async def test_without_writes_nothing_is_opened_in_an_editor(audit: bool) -> None:
    session = StillSession(world())
    session.read_only = True
    async with KymatuiApp(lambda: session, clock=lambda: b.NOW, audit=audit, read_only=not audit).run_test(
        size=SIZE
    ) as pilot:
        person = Person(pilot)
        await person.at("istio")
        screen = person.app.shown
        assert screen is not None
        said = "an audit only reads" if audit else "kymatui runs read-only"
        assert screen.why_off("module", "edit") == said
        screen.command_line.run("edit istio")
        assert person.app.problems == [f"`:edit` is disabled: {said}"]
        assert why_not_editable(person.app, ["istio"]) == said


async def test_a_module_without_a_module_cr_cannot_be_edited() -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as still:
        person = Person(still)
        await person.at("serverless")
        assert why_not_editable(person.app, ["serverless"]) == "no module CR"
        await person.press("E")
        await person.until(lambda: bool(person.app.problems))
        assert person.app.problems == ["serverless has no module CR to edit. enter opens what it has"]
        session.show(feeds={**LIVE, "serverlesses.operator.kyma-project.io": Feed(FeedState.SYNCING)})
        await person.until(lambda: why_not_editable(person.app, ["serverless"]) == "module CRs unknown")
        await person.press("E")
        await person.until(lambda: len(person.app.problems) == 2)
        assert person.app.problems[1].startswith("the module CRs of serverless are unknown: ")


async def test_a_policy_is_chosen(cluster: Cluster, pilot: Pilot[Any]) -> None:
    person = Person(pilot)
    await person.at("btp-operator")
    await person.types("policy")
    await person.sees(ChoiceScreen)
    await person.press("j", "enter")
    await person.accepts()
    assert await person.ended() == "done: the policy is set"
    assert entries(cluster)["btp-operator"]["customResourcePolicy"] == "Ignore"


async def test_without_the_right_to_patch_the_kyma_the_plan_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ClusterKymaEdits, "may_write", lambda self, proposal: False)
    monkeypatch.setattr(SilentCluster, "user", lambda self: "jane", raising=False)
    monkeypatch.setattr(SilentCluster, "kind", lambda self, kind: None, raising=False)
    monkeypatch.chdir(tmp_path)
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("keda")
        await person.types("policy istio Ignore")
        await person.sees(PlanScreen)
        words = text(person.app, "#plan-words")
        assert "missing permission: patch" in words
        assert "`kymatui rights policy istio Ignore` prints the Role that allows it; R saves what is missing" in words
        await person.press("enter")
        assert isinstance(person.app.screen, PlanScreen)
        await person.press("R")
        await person.until(lambda: list(tmp_path.glob("role-*.yaml")) != [])
        (file,) = tmp_path.glob("role-*.yaml")
        role, binding = yaml.safe_load_all(file.read_text())
        rule = {"apiGroups": ["operator.kyma-project.io"], "resources": ["kymas"], "verbs": ["patch"]}
        assert role["rules"] == [{**rule, "resourceNames": ["default"]}]
        assert binding["subjects"] == [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]
        assert "kind: Role" in person.app.screen.query_one(DiffView).lines


def open_world() -> Snapshot:
    """Nobody is in charge: no Kyma, no Manifest, and a catalog of community modules."""
    return replace(world(), kymas=(), manifests=())


def operated_world() -> Snapshot:
    """kymatui's own operator works on the Manifests."""
    manifest = installed()
    manifest["metadata"]["managedFields"] = [{"manager": "kymatui-operator"}]
    return replace(open_world(), manifests=(manifest,))


@pytest.mark.parametrize(
    ("made", "manager", "menu", "off"),
    [
        (
            world,
            "managed by lifecycle-manager",
            "lifecycle-manager installs modules here; change them in the Kyma",
            "a community module: lifecycle-manager does not install it",
        ),
        (open_world, "not managed", "Not managed (", "this cluster has no Kyma to edit"),
        (
            operated_world,
            "managed by kymatui's operator",
            "Managed by kymatui's operator (",
            "this cluster has no Kyma to edit",
        ),
    ],
)
async def test_who_is_in_charge_is_always_seen_and_decides_what_can_be_done(
    made: Callable[[], Snapshot], manager: str, menu: str, off: str
) -> None:
    async with app_on(StillSession(made())).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("docker-registry")
        assert person.app.screen.query_one(TopLine).facts.manager == manager
        await person.press("a")
        await person.sees(MenuScreen)
        assert text(person.app, "#menu-words").startswith(menu)
        items = {row.key: row.cells["off"].text for row in person.app.screen.query_one(PlanTable).rows}
        assert off in items["enable"]
        person.app.screen.query_one(PlanTable).move_to("enable")
        await person.press("enter")
        assert isinstance(person.app.screen, MenuScreen) or items["enable"] == ""


async def test_in_a_narrow_terminal_the_manager_is_two_words_at_most() -> None:
    async with app_on(StillSession(open_world())).run_test(size=(60, 24)) as pilot:
        person = Person(pilot)
        await person.at("docker-registry")
        assert "not managed   [RW]" in text(person.app, "TopLine")


async def test_a_label_says_what_it_would_uninstall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterKymaEdits, "may_write", lambda self, proposal: True)
    monkeypatch.setattr(ClusterKymaEdits, "uninstalls", lambda self, modules, *_: tuple(map(uninstall, modules)))
    beta = [b.template("istio", version, labelled=b.labels(beta="true")) for version in ("1.20.3", "1.21.0")]
    others = [one for one in world().templates if not one["metadata"]["name"].startswith("istio-1.2")]
    kyma = {**world().kymas[0]}
    kyma["metadata"] = {**kyma["metadata"], "uid": "k1", "labels": b.labels(beta="true")}
    snapshot = replace(world(), kymas=(kyma,), templates=(*others, *beta))
    async with app_on(StillSession(snapshot)).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("istio")
        await person.types("label beta off")
        await person.sees(PlanScreen)
        assert "- module istio is uninstalled" in "".join(person.lines())
        assert "- operator.kyma-project.io/beta" in "".join(person.app.screen.query_one(DiffView).lines)
        await person.press("enter")
        assert "istio is uninstalled" in text(person.app, ".plan-tick:focus")
        await person.press("escape")
        await person.types("label beta on")
        await person.sees(PlanScreen)
        assert "no changes: the label has this value already" in text(person.app, "#plan-words")


async def test_a_kyma_of_git_is_edited_once_that_is_agreed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClusterKymaEdits, "may_write", lambda self, proposal: True)
    flux, kyma = "Flux Kustomization flux/kyma", {**world().kymas[0]}
    labels = {f"kustomize.toolkit.fluxcd.io/{key}": value for key, value in (("name", "kyma"), ("namespace", "flux"))}
    kyma["metadata"] = {**kyma["metadata"], "uid": "k1", "labels": labels}
    async with app_on(StillSession(replace(world(), kymas=(kyma,)))).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("istio")
        await person.types("policy istio Ignore")
        await person.sees(PlanScreen)
        shown = text(person.app, "#plan-words")
        assert f"{flux} applies Kyma kyma-system/default and may revert this change" in shown
        assert f"this lasts until it is applied again, when is unknown ({flux})" in shown
        await person.press("enter")
        assert f"change here what {flux} applies" in text(person.app, ".plan-tick:focus")
        assert isinstance(person.app.screen, PlanScreen), "nothing is asked before it is ticked"


async def test_an_audit_shows_every_plan_and_proves_that_it_wrote_nothing(options: SessionOptions) -> None:
    log = FaultClient.for_kubeconfig(Path(options.kubeconfig))
    log.requests(forget=True)
    audit = replace(options, read_only=True)
    async with app_of(audit, audit=True).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        for line in ("disable istio", "channel istio regular", "label beta on"):
            await person.at("istio")
            await person.types(line)
            await person.sees(PlanScreen)
            await person.press("enter", "y")
            assert isinstance(person.app.screen, PlanScreen), line
            assert "cannot apply: " in text(person.app, "#plan-off")
            await person.press("escape")
            await person.sees(CatalogScreen)
        await person.press("a")
        await person.sees(MenuScreen)
        await person.press("escape")
        await person.until(lambda: "[AUDIT reads " in text(person.app, "TopLine"))
        assert " writes 0] " in text(person.app, "TopLine")
        session = person.app.view.session
        assert session is not None
        reads, writes = session.traffic
        assert (reads > 15, writes) == (True, 0)
        assert person.app.jobs.all == ()
    told = [one for one in log.requests()["requests"] if "kymatui" in one["agent"]]
    assert len(told) > 15
    assert [one for one in told if not is_read_only_request(one["method"], one["path"])] == []
