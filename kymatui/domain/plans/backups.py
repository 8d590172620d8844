"""Backups of deleted objects as files describe them, those of one deletion, and objects that a plan accepted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from kymatui.domain.kubernetes.refs import ObjectKey, ObjectRef
from kymatui.domain.kubernetes.terminal_text import first_of
from kymatui.domain.plans.cluster_target import ClusterName


class BackupInfo(Struct, frozen=True):
    """A backup file as its name and heading describe it; "" for unknown fields.

    identity   the uid of the namespace kube-system: a context name may mean different clusters on two machines
    made_at    Unix seconds
    count      of its objects
    by_klm     lifecycle-manager installed the module: enable it again before the restore
    is_finished  what it was saved for has ended, or it was restored; a later deletion continues only other backups
    """

    path: Path
    module: str
    version: str = ""
    cluster: str = ""
    identity: str = ""
    made_at: float = 0.0
    count: int = 0
    by_klm: bool = False
    is_finished: bool = False

    def not_of(self, name: str, identity: str) -> str:
        """Return why the backup is not of this cluster; "" if it is, or if that is unknown."""
        other = ClusterName(self.cluster, self.identity).differs_from(ClusterName(name, identity))
        return f"the backup is from {other}, but this is {name}" if other else ""


DeletionBackups = tuple[BackupInfo, ...]
"""The backups of one deletion, newest first: of the run that ended, and of those before it that did not."""


def group_by_deletion(backups: Iterable[BackupInfo], name: str, identity: str) -> list[DeletionBackups]:
    """Group the backups that have objects by deletion: those of the cluster `name` first, then the newest first."""
    groups: dict[tuple[str, str], list[list[BackupInfo]]] = {}
    for backup in sorted(backups, key=lambda backup: (-backup.made_at, backup.module)):
        if backup.count:
            cluster = (backup.identity or backup.cluster) if backup.not_of(name, identity) else ""
            deletions = groups.setdefault((backup.module or str(backup.path), cluster), [])
            if backup.is_finished or not deletions:
                deletions.append([])
            deletions[-1].append(backup)
    grouped = [tuple(deletion) for deletions in groups.values() for deletion in deletions]
    return sorted(grouped, key=lambda deletion: (bool(deletion[0].not_of(name, identity)), -deletion[0].made_at))


_NAMED = 3  # objects that a message names; the others are counted


class AcceptedObjects(Struct, frozen=True):
    """The accepted objects of a plan. A recreated object has another uid and is not accepted.

    uids  all displayed objects
    kept  those that the plan displayed as kept: they stay, also if their reason has gone meanwhile
    """

    uids: frozenset[tuple[ObjectKey, str]] = field(default_factory=frozenset)
    kept: frozenset[tuple[ObjectKey, str]] = field(default_factory=frozenset)

    @staticmethod
    def of(objects: Iterable[tuple[ObjectRef, str]], kept: Iterable[tuple[ObjectRef, str]] = ()) -> AcceptedObjects:
        """Collect references with their uids: of what is deleted, and of what is kept."""
        staying = frozenset((ref.key, uid) for ref, uid in kept)
        return AcceptedObjects(frozenset((ref.key, uid) for ref, uid in objects) | staying, staying)

    def __or__(self, other: AcceptedObjects) -> AcceptedObjects:
        return AcceptedObjects(self.uids | other.uids, self.kept | other.kept)

    def has(self, ref: ObjectRef, uid: str) -> bool:
        """Return whether the plan displayed exactly this object."""
        return (ref.key, uid) in self.uids

    def may_delete(self, ref: ObjectRef, uid: str) -> bool:
        """Return whether the plan displayed that it deletes exactly this object."""
        return self.has(ref, uid) and (ref.key, uid) not in self.kept


def summarize_names(refs: Iterable[ObjectRef]) -> str:
    """Return the first few names and the number of the rest."""
    return first_of(refs, _NAMED)
