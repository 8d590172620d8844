"""Installation, upgrade and guided deletion on the screen: keys pressed, the screen read, the cluster looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace
from textual.widgets import TextArea

from kymatui.cli.main import main
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.plans.jobs import JobState
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.engine.deletion.deletion_state import ModuleCRHandling, NextStep
from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.action_menu import MenuScreen
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.form_dialog import FormScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.panes.resources_pane import ResourcesPane
from kymatui.ui.screens.deletion_screen import DeletionScreen
from kymatui.ui.screens.object_screen import ObjectScreen
from tests.sandboxes.starting import told_sandbox
from tests.ui.driving import SIZE
from tests.ui.test_toggling import Person

pytestmark = pytest.mark.xdist_group("flows")  # one sandbox for all of them

FUNCTION = GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function")


@pytest.fixture(scope="module")
def options() -> Iterator[SessionOptions]:
    with told_sandbox() as running:
        yield SessionOptions(str(running.kubeconfig))


@pytest.fixture
def cluster(options: SessionOptions) -> Cluster:
    return open_cluster(options)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def drawn(app: KymatuiApp) -> str:
    """Everything that stands on the screen, with one space where there are several."""
    lines = app.screen._compositor.render_strips()
    return " ".join(" ".join(strip.text for strip in lines).split())


def stepper(person: Person) -> DeletionScreen:
    assert isinstance(person.app.screen, DeletionScreen)
    return person.app.screen


async def enter(person: Person, module: str, turn: NextStep) -> DeletionScreen:
    """From the catalog to the stepper of a module, until that has looked."""
    await person.at(module)
    await person.press("ctrl+d")
    await person.sees(DeletionScreen)
    await person.until(lambda: stepper(person).next_step is turn)
    return stepper(person)


async def test_what_is_left_is_shown_deleted_and_then_the_kyma_lets_the_module_go(
    options: SessionOptions, cluster: Cluster, tmp_path: Path
) -> None:
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await enter(person, "serverless", NextStep.CLEAR)
        shown = drawn(app)
        assert "3 managed objects still exist" in shown
        assert "Function" in shown
        assert "▶ 3 Delete them" in shown
        assert "may create it again" in shown
        await person.press("enter")
        await person.sees(ObjectScreen)
        await person.until(lambda: "kind: Function" in drawn(app))
        await person.press("escape")
        await person.sees(DeletionScreen)
        await person.press("ctrl+d")
        await person.sees(PlanScreen)
        assert "delete 3 Functions of users" in drawn(app)
        await person.press("enter")
        assert cluster.list(FUNCTION), "nothing goes before it is agreed to"
        await person.press("space", *"serverless")
        await person.accepts()
        await person.until(lambda: bool(app.jobs.all) and app.jobs.all[-1].is_over)
        assert app.jobs.all[-1].state is JobState.DONE, app.jobs.all[-1]
        await person.sees(DeletionScreen)
        await person.until(lambda: stepper(person).next_step is NextStep.GONE)
        assert "serverless is not installed in kcp" in drawn(app)
        assert not cluster.list(FUNCTION)
        await person.press("escape")
        await restore(person, "serverless", cluster)
    (kept,) = (tmp_path / "state").rglob("serverless-*.yaml")
    assert [body["kind"] for body in yaml.safe_load_all(kept.read_text())].count("Function") == 3


async def restore(person: Person, module: str, cluster: Cluster) -> None:
    """What a managed module's users made comes back when the module does; who has to act first is said."""
    await person.types(f"restore {module}")
    await person.sees(ChoiceScreen)
    await person.press("enter")
    await person.sees(PlanScreen)
    assert f"{module} was enabled in the Kyma: enable it first" in drawn(person.app)
    await person.press("escape")
    await person.types(f"enable {module}")
    await person.sees(ChoiceScreen)
    await person.press("enter")
    await person.accepts()
    assert (await person.ended(2)).startswith("done: ")
    await person.types(f"restore {module}")
    await person.sees(ChoiceScreen)
    await person.press("enter")
    await person.accepts()
    assert await person.ended(3) == "done: 3 created, 1 already existed"
    cluster.forget_kinds()  # the module's definitions went with it, and came back
    assert len(cluster.list(FUNCTION)) == 3


