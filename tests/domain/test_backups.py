"""Which backups belong to one deletion: of the run that ended, and of those before it that did not."""

from __future__ import annotations

from pathlib import Path

from kymatui.domain.plans.backups import BackupInfo, group_by_deletion


def backup(moment: float, *, is_finished: bool = False, module: str = "keda", **more: object) -> BackupInfo:
    fields: dict[str, object] = {"cluster": "prod", "identity": "u1", "count": 1, **more}
    path = Path(f"{module}-{moment:g}.yaml")
    return BackupInfo(path, module, made_at=moment, is_finished=is_finished, **fields)  # type: ignore[arg-type]


def groups(*backups: BackupInfo) -> list[list[str]]:
    return [[one.path.stem for one in deletion] for deletion in group_by_deletion(backups, "prod", "u1")]


def test_runs_that_failed_belong_to_the_deletion_that_ended_after_them() -> None:
    assert groups(backup(1, is_finished=True), backup(2), backup(3), backup(4, is_finished=True)) == [
        ["keda-4", "keda-3", "keda-2"],
        ["keda-1"],
    ]


def test_a_deletion_that_has_not_ended_has_the_backups_of_all_its_runs() -> None:
    assert groups(backup(1), backup(2), backup(3), backup(4), backup(5)) == [[f"keda-{at}" for at in (5, 4, 3, 2, 1)]]


def test_a_backup_without_objects_is_of_no_deletion() -> None:
    assert groups(backup(1), backup(2, count=0, is_finished=True), backup(3)) == [["keda-3", "keda-1"]]


def test_modules_and_clusters_have_deletions_of_their_own() -> None:
    found = groups(
        backup(1),
        backup(2, module="nats"),
        backup(3, identity="u2"),
        backup(4, identity="u2", cluster="dev"),
        backup(5, identity="", cluster="dev"),
        backup(6, identity=""),  # written before files had an identity, in a cluster of this name
    )
    assert found == [["keda-6", "keda-1"], ["nats-2"], ["keda-5"], ["keda-4", "keda-3"]]


def test_files_of_no_module_are_not_joined() -> None:
    found = group_by_deletion([backup(1, module=""), backup(2, module="")], "prod", "u1")
    assert [len(deletion) for deletion in found] == [1, 1]
