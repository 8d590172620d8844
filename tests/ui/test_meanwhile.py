"""What others do while somebody is at the keys, and who leaves and comes back: noticed, said, and nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from textual.pilot import Pilot

from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.adapters.files.backups import BackupFile, backup_path, finish_backup
from kymatui.adapters.files.job_journals import interrupted
from kymatui.domain.kubernetes.object_meta import field_managers, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import FINALIZER, FINALIZER_MODULE_CR, LABEL_FINALIZER
from kymatui.domain.ownership import LIFECYCLE_APPLIER
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.engine.deletion.deletion_state import NextStep
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen, ConfirmScreen
from kymatui.ui.dialogs.form_dialog import FormScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.presenters.plans.job_rows import INTERRUPTED
from kymatui.ui.screens.deletion_screen import DeletionScreen
from kymatui.ui.widgets.live_table import LiveTable
from tests.integration.embedded import eventually
from tests.sandboxes.resuming import resume_reconciliation
from tests.sandboxes.starting import told_sandbox
from tests.ui.driving import SIZE, text
from tests.ui.test_flows import drawn, enter, stepper
from tests.ui.test_toggling import KYMA, Person, app_of, entries

pytestmark = pytest.mark.xdist_group("meanwhile")  # one sandbox for all of them

APPLICATION = GroupVersionKind("applicationconnector.kyma-project.io", "v1alpha1", "Application")
HELD = ObjectRef(APPLICATION, "default", "held")
BTP = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "btp-manager-controller-manager")
NODE = GroupVersionKind("", "v1", "Node")
POD = GroupVersionKind("", "v1", "Pod")
BACKUPS = ObjectRef(
    GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), "", "backups.backup.sandbox.local"
)


@pytest.fixture(scope="module")
def options() -> Iterator[SessionOptions]:
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
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def edit(cluster: Cluster, module: str, field: str, value: str) -> None:
    """Somebody else's edit of an entry of the Kyma."""
    place = list(entries(cluster)).index(module)
    cluster.patch(
        KYMA, [{"op": "add", "path": f"/spec/modules/{place}/{field}", "value": value}], PatchKind.JSON, manager="other"
    )