async def test_the_stepper_is_usable_in_a_narrow_terminal_and_offers_three_ways(options: SessionOptions) -> None:
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=(60, 30)) as pilot:
        person = Person(pilot)
        screen = await enter(person, "btp-operator", NextStep.LEAVE)
        assert "5 Remove from the Kyma" in drawn(app)
        await person.press("w")
        await person.until(lambda: screen.next_step is NextStep.IGNORE)
        await person.press("w")
        await person.until(lambda: screen.next_step is NextStep.UNMANAGE)
        assert screen.choices.handling is ModuleCRHandling.UNMANAGE
        await person.press("ctrl+d")
        await person.sees(PlanScreen)
        assert "managed: false" in drawn(app)
        await person.press("escape", "escape")
        await person.until(lambda: not isinstance(app.screen, DeletionScreen))


async def test_read_only_shows_the_same_and_nothing_can_be_begun(options: SessionOptions) -> None:
    app = KymatuiApp(lambda: open_session(replace(options, read_only=True)), read_only=True)
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await enter(person, "btp-operator", NextStep.LEAVE)
        await person.press("ctrl+d")
        await person.sees(PlanScreen)
        await person.until(lambda: "cannot apply: kymatui runs read-only" in drawn(app))


BACKUP = GroupVersionKind("backup.sandbox.local", "v1alpha1", "Backup")


async def ended(person: Person, state: JobState = JobState.DONE) -> None:
    """The last job has come to its end."""
    await person.until(lambda: bool(person.app.jobs.all) and person.app.jobs.all[-1].is_over)
    assert person.app.jobs.all[-1].state is state, person.app.jobs.all[-1]


async def test_a_module_is_installed_with_a_resource_that_was_filled_in_and_deleted_again(
    options: SessionOptions, cluster: Cluster
) -> None:
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("backup-operator")
        await person.press("i")
        await person.sees(ChoiceScreen)
        assert "0.4.0" in drawn(app)
        await person.press("tab", "j", "enter")
        await person.sees(FormScreen)
        await person.press("ctrl+y")
        area = app.screen.query_one(TextArea)
        area.load_text("a: [")
        await person.press("ctrl+g")
        assert "invalid YAML: line" in drawn(app), "what is wrong keeps it from going on"
        body = {
            "apiVersion": BACKUP.api_version,
            "kind": "Backup",
            "metadata": {"name": "mine", "namespace": "backup-operator"},
            "spec": {},
        }
        area.load_text(yaml.safe_dump(body))
        await person.press("ctrl+g")
        await person.sees(PlanScreen)
        assert "9 to create" in drawn(app)
        await person.accepts()
        await ended(person)
        assert open_cluster(options).get(ObjectRef(BACKUP, "backup-operator", "mine")) is not None
        await person.until(lambda: _installed(app, "backup-operator") == "0.4.0")
        await enter(person, "backup-operator", NextStep.UNDEPLOY)
        await person.press("ctrl+d")
        await person.sees(PlanScreen)
        await person.press(*"backup-operator")
        await person.accepts()
        await person.until(lambda: len(app.jobs.all) == 2)
        await ended(person)
    assert open_cluster(options).kind(BACKUP) is None


def _installed(app: KymatuiApp, name: str) -> str:
    row = app.catalog.row(name) if app.catalog is not None else None
    return row.installed if row is not None else ""


async def test_43_what_lifecycle_manager_manages_is_not_installed_directly_and_the_reason_is_said(
    options: SessionOptions,
) -> None:
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("istio")
        await person.press("i")
        await person.until(lambda: bool(app.problems))
        assert "istio is managed by lifecycle-manager, which would revert this change" in app.problems[0]
        assert not app.jobs.all


