"""A restore of a deletion: from all its backups, the same for screen and command; it ends the deletion."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event

import pytest

from kymatui.actions.batch import BatchJob
from kymatui.actions.restore import (
    Restoration,
    RestorationItem,
    RestorationPlan,
    find_deletion,
    is_backup_file,
    list_deletions,
    plan_restoration,
    restoration_item,
)
from kymatui.adapters.files import backups as files
from kymatui.adapters.files.backups import BackupFile, backup_path
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.plans.backups import BackupInfo
from kymatui.errors import PartlyDoneError, UnknownNameError
from tests.engine import objects as make
from tests.engine.places import Place

MADE = 1_795_262_400.0


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def run_of_deletion(place: Place, number: int, *names: str, a: str = "1") -> Path:
    """Save and delete ConfigMaps, as one run of a deletion that is interrupted after that."""
    refs = []
    for name in names:
        body = make.config_map(name, place.namespace, a=a)
        place.kubectl(body)
        refs.append(read_ref(body))
    path = backup_path(place.cluster.name, "keda", MADE + number)
    BackupFile(path, place.cluster, (f"keda 1.5.0 in {place.cluster.name}",)).write(refs)
    for ref in refs:
        place.raw.delete(ref)
    return path


def restored(plan: RestorationPlan, place: Place) -> RestorationItem:
    """Run a restore that waits for nothing."""

    def ignore(words: str) -> None:
        """Display nothing."""

    return Restoration(files, place.cluster, ignore, ignore, 0.0).run(restoration_item(plan), BatchJob(Event()))


def summary_of(item: RestorationItem) -> str:
    assert item.result is not None
    return item.result.summary


def names_of(deletion: tuple[BackupInfo, ...]) -> list[str]:
    return [backup.path.name for backup in deletion]


def test_a_restore_brings_back_what_all_runs_of_a_deletion_deleted(place: Place) -> None:
    place.make_namespace()
    paths = [run_of_deletion(place, number, f"of-{number}") for number in range(4)]
    paths.append(run_of_deletion(place, 4, "of-4", "of-0", a="2"))
    place.kubectl(make.config_map("of-1", place.namespace, a="theirs"))
    (deletion,) = list_deletions(files, place.cluster)
    assert deletion == find_deletion(files, "keda", place.cluster)
    assert names_of(deletion) == [path.name for path in reversed(paths)]
    plan = plan_restoration(files, deletion, place.cluster, None)
    assert {step.ref.name: step.fate.value for step in plan.steps} == {
        **dict.fromkeys(("of-0", "of-2", "of-3", "of-4"), "create"),
        "of-1": "there",
    }
    item = restored(plan, place)
    assert item.error is None
    assert summary_of(item) == "4 created, 1 already existed"
    found = {name: (place.get("v1", "ConfigMap", name) or {})["data"]["a"] for name in ("of-0", "of-1", "of-2", "of-4")}
    assert found == {"of-0": "2", "of-1": "theirs", "of-2": "1", "of-4": "2"}, "the newest, over nothing that exists"


def test_a_deletion_after_a_restore_starts_anew(place: Place) -> None:
    place.make_namespace()
    run_of_deletion(place, 0, "first")
    plan = plan_restoration(files, find_deletion(files, "keda", place.cluster), place.cluster, None)
    restored(plan, place)
    again = plan_restoration(files, find_deletion(files, "keda", place.cluster), place.cluster, None)
    assert (again.is_done, again.newest.is_finished) == (True, True)
    path = run_of_deletion(place, 1, "second")
    assert names_of(find_deletion(files, "keda", place.cluster)) == [path.name]


def test_a_restore_of_a_part_leaves_the_deletion_open(place: Place) -> None:
    place.make_namespace()
    paths = [run_of_deletion(place, 0, "first"), run_of_deletion(place, 1, "second")]
    (one,) = single = find_deletion(files, str(paths[1]), place.cluster)
    assert one.path == paths[1]
    item = restored(plan_restoration(files, single, place.cluster, None), place)
    assert summary_of(item) == "1 created"
    lost = make.custom(place.group, "Lost", "lost", place.namespace)
    paths[0].write_text(f"{paths[0].read_text()}---\n{json.dumps(lost)}\n")
    plan = plan_restoration(files, find_deletion(files, "keda", place.cluster), place.cluster, None)
    error = restored(plan, place).error
    assert isinstance(error, PartlyDoneError)
    assert str(error).startswith("1 of 3 objects not created: Lost")
    assert names_of(find_deletion(files, "keda", place.cluster)) == [path.name for path in reversed(paths)]
    assert not any(backup.is_finished for backup in files.list_backups())


def test_a_backup_of_another_cluster_is_named_and_not_taken(place: Place) -> None:
    place.make_namespace()
    path = run_of_deletion(place, 0, "first")
    text = path.read_text().replace(f"in {place.cluster.name}\n", "in elsewhere\n")
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("# cluster ")]
    path.write_text("".join(lines))
    with pytest.raises(UnknownNameError) as raised:
        find_deletion(files, "keda", place.cluster)
    assert str(path) in raised.value.hint
    (deletion,) = list_deletions(files, place.cluster)
    plan = plan_restoration(files, deletion, place.cluster, None)
    assert plan.stranger == f"the backup is from elsewhere, but this is {place.cluster.name}"
    restored(plan, place)
    assert not files.read_heading(path).is_finished, "the other cluster's deletion is as it was"
    with pytest.raises(UnknownNameError, match="did you mean keda"):
        find_deletion(files, "kedda", place.cluster)


@pytest.mark.parametrize(
    ("word", "is_file"), [("keda", False), ("my.module", False), ("../keda", True), ("a/b", True), ("saved.yaml", True)]
)
def test_a_word_is_a_file_or_a_module(word: str, is_file: bool) -> None:
    assert is_backup_file(word) is is_file