@contextlib.contextmanager
def command(options: SessionOptions, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run kymatui in a process of its own, which knows nothing of this one but the cluster; kill it at the end."""
    call = [sys.executable, "-m", "kymatui", *words, "--kubeconfig", options.kubeconfig]
    with subprocess.Popen(call, stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()  # else a test that fails would wait for the end of the command


def happens(holds: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait for what a command does; one that ends before fails the test."""
    with contextlib.suppress(AssertionError):
        eventually(lambda: holds() or process.poll() is not None)
    assert holds(), f"exit status {process.poll()}"


async def test_a_deletion_goes_on_wherever_it_was_left_and_one_finalizer_is_let_go_by_its_name(
    options: SessionOptions, cluster: Cluster
) -> None:
    """Begun by a command that is killed, gone on with on a screen that is quit, looked at on another one, and brought
    to its end by a command: nothing is handed over but the cluster."""
    await asyncio.to_thread(resume_reconciliation, cluster, "application-connector")
    body = {"apiVersion": APPLICATION.api_version, "kind": "Application"}
    cluster.apply(
        {**body, "metadata": {"name": HELD.name, "namespace": HELD.namespace, "finalizers": ["example.org/held"]}},
        manager="operator",
    )
    with command(options, "delete", "application-connector", "--cascade", "--yes") as killed:
        await asyncio.to_thread(happens, lambda: is_going(cluster), killed)
    await install_that_is_killed(options, cluster)

    async with app_of(options).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.until(lambda: len(person.app.problems) == 2)
        assert "“delete application-connector”" in str(person.app.problems)
        assert "was interrupted" in str(person.app.problems)
        assert "“install registry-proxy 0.15.0”" in str(person.app.problems)
        assert "type `:resume " in str(person.app.problems)
        await person.types("resume registry-proxy")
        await person.sees(PlanScreen)
        assert "an earlier run on registry-proxy was interrupted; this run completes it" in drawn(person.app)
        await person.accepts()
        assert (await person.ended()).startswith("done: ")
        assert left() == ["application-connector"], "it came to its end"
        await person.types("resume")
        await person.until(lambda: isinstance(person.app.screen, DeletionScreen))
        await person.until(lambda: stepper(person).next_step is NextStep.CLEAR)
        await person.press("ctrl+d")
        await person.sees(PlanScreen)
        await person.press("enter", *"application", "minus", *"connector")
        await person.accepts()
        await person.until(lambda: "waiting for" in text(person.app, "#departing-words"))
        assert "ctrl-x stops it" in text(person.app, "#departing-words")
        await person.press("q")
        await person.sees(ConfirmScreen)
        assert "delete again to continue" in text(person.app, "#confirm-words")
        await person.press("y")
        await person.until(lambda: not person.app.is_running or not person.app.jobs.active)
    assert "application-connector" in entries(cluster), "nothing goes before what it manages is gone"

    async with app_of(options).run_test(size=SIZE) as pilot:  # nothing is left of the first one but the cluster
        person = Person(pilot)
        await enter(person, "application-connector", NextStep.CLEAR)
        assert "▶ 4 Wait for their deletion 1 being " in drawn(person.app), "the line is wrapped"
        await person.press("f")
        await person.sees(ChoiceScreen)
        assert "example.org/held (set by operator)" in drawn(person.app)
        await person.press("enter")
        await person.sees(PlanScreen)
        await person.press("enter", *"held", "enter")
        assert isinstance(person.app.screen, PlanScreen), "half of its name is not its name"
        assert cluster.get(HELD) is not None
        await person.press(*["backspace"] * 4, *"default", "slash", *"held")
        await person.accepts()
        await person.until(lambda: cluster.get(HELD) is None)
        await person.until(lambda: stepper(person).next_step is NextStep.LEAVE)

    with command(options, "delete", "application-connector", "--yes", "--timeout", "120") as last:
        assert await asyncio.to_thread(last.wait, 150) == 0
    assert "application-connector" not in entries(cluster)
    assert left() == [], "whoever looks now is told of nothing that is over"


async def test_a_manifest_that_its_policy_holds_is_released_by_f(options: SessionOptions, cluster: Cluster) -> None:
    """Nothing else of the module is left: with policy Ignore, lifecycle-manager never removes this finalizer."""
    module, kind = "transparent-proxy", GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")
    (manifest,) = (ref for raw in cluster.list(kind) if module in (ref := read_ref(raw)).name)
    finalizers = [FINALIZER, LABEL_FINALIZER, FINALIZER_MODULE_CR]
    cluster.patch(manifest, {"metadata": {"finalizers": finalizers}}, PatchKind.MERGE)
    rest = [entry for name, entry in entries(cluster).items() if name != module]
    cluster.patch(KYMA, {"spec": {"modules": rest}}, PatchKind.MERGE)
    async with app_of(options).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await enter(person, module, NextStep.FOLLOW)
        screen = person.app.screen
        assert isinstance(screen, DeletionScreen)
        await person.until(lambda: screen.why_off("finalizer") == "")
        await person.press("f")
        await person.sees(ChoiceScreen)
        assert FINALIZER_MODULE_CR in drawn(person.app)
        await person.press("enter")
        await person.sees(PlanScreen)
        keys = {"/": "slash", "-": "minus"}
        await person.press("enter", *(keys.get(letter, letter) for letter in manifest.path))
        await person.accepts()
        await person.until(lambda: cluster.get(manifest) is None)


async def test_an_incomplete_restore_is_a_row_of_the_jobs_and_continued_with_all_its_backups(
    options: SessionOptions, cluster: Cluster
) -> None:
    for number, names in enumerate((("first",), ("second", "later"))):
        path = backup_path(cluster.name, "saved", 1_795_262_400.0 + number)
        backup = BackupFile(path, cluster, (f"saved 1.0.0 in {cluster.name}",))
        for name in names:
            metadata = {"name": name, "namespace": "not-yet" if name == "later" else "default", "uid": name}
            backup.save({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    first = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "default", "first")
    async with app_of(options).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.until(lambda: person.app.jobs.is_read)
        await person.types("jobs")
        await person.until(lambda: "No jobs since kymatui started." in drawn(person.app))
        await person.press("escape")
        with command(options, "restore", "saved", "--yes", "--no-wait") as partly:
            assert await asyncio.to_thread(partly.wait, 60) == 3
        cluster.delete(first)
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "not-yet"}})
        await person.types("jobs")
        await person.until(lambda: "restore saved" in drawn(person.app))
        assert "No jobs" not in drawn(person.app)
        assert "r resumes it" in drawn(person.app)
        (record,) = interrupted()
        finish_backup(path)  # a deletion after it has backups of its own, which are not part of the restore
        BackupFile(backup_path(cluster.name, "saved", 1_795_262_409.0), cluster, ("saved 2.0.0 in kcp",)).save(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "another", "namespace": "default"}}
        )
        await person.types(f"resume {record.number}")
        await person.sees(PlanScreen)
        planned = drawn(person.app)
        assert "2 to create, 1 unchanged" in planned
        assert "another" not in planned
        await person.press("escape")
        await person.until(lambda: person.app.screen.query_one(LiveTable).move_to(f"{INTERRUPTED}{record.number}"))
        await person.press("r")
        await person.accepts()
        assert (await person.ended()).startswith("done: ")
        await person.until(lambda: person.app.jobs.interrupted == ())
        assert "interrupted" not in drawn(person.app)
    assert cluster.get(first) is not None
    assert left() == []