async def test_the_plan_of_an_edit_says_that_what_kymatui_installed_changes_hands(
    options: SessionOptions, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--kubeconfig", options.kubeconfig or "")
    name = "connectivity-proxy"
    assert main(["install", name, "--direct", "--yes", "--no-wait", *at]) == 0
    capsys.readouterr()
    assert main(["enable", name, "--dry-run", *at]) == 0
    assert "installed by kymatui: owner kymatui → lifecycle-manager, nothing is deleted" in capsys.readouterr().err
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at(name)
        await person.types(f"enable {name} default")
        await person.sees(PlanScreen)
        assert "installed by kymatui: owner kymatui → lifecycle-manager, nothing is deleted" in drawn(app)
    assert main(["delete", name, "--yes", "--no-backup", "--cascade", *at]) == 0


async def test_what_kubectl_installed_is_adopted_and_upgraded_by_one_plan(options: SessionOptions) -> None:
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("docker-registry")
        await person.press("u")
        await person.sees(PlanScreen)
        assert "adopt and upgrade docker-registry 0.11.0 → 0.14.0" in drawn(app)
        await person.press("escape")
        await person.until(lambda: not isinstance(app.screen, PlanScreen))
        await person.types("upgrade all")
        await person.sees(PlanScreen)
        assert "adopt and upgrade docker-registry 0.11.0 → 0.14.0" in drawn(app)
        await person.accepts()
        await ended(person)
        await person.until(lambda: _installed(app, "docker-registry") == "0.14.0")
        await person.press("u")
        await person.until(lambda: bool(app.problems))
        assert "docker-registry: up to date; no changes made" in app.problems[-1]


async def test_what_is_outdated_is_upgraded_and_a_lower_version_needs_consent(options: SessionOptions) -> None:
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("registry-proxy")
        await person.press("i")
        await person.sees(ChoiceScreen)
        await person.press("j", "enter")
        await person.accepts()
        await ended(person)
        await person.until(lambda: _installed(app, "registry-proxy") == "0.14.0")
        await person.press("u")
        await person.sees(ChoiceScreen)
        await person.press("enter")
        await person.sees(PlanScreen)
        assert "its default CR is not applied again" in drawn(app)
        await person.accepts()
        await person.until(lambda: len(app.jobs.all) == 2)
        await ended(person)
        await person.until(lambda: _installed(app, "registry-proxy") == "0.15.0")
        await person.press("i")
        await person.sees(ChoiceScreen)
        await person.press("j", "enter")
        await person.sees(PlanScreen)
        assert "[ ] downgrade 0.15.0 → 0.14.0" in drawn(app)
        assert "downgrade registry-proxy 0.15.0 → 0.14.0" in drawn(app)


async def test_the_template_of_a_catalog_is_pulled_and_left_beside_an_installation(
    options: SessionOptions, cluster: Cluster, tmp_path: Path
) -> None:
    kind = GroupVersionKind("operator.kyma-project.io", "v1beta2", "ModuleTemplate")
    body = next(one for one in cluster.list(kind) if one["metadata"]["name"] == "registry-proxy-0.15.0")
    for version in ("0.16.0", "0.17.0"):
        metadata = {"name": f"registry-proxy-{version}", "namespace": "elsewhere"}
        catalog = yaml.safe_dump({**body, "metadata": metadata, "spec": body["spec"] | {"version": version}})
        (tmp_path / f"{version}.yaml").write_text(catalog)
    app = KymatuiApp(lambda: open_session(replace(options, catalogs=(str(tmp_path),))))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("backup-operator")
        await person.types("pull")
        await person.until(lambda: bool(app.problems))
        assert "backup-operator: not in a catalog outside of the cluster" in app.problems[0]
        await person.at("registry-proxy")
        await person.types("pull")
        await person.sees(ChoiceScreen)
        assert "Pull ModuleTemplate of registry-proxy" in drawn(app), drawn(app)
        await person.press("j", "enter")
        await person.sees(PlanScreen)
        assert "create ModuleTemplate default/registry-proxy-0.16.0" in drawn(app)
        await person.accepts()
        assert await person.ended(1) == "done: ModuleTemplate default/registry-proxy-0.16.0 created"
        pulled = ObjectRef(kind, "default", "registry-proxy-0.16.0")
        assert cluster.get(pulled) is not None
        await person.press("i")
        await person.sees(ChoiceScreen)
        assert "create in default so that kyma CLI and the dashboard list the module" in drawn(app)
        await person.press("tab", "tab", "j", "enter")
        await person.sees(PlanScreen)
        assert isinstance(app.screen, PlanScreen)
        names = {line.name for line in app.screen.preview.lines}
        assert "ModuleTemplate default/registry-proxy-0.17.0" in names, names
        await person.press("escape")
    cluster.delete(pulled)


def is_enabled(app: KymatuiApp, action: str) -> bool:
    """Whether an action on the module of the line is enabled."""
    return app.shown is not None and app.shown.why_off("module", action) == ""


async def test_the_manager_and_the_pod_of_a_line_are_restarted(options: SessionOptions, cluster: Cluster) -> None:
    pods = GroupVersionKind("", "v1", "Pod")

    def named(prefix: str) -> set[str]:
        names = (pod["metadata"]["name"] for pod in cluster.list(pods, "kyma-system"))
        return {name for name in names if name.startswith(prefix)}

    before = named("warden-operator")
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("warden")
        await person.until(lambda: is_enabled(app, "restart"))
        await person.press("r")
        await person.sees(PlanScreen)
        assert "1 to restart" in drawn(app)
        assert "Deployment kyma-system/warden-operator 1 Pod replaced" in drawn(app)
        await person.accepts()
        assert await person.ended(1) == "done: Deployment kyma-system/warden-operator restarted"
        assert named("warden-operator") - before
        await person.press("enter", "t")
        await person.until(lambda: "Pod warden-operator" in drawn(app))
        pane = app.screen.query_one(ResourcesPane)
        key, pod = next((key, ref) for key, ref in pane._refs.items() if ref.kind == pods)
        pane.target().move_to(key)
        await person.press("r")
        await person.sees(PlanScreen)
        assert "deleted; its ReplicaSet creates a new one" in drawn(app), drawn(app)
        await person.accepts()
        assert await person.ended(2) == f"done: {pod} restarted"
        assert pod.name not in named("warden-operator")
        await person.press("escape")
        await person.types("restart cap-operator")
        await person.until(lambda: bool(app.problems))
        assert "cap-operator: no manager" in app.problems[0]


async def test_the_kyma_is_unpaused_by_its_name(options: SessionOptions, cluster: Cluster) -> None:
    kyma = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), "kyma-system", "default")
    cluster.patch(kyma, {"metadata": {"labels": {LABEL_SKIP: "true"}}}, PatchKind.MERGE)
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("keda")
        await person.types("unpause kyma")
        await person.sees(PlanScreen)
        assert "unpause Kyma kyma-system/default" in drawn(app)
        await person.accepts()
        assert await person.ended(1) == "done: Kyma kyma-system/default unpaused"
        await person.types("unpause kyma")
        await person.until(lambda: bool(app.problems))
        assert "the Kyma: not paused" in app.problems[0]
    body = cluster.get(kyma)
    assert body is not None
    assert LABEL_SKIP not in (body["metadata"].get("labels") or {})


async def test_what_the_reason_advises_is_the_first_action(options: SessionOptions, cluster: Cluster) -> None:
    app = KymatuiApp(lambda: open_session(options))
    async with app.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("keda")
        await person.until(lambda: is_enabled(app, "restart"))
        assert "Remove the label to resume" in drawn(app), drawn(app)[-400:]
        await person.press("a")
        await person.sees(MenuScreen)
        assert isinstance(app.screen, MenuScreen)
        assert next(item.label for item in app.screen._items.values()) == "Remove the label to resume…"
        await person.press("enter")
        await person.sees(PlanScreen)
        assert "unpause Manifest kyma-system/default-keda-" in drawn(app)
        await person.accepts()
        assert (await person.ended(1)).endswith(" unpaused")
        await person.until(lambda: _installed(app, "keda") == "1.5.0")
        await person.press("a")
        await person.sees(MenuScreen)
        assert isinstance(app.screen, MenuScreen)
        assert next(item.label for item in app.screen._items.values()) == "Enable in the Kyma…"
