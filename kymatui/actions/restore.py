"""Restore what a deletion deleted: from all its backups, planned first, without a change of what exists.

    deletion = find_deletion(files, "keda", cluster)         # or one of `list_deletions`, which a person chooses
    item = restoration_item(plan_restoration(files, deletion, cluster, catalog))
    run_batch([item], Restoration(files, cluster, …), renderer)

A deletion that was interrupted and continued has a backup of each run; they are one restore.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Verb, Work
from kymatui.actions.restored_objects import (
    Object,
    RestoreResult,
    RestoreStep,
    RestoreVerdict,
    plan_restore,
    restore,
    restore_refusal,
    was_installed_here,
)
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.plans.backups import BackupInfo, DeletionBackups, group_by_deletion
from kymatui.domain.rights import creating, role_hint
from kymatui.engine.cluster.ports import Cluster, cluster_identity
from kymatui.engine.cluster.request_scope import missing_permissions
from kymatui.errors import PartlyDoneError, RefusedError, UnknownNameError

_BACKUPS: Final = "backups"


class BackupFiles(Protocol):
    """The backups on this machine, as `kymatui.adapters.files.backups` has them."""

    def backups_folder(self) -> Path: ...

    def list_backups(self) -> list[BackupInfo]: ...

    def read_heading(self, path: Path) -> BackupInfo:
        """Raise ConfigurationError if the file is unreadable."""

    def read_backup(self, path: Path) -> list[Object]:
        """Raise ConfigurationError with file and line."""

    def finish_backup(self, path: Path) -> None:
        """Note that what it was saved for has ended."""


class RestorationPlan(Struct, frozen=True):
    """What a restore makes of the objects in the backups of one deletion.

    objects   each once, as the newest backup has it
    stranger  why the backups are of another cluster, "" if they are not
    enables   the Kyma has to enable the module first, since lifecycle-manager installed it
    refusal   why no object can be created; "" if one can be, or if all exist
    is_forbidden  the user may not create a blocked object
    """

    backups: DeletionBackups
    objects: tuple[Object, ...]
    steps: tuple[RestoreStep, ...]
    stranger: str = ""
    enables: bool = False
    refusal: str = ""
    is_forbidden: bool = False

    @property
    def newest(self) -> BackupInfo:
        return self.backups[0]

    @property
    def module(self) -> str:
        return self.newest.module

    @property
    def is_done(self) -> bool:
        """Return whether all objects exist already."""
        return bool(self.steps) and all(step.fate is RestoreVerdict.THERE for step in self.steps)

    @property
    def hint(self) -> str:
        """Return what lets the blocked objects be created."""
        if self.enables:
            return f"run `kymatui enable {self.module}`, then restore again"
        if self.is_forbidden:
            return role_hint("restore", self.module or str(self.newest.path))
        return ""

    def awaits_adoption(self, result: RestoreResult) -> bool:
        """Return whether kymatui had installed the module: it manages what is created once it is adopted."""
        return bool(result.created and self.module) and was_installed_here(self.objects)


def is_backup_file(word: str) -> bool:
    """Return whether a word names a file, and not a module."""
    path = Path(word).expanduser()
    return len(path.parts) > 1 or path.suffix in (".yaml", ".yml", ".json") or path.is_file()


def list_deletions(files: BackupFiles, cluster: Cluster) -> list[DeletionBackups]:
    """Return the backups of each deletion: those of this cluster first, then the newest first."""
    return group_by_deletion(files.list_backups(), cluster.name, cluster_identity(cluster))


def find_deletion(files: BackupFiles, word: str, cluster: Cluster) -> DeletionBackups:
    """Return the file that a word names, or the backups of the last deletion of a module in this cluster.

    Raises ConfigurationError for an unreadable file, UnknownNameError for a module without a backup of this cluster.
    """
    if is_backup_file(word):
        return (files.read_heading(Path(word).expanduser()),)
    deletions, identity = list_deletions(files, cluster), cluster_identity(cluster)
    named = [deletion for deletion in deletions if deletion[0].module == word]
    if named and not named[0][0].not_of(cluster.name, identity):
        return named[0]
    others = f"backups of other clusters: {', '.join(str(deletion[0].path) for deletion in named[:3])}"
    known = [] if named else [deletion[0].module for deletion in deletions]
    where = f"from cluster {cluster.name} in {files.backups_folder()}"
    hint = others if named else "`kymatui restore` lists all backups"
    raise UnknownNameError.near("backup of", word, known, where=where, hint=hint)


def restore_options(backups: DeletionBackups) -> dict[str, str]:
    """Return what a journal has of a restore: all its files, since the deletion may get others until it is resumed."""
    return {_BACKUPS: "\n".join(str(backup.path.absolute()) for backup in backups)}


def read_recorded(files: BackupFiles, options: Mapping[str, str], cluster: Cluster) -> DeletionBackups:
    """Return the backups of an interrupted restore; a journal of an earlier version names only one file.

    Raises ConfigurationError for an unreadable file.
    """
    paths = options.get(_BACKUPS, "").split("\n")
    if paths == [""]:
        return find_deletion(files, options["file"], cluster)
    return tuple(files.read_heading(Path(path)) for path in paths)


def plan_restoration(
    files: BackupFiles, backups: DeletionBackups, cluster: Cluster, catalog: Catalog | None
) -> RestorationPlan:
    """Read the backups and compare their objects with the cluster; nothing is written.

    Raises ConfigurationError for an unreadable file.
    """
    newest: dict[ObjectRef, Object] = {}
    for backup in backups:
        for body in files.read_backup(backup.path):
            newest.setdefault(read_ref(body), body)
    objects, by_klm = tuple(newest.values()), any(backup.by_klm for backup in backups)
    steps = plan_restore(objects, cluster)
    blocked = [creating(step.ref) for step in steps if step.fate is RestoreVerdict.BLOCKED]
    row = catalog.row(backups[0].module) if catalog is not None else None
    enables = by_klm and not (row is not None and row.managed)
    return RestorationPlan(
        backups,
        objects,
        steps,
        stranger=backups[0].not_of(cluster.name, cluster_identity(cluster)),
        enables=enables,
        refusal="" if by_klm and not enables else restore_refusal(steps),  # what is being installed is waited for
        is_forbidden=bool(missing_permissions(cluster, blocked)),  # admission refuses with 403, too
    )


RestorationItem = BatchItem[RestorationPlan, RestoreResult]


def restoration_item(plan: RestorationPlan) -> RestorationItem:
    """Return a planned restore for a batch."""
    refusal = RefusedError(plan.refusal, hint=plan.hint) if plan.refusal else None
    return RestorationItem(plan.module, plan, Work.NOTHING if plan.is_done else Work.CHANGE, refusal)


class Restoration(Verb[RestorationPlan, RestoreResult]):
    """The restore of each deletion: what the plan displayed as missing is created.

    A restore of everything ends the deletion; a deletion after that has backups of its own. `report` gets each object
    that is created, `wait` what is waited for, for at most `timeout` seconds.
    """

    def __init__(
        self,
        files: BackupFiles,
        cluster: Cluster,
        report: Callable[[str], None],
        wait: Callable[[str], None],
        timeout: float,
    ) -> None:
        self._files, self._cluster = files, cluster
        self._report, self._wait, self._timeout = report, wait, timeout

    def run(self, item: RestorationItem, job: BatchJob) -> RestorationItem:
        plan, files = item.required_plan, self._files
        result = restore(
            *(plan.objects, self._cluster, plan.steps),
            report=self._report,
            wait=self._wait,
            cancel=job.cancel,
            timeout=self._timeout,
            journal=job.journal,
        )
        if result.failed:
            return replace(item, result=result, error=_unfinished(plan, result))
        is_whole = not plan.stranger and plan.backups in list_deletions(files, self._cluster)
        if is_whole and not plan.newest.is_finished:
            files.finish_backup(plan.newest.path)
        return replace(item, result=result)


def _unfinished(plan: RestorationPlan, result: RestoreResult) -> PartlyDoneError:
    reasons = "; ".join(f"{ref}: {reason}" for ref, reason in result.failed[:5])
    return PartlyDoneError(
        f"{len(result.failed)} of {format_count(len(plan.objects), 'object')} not created: {reasons}",
        hint=plan.hint or "install the module (or its CRDs and namespaces) first, then restore again",
    )
