"""The changes of a runtime that wake lifecycle-manager, as its own watches and its watcher agent do."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.world.lifecycle.hosted_controller import changes_status_only
from kymatui.sandbox.world.lifecycle.module_operator import WORKLOADS
from kymatui.sandbox.world.modules.module_announcement import KYMAS
from kymatui.sandbox.world.modules.sample_module import SampleModule
from kymatui.sandbox.world.modules.sample_modules import MODULES


class ChangeListener(Protocol):
    """The receiver of changes; `kyma` is the name of the runtime's Kyma, "" for the only runtime."""

    def kyma_changed(self, kyma: str) -> None:
        """Reconcile a Kyma after a change of the one in its runtime."""
        ...

    def object_changed(self, change: StoreChange) -> None:
        """Reconcile the Manifest that applied an object."""
        ...

    def resource_changed(self, kyma: str, module: str) -> None:
        """Reconcile a module's Manifest after a change of one of its CRs."""
        ...


class RuntimeChanges:
    """Forwards changes of Kyma, workloads and module CRs; a controller that reconciles nothing itself."""

    def __init__(self, manager: ChangeListener, kyma: str) -> None:
        self.name = f"lifecycle-manager/changes/{kyma}"
        self._manager = manager
        self._kyma = kyma

    def watch(self, queue: ControllerQueue) -> None:
        queue.on_change(KYMAS, self._kyma_changed)
        for resource in WORKLOADS.values():
            queue.on_change(resource, self._manager.object_changed)
        for module in MODULES:
            queue.on_change(module.resource.resource, partial(self._resource_changed, module))

    def _kyma_changed(self, change: StoreChange) -> None:
        if not changes_status_only(change):
            self._manager.kyma_changed(self._kyma)

    def _resource_changed(self, module: SampleModule, change: StoreChange) -> None:
        """Forward a deletion, which a module's removal waits for, and each change where the CR's state counts."""
        if change.kind == "DELETED" or module.rules:
            self._manager.resource_changed(self._kyma, module.name)

    def reconcile(self, key: Key) -> float | None:
        return None