async def install_that_is_killed(
    options: SessionOptions, cluster: Cluster, *source: str, name: str = "registry-proxy"
) -> None:
    """A command that waits for pods which no node takes, and dies."""
    (node,) = (read_ref(body) for body in cluster.list(NODE))
    cluster.patch(node, {"spec": {"unschedulable": True}}, PatchKind.MERGE, manager="other")
    with command(options, "install", name, "--yes", *source) as killed:
        await asyncio.to_thread(happens, lambda: "Unschedulable" in str(cluster.list(POD, name)), killed)
    cluster.patch(node, {"spec": {"unschedulable": None}}, PatchKind.MERGE, manager="other")


async def test_an_installation_of_files_is_continued_on_the_screen(
    options: SessionOptions, cluster: Cluster, tmp_path: Path
) -> None:
    labels = {"app": "own-files"}
    container = {"name": "own", "image": "registry.example.org/own:1.0.0"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    metadata, spec = {"name": "own", "namespace": "own-files"}, {"selector": {"matchLabels": labels}}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "own-files"}})
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {**spec, "template": template}}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(body))
    source = ("--file", "own.yaml", "-n", "own-files")
    await install_that_is_killed(options, cluster, *source, name="own-files")
    async with app_of(options).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.until(lambda: bool(person.app.problems))
        await person.types("resume own-files")
        await person.sees(PlanScreen)
        assert "an earlier run on own-files was interrupted; this run completes it" in drawn(person.app)
        await person.accepts()
        assert (await person.ended()).startswith("done: ")
        assert left() == []


def left() -> list[str]:
    return [name for one in interrupted() for name in one.heading.modules]


def is_going(cluster: Cluster) -> bool:
    live = cluster.get(HELD)
    return live is not None and "deletionTimestamp" in live["metadata"]


async def test_a_module_is_handed_over_both_ways_and_nothing_of_it_is_deleted(
    cluster: Cluster, pilot: Pilot[Any]
) -> None:
    before = cluster.get(BTP)
    person = Person(pilot)
    await person.at("btp-operator")
    await person.types("adopt btp-operator")
    await person.until(lambda: bool(person.app.problems))
    assert "is managed by lifecycle-manager" in person.app.problems[0]
    await person.types("unmanage btp-operator")
    await person.accepts()
    assert (await person.ended()).startswith("done: ")
    await person.types("adopt btp-operator")
    await person.sees(PlanScreen)
    assert "adopt btp-operator 1.1.17" in drawn(person.app)
    await person.press("enter", "space", "enter", "space")
    await person.accepts()
    assert (await person.ended(2)).startswith("done: ")
    now = cluster.get(BTP)
    assert before is not None
    assert now is not None
    assert now["metadata"]["uid"] == before["metadata"]["uid"]
    assert "kymatui" in field_managers(now)
    assert LIFECYCLE_APPLIER not in field_managers(now)
    await person.types("manage btp-operator")
    await person.accepts()
    said = await person.ended(3)
    assert "owner kymatui → lifecycle-manager" in said
    assert "installed directly as well" not in said, "that was so only on the way"
    again = cluster.get(BTP)
    assert again is not None
    assert again["metadata"]["uid"] == before["metadata"]["uid"]
    assert "kymatui" not in field_managers(again)


