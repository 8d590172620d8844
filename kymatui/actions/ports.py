"""What the actions need of a session with a cluster; adapters implement it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from kymatui.actions.plans import Uninstall
from kymatui.domain.kyma_edit.edit_progress import EditProgress
from kymatui.domain.kyma_edit.module_edit import EditProposal, ModuleEdit
from kymatui.domain.snapshot.snapshots import ReadCache, Snapshot
from kymatui.engine.cluster.ports import Backup, Cluster
from kymatui.engine.deletion.deletion_state import DeletionState, ModuleCRHandling
from kymatui.engine.deletion.uninstall_plan import WHOLE, DeletionScope
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal


class KymaEdits(Protocol):
    """The edits of one Kyma."""

    def propose(self, toggle: ModuleEdit) -> EditProposal: ...

    def may_write(self, proposal: EditProposal) -> bool: ...

    def carry_out(
        self,
        proposal: EditProposal,
        cancel: threading.Event | None = None,
        planned: Sequence[Uninstall] = (),
        *,
        journal: Journal = NO_JOURNAL,
    ) -> int: ...

    def follow(
        self,
        proposal: EditProposal,
        generation: int,
        changed: threading.Event,
        timeout: float,
        progress: Callable[[EditProgress], None],
        cancel: threading.Event | None = None,
        *,
        unattended: bool = False,
    ) -> EditProgress: ...


class DeletionPort(Protocol):
    """The deletions of one session, which was started."""

    cache: ReadCache

    @property
    def cluster(self) -> Cluster: ...

    @property
    def manifests_on(self) -> Cluster:
        """Return where Manifests are: the control plane, for a runtime behind one."""

    @property
    def edits(self) -> KymaEdits: ...

    def snapshot(self) -> Snapshot: ...

    def read_state(
        self,
        module: str,
        namespace: str = "",
        handling: ModuleCRHandling = ModuleCRHandling.LET,
        *,
        scope: DeletionScope = WHOLE,
    ) -> DeletionState:
        """Read where the deletion of a module is now. Raises RefusedError where no module has this name."""

    def backup_path(self, module: str, moment: float) -> Path:
        """Return a new file for a backup made at `moment` (Unix seconds)."""

    def backup(self, path: Path, state: DeletionState) -> SavedObjects:
        """Save what the deletion may delete. Raises ConfigurationError where the file cannot be written."""

    def finish_backups(self, module: str) -> None:
        """Note that the deletion of a module has ended: a restore after a later one does not reach behind it."""


class SavedObjects(Protocol):
    """The backup of one deletion; `manifest` is in another file where it is on another cluster."""

    @property
    def own(self) -> Backup: ...

    @property
    def manifest(self) -> Backup: ...

    @property
    def message(self) -> str: ...


class BackupStore(Protocol):
    """The backups of deletions on this machine, as `kymatui.adapters.files.backups` has them."""

    def backup_path(self, context: str, name: str, moment: float) -> Path:
        """Return a new file for a backup made at `moment` (Unix seconds)."""

    def save_deletion(self, path: Path, state: DeletionState, cluster: Cluster, manifests_on: Cluster) -> SavedObjects:
        """Save what a deletion may delete. Raise ConfigurationError if the file cannot be written."""

    def finish_backups(self, module: str, cluster: Cluster) -> None:
        """Note that the deletion of a module has ended."""
