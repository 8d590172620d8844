"""Restore what a deletion deleted: from all its backups, planned first, without a change of what exists.

    deletion = find_deletion(files, "keda", cluster)         # or one of `list_deletions`, which a person chooses
    plan = plan_restoration(files, deletion, cluster, catalog)
    if not plan.refusal:
        require_restored(plan, run_restoration(files, plan, cluster))

A deletion that was interrupted and continued has a backup of each run; they are one restore.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

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
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.plans.backups import BackupInfo, DeletionBackups, group_by_deletion
from kymatui.engine.cluster.cluster_identity import cluster_identity
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.errors import PartlyDoneError, UnknownNameError

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog
    from kymatui.engine.cluster.ports import Cluster


class BackupFiles(Protocol):
    """The backups on this machine, as `kymatui.adapters.files.backups` has them."""

    def backups_folder(self) -> Path: ...

    def list_backups(self) -> list[BackupInfo]: ...

    def read_heading(self, path: Path) -> BackupInfo:
        """Raise ConfigurationError if the file is unreadable."""
        ...

    def read_backup(self, path: Path) -> list[Object]:
        """Raise ConfigurationError with file and line."""
        ...

    def finish_backup(self, path: Path) -> None:
        """Note that what it was saved for has ended."""
        ...


class RestorationPlan(Struct, frozen=True):
    """What a restore makes of the objects in the backups of one deletion.

    objects   each once, as the newest backup has it
    stranger  why the backups are of another cluster, "" if they are not
    enables   the Kyma has to enable the module first, since lifecycle-manager installed it
    refusal   why no object can be created; "" if one can be, or if all exist
    """

    backups: DeletionBackups
    objects: tuple[Object, ...]
    steps: tuple[RestoreStep, ...]
    stranger: str = ""
    enables: bool = False
    refusal: str = ""

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

    def awaits_adoption(self, result: RestoreResult) -> bool:
        """Return whether kymatui had installed the module: it manages what is created once it is adopted."""
        return bool(result.made and self.module) and was_installed_here(self.objects)


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
    row = catalog.row(backups[0].module) if catalog is not None else None
    enables = by_klm and not (row is not None and row.managed)
    return RestorationPlan(
        backups,
        objects,
        steps,
        stranger=backups[0].not_of(cluster.name, cluster_identity(cluster)),
        enables=enables,
        refusal="" if by_klm and not enables else restore_refusal(steps),  # what is being installed is waited for
    )


def run_restoration(
    files: BackupFiles,
    plan: RestorationPlan,
    cluster: Cluster,
    *,
    report: Callable[[str], None] = lambda words: None,
    wait: Callable[[str], None] = lambda words: None,
    cancel: threading.Event | None = None,
    timeout: float = 0.0,
    journal: Journal = NO_JOURNAL,
) -> RestoreResult:
    """Create what the plan displayed as missing, as `restore`; a restore of everything ends the deletion.

    A deletion after that has backups of its own. Raises CancelledError.
    """
    result = restore(
        *(plan.objects, cluster, plan.steps),
        report=report,
        wait=wait,
        cancel=cancel,
        timeout=timeout,
        journal=journal,
    )
    is_whole = not result.failed and not plan.stranger and plan.backups in list_deletions(files, cluster)
    if is_whole and not plan.newest.is_finished:
        files.finish_backup(plan.newest.path)
    return result


def require_restored(plan: RestorationPlan, result: RestoreResult) -> None:
    """Raise PartlyDoneError with the objects that were not created, if any."""
    if result.failed:
        reasons = "; ".join(f"{ref}: {reason}" for ref, reason in result.failed[:5])
        raise PartlyDoneError(
            f"{len(result.failed)} of {format_count(len(plan.objects), 'object')} not created: {reasons}",
            hint="install the module (or its CRDs and namespaces) first, then restore again",
        )
