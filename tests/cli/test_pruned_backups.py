"""What an upgrade deletes is saved first, as what a deletion deletes is."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kymatui.actions.batch import BatchJob
from kymatui.actions.modules.install import install_item
from kymatui.actions.modules.install_choices import InstallAction, InstallStatus
from kymatui.adapters.files.backups import list_backups, read_backup
from kymatui.adapters.files.plan_files import read_plan
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.deletion.prune_plan import Pruning
from kymatui.engine.jobs.run import Progress
from kymatui.errors import UnreachableError
from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.install_port import SessionInstallPort
from kymatui.ui.presenters.plans.install_preview import preview_install
from tests.cli.intruding import DEFINITION, Json, Stage, run
from tests.cli.unseen import ask
from tests.sandboxes.starting import told_sandbox

pytestmark = pytest.mark.xdist_group("pruned")  # one sandbox for all of them

SECRET = GroupVersionKind("", "v1", "Secret")


@pytest.fixture(scope="module")
def installing() -> Iterator[Path]:
    with told_sandbox() as running:
        yield running.kubeconfig


@pytest.fixture
def kubeconfig(installing: Path) -> Path:
    return installing


def rewrite(stage: Stage, version: str, *more: Json, without: str = "") -> None:
    """Adds objects to a version's file, or takes those of a kind out."""
    file = stage.source(version)
    bodies = [body for body in yaml.safe_load_all(file.read_text()) if body["kind"] != without]
    file.write_text(yaml.safe_dump_all([*bodies, *more]))


def installed(stage: Stage) -> None:
    meta = {"name": "token"}
    words = stage.installing("1")
    rewrite(stage, "1", {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"key": "hush"}})
    assert run(words).status == 0
    stage.make_thing()


def upgrading(stage: Stage) -> list[str]:
    """To a version without the Secret, one of the ConfigMaps, and the CRD."""
    words = [word for word in stage.installing("2", "upgrade") if word != "--yes"]
    rewrite(stage, "2", without=DEFINITION.kind)
    return [*words, "--prune-definitions"]


def saved(stage: Stage) -> dict[tuple[str, str], Json]:
    (one,) = list_backups()
    assert (one.module, one.cluster) == (stage.name, stage.cluster.name)
    return {(body["kind"], body["metadata"]["name"]): body for body in read_backup(one.path)}


def is_whole(stage: Stage) -> None:
    found = saved(stage)
    names = {
        ("Secret", "token"),
        ("ConfigMap", "only-1"),
        ("Thing", "theirs"),
        (DEFINITION.kind, stage.definition.name),
    }
    assert set(found) == names
    assert "data" not in found["Secret", "token"], "as in the backups of deletions"
    assert found["ConfigMap", "only-1"]["data"] == {"version": "1"}


def test_an_upgrade_saves_what_it_deletes_and_its_plan_says_so(stage: Stage) -> None:
    installed(stage)
    asked = ask(upgrading(stage), lambda: None)
    assert asked.status == 0, asked
    assert "the 4 objects to delete are saved to a backup first" in asked.shown
    assert asked.shown.splitlines()[-1].endswith("backup saved. [y/N] ")
    assert "4 objects saved in" in asked.err
    assert "without the data of 1 Secret" in asked.err
    is_whole(stage)
    assert not stage.has_thing()
    assert run(["restore", stage.name, "--yes"]).status == 0
    assert stage.data("only-1") == {"version": "1"}


def test_a_restore_has_what_an_upgrade_deleted_that_failed_before_the_deletion(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(stage)
    words, prune = [*upgrading(stage), "--yes"], Pruning.prune

    def prune_and_fail(pruning: Pruning) -> None:
        prune(pruning)
        raise UnreachableError("the cluster does not answer")

    with monkeypatch.context() as patching:
        patching.setattr(Pruning, "prune", prune_and_fail)
        assert run(words).status != 0
    assert [one.is_finished for one in list_backups()] == [False]
    time.sleep(1)  # the name of a backup has its second
    assert run(["delete", stage.name, "--yes"]).status == 0
    assert [one.is_finished for one in list_backups()] == [True, False]
    found = json.loads(run(["restore", stage.name, "--dry-run", "-o", "json"]).out)
    assert found["files"] == [str(one.path) for one in list_backups()]
    assert "ConfigMap" in {entry["object"].split()[0] for entry in found["objects"]}


def test_the_document_says_what_is_saved(stage: Stage) -> None:
    installed(stage)
    shown = json.loads(run([*upgrading(stage), "--dry-run", "-o", "json"]).out)
    assert shown["saved"] == 4
    assert list_backups() == [], "a plan saves nothing"


class Heard:
    """Stands for the report of a job."""

    def __init__(self) -> None:
        self.cancel = threading.Event()
        self.messages: list[str] = []

    def tell(self, progress: Progress) -> None:
        self.messages.append(progress.message)


def test_the_job_of_the_screen_saves_what_its_plan_says(stage: Stage) -> None:
    installed(stage)
    file = stage.folder / "plan.json"
    words = upgrading(stage)
    assert run(["plan", *words[1:], "--out", str(file)]).status == 0
    plan = read_plan(file)
    standing = InstallStatus(stage.name, (), "", None, ())
    assert "the 4 objects to delete are saved to a backup first" in preview_install([plan], [standing]).warnings
    session = open_session(SessionOptions(str(stage.kubeconfig)))
    session.start(lambda: None)
    try:
        session.wait_complete(20.0)
        heard = Heard()
        verb = InstallAction(SessionInstallPort(session)).installation(heard.tell)
        verb.run(install_item(plan.bundle.name, plan), BatchJob(heard.cancel))
    finally:
        session.close()
    is_whole(stage)
    assert any(words.startswith("4 objects saved in") for words in heard.messages)


def test_what_cannot_be_saved_is_not_deleted_and_nothing_is_written(stage: Stage) -> None:
    installed(stage)
    (stage.folder / "state" / "kymatui" / "backups").write_text("a file where the folder has to be")
    ended = run([*upgrading(stage), "--yes"])
    assert ended.status not in (0, 3), ended
    assert "cannot" in ended.err
    assert stage.data("only-1") == {"version": "1"}
    assert stage.data("only-2") is None
    assert stage.cluster.get(ObjectRef(SECRET, stage.name, "token")) is not None


def test_an_upgrade_without_a_backup_says_so_and_saves_nothing(stage: Stage) -> None:
    installed(stage)
    asked = ask([*upgrading(stage), "--no-backup"], lambda: None)
    assert asked.status == 0, asked
    assert "the 4 objects to delete are not saved to a backup" in asked.shown
    assert asked.shown.splitlines()[-1].endswith("no backup. [y/N] ")
    assert list_backups() == []
    assert stage.data("only-1") is None
    assert not stage.has_thing()


def test_a_plan_file_without_a_backup_is_applied_without_one(stage: Stage) -> None:
    installed(stage)
    file = stage.folder / "plan.json"
    shown = json.loads(run(["plan", *upgrading(stage)[1:], "--no-backup", "--out", str(file), "-o", "json"]).out)
    assert shown["saved"] == 0
    assert run(["apply", str(file), "--yes", "--timeout", "8"]).status == 0
    assert list_backups() == []
    assert stage.data("only-1") is None
