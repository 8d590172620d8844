"""What the actions need of a session with a cluster; adapters implement it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from kymatui.actions.plans import Uninstall
from kymatui.domain.remembering import Memory
from kymatui.domain.snapshots import Snapshot
from kymatui.domain.stages import Stage
from kymatui.domain.toggling import Proposal, Toggle
from kymatui.engine.departing import Departure, Way
from kymatui.engine.inventories import Inventory
from kymatui.engine.ports import Backup, Cluster


class KymaEdits(Protocol):
    """The edits of one Kyma."""

    def propose(self, toggle: Toggle) -> Proposal: ...

    def carry_out(
        self, proposal: Proposal, cancel: threading.Event | None = None, planned: Sequence[Uninstall] = ()
    ) -> int: ...

    def follow(
        self,
        proposal: Proposal,
        generation: int,
        changed: threading.Event,
        timeout: float,
        tell: Callable[[Stage], None],
        cancel: threading.Event | None = None,
    ) -> Stage: ...


class DeletionPort(Protocol):
    """The deletions of one session, which was started."""

    memory: Memory

    @property
    def cluster(self) -> Cluster: ...

    @property
    def manifests_on(self) -> Cluster:
        """Where Manifests are: the control plane, for a runtime behind one."""
        ...

    @property
    def edits(self) -> KymaEdits: ...

    def snapshot(self) -> Snapshot: ...

    def look(self, module: str, namespace: str = "", way: Way = Way.LET) -> Departure:
        """Read where the deletion of a module is now. Raises RefusedError where no module has this name."""
        ...

    def journal(self, inventory: Inventory) -> Path: ...

    def backup(self, path: Path, seen: Departure) -> SavedObjects:
        """Save what the deletion may delete. Raises ConfigurationError where the file cannot be written."""
        ...


class SavedObjects(Protocol):
    """The backup of one deletion; `manifest` is in another file where it is on another cluster."""

    @property
    def own(self) -> Backup: ...

    @property
    def manifest(self) -> Backup: ...

    @property
    def words(self) -> str: ...