async def test_a_chart_is_installed_with_values_from_a_form(
    cluster: Cluster, tmp_path: Path, pilot: Pilot[Any]
) -> None:
    chart = tmp_path / "shop"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("size: small\n")
    (chart / "values.schema.json").write_text('{"type": "object", "properties": {"size": {"type": "string"}}}')
    (chart / "templates" / "map.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {size: {{ .Values.size }}}\n"
    )
    person = Person(pilot)
    await person.at("istio")
    await person.types("install shop ./shop default")
    await person.sees(ChoiceScreen)
    await person.press("j", "enter")
    await person.sees(FormScreen)
    await person.press(*["backspace"] * 5, *"large", "ctrl+g")
    await person.sees(PlanScreen)
    assert any("ConfigMap default/shop" in line for line in person.lines())
    await person.accepts()
    assert (await person.ended()).startswith("done: ")
    found = cluster.get(ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "default", "shop"))
    assert found is not None
    assert found["data"] == {"size": "large"}


async def test_an_edit_between_the_yes_and_the_patch_is_not_written_over(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, pilot: Pilot[Any]
) -> None:
    real = ClusterKymaEdits.carry_out

    def late(self: ClusterKymaEdits, *given: Any) -> int:
        edit(cluster, "istio", "customResourcePolicy", "Ignore")
        return real(self, *given)

    monkeypatch.setattr(ClusterKymaEdits, "carry_out", late)
    person = Person(pilot)
    await person.at("istio")
    await person.types("channel istio fast")
    await person.accepts()
    assert "refused: another client changed the entry of istio" in await person.ended()
    assert entries(cluster)["istio"]["customResourcePolicy"] == "Ignore"
    assert entries(cluster)["istio"].get("channel") != "fast"


async def test_an_edit_by_somebody_else_ends_the_following(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, pilot: Pilot[Any]
) -> None:
    real = ClusterKymaEdits.carry_out

    def early(self: ClusterKymaEdits, *given: Any) -> int:
        made = real(self, *given)
        edit(cluster, "keda", "channel", "regular")
        return made

    monkeypatch.setattr(ClusterKymaEdits, "carry_out", early)
    person = Person(pilot)
    await person.at("keda")
    await person.types("channel keda fast")
    await person.accepts()
    assert "the Kyma is edited; another client has changed the entry of keda since" in await person.ended()
    assert entries(cluster)["keda"]["channel"] == "regular"


async def test_a_definition_that_goes_and_comes_while_the_plan_is_open_outdates_it(
    cluster: Cluster, pilot: Pilot[Any]
) -> None:
    person = Person(pilot)
    await person.at("backup-operator")
    await person.press("i")
    await person.sees(ChoiceScreen)
    await person.press("enter")
    await person.sees(PlanScreen)
    names = {"kind": "Backup", "plural": "backups", "singular": "backup"}
    version = {"name": "v9", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "backup.sandbox.local", "scope": "Cluster", "names": names, "versions": [version]}
    metadata = {"name": BACKUPS.name}
    other = {"apiVersion": BACKUPS.kind.api_version, "kind": BACKUPS.kind.kind, "metadata": metadata, "spec": spec}
    cluster.apply(other, manager="somebody")
    await person.accepts()
    said = await person.ended()
    assert not said.startswith("done")
    assert "backups.backup.sandbox.local" in said
    live = cluster.get(BACKUPS)
    assert live is not None
    assert [one["name"] for one in live["spec"]["versions"]] == ["v9"], "what somebody else made stays"
    cluster.delete(BACKUPS)


async def test_a_label_is_written_only_where_it_is_as_it_was_seen(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, pilot: Pilot[Any]
) -> None:
    label = "operator.kyma-project.io/internal"
    real = ClusterKymaEdits.carry_out_labels

    person = Person(pilot)
    await person.at("istio")
    await person.types("label internal on")
    await person.sees(PlanScreen)
    await person.accepts()
    assert await person.ended() == f"done: {label} set to true"
    kyma = cluster.get(KYMA)
    assert kyma is not None
    assert kyma["metadata"]["labels"][label] == "true"

    def late(self: ClusterKymaEdits, *given: Any) -> None:
        cluster.patch(KYMA, {"metadata": {"labels": {label: "maybe"}}}, PatchKind.MERGE, manager="other")
        real(self, *given)

    monkeypatch.setattr(ClusterKymaEdits, "carry_out_labels", late)
    await person.until(lambda: label in yaml.safe_dump(person.app.view.kymas[0]["metadata"]["labels"]))
    await person.types("label internal off")
    await person.sees(PlanScreen)
    await person.accepts()
    assert "refused: another client changed the label" in await person.ended(2)
    kyma = cluster.get(KYMA)
    assert kyma is not None
    assert kyma["metadata"]["labels"][label] == "maybe"
