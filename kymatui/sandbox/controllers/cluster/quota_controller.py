"""ResourceQuotas: status with the current usage."""

from __future__ import annotations

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apiserver.writes.quota_check import QUOTAS, format_usage, object_usage
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.store_reader import is_terminating
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue

_FOLLOWED = ("configmaps", "persistentvolumeclaims", "pods", "secrets", "services")
_SECONDS = 5.0
"""How often what is not followed is counted again; a real controller takes up to five minutes for it."""


class ResourceQuotas:
    name = "resourcequotas"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(QUOTAS)

        def changed(change: StoreChange) -> None:
            for key in self._context.observer.keys(QUOTAS, change.current.namespace):
                queue.add(key)

        for resource in _FOLLOWED:
            queue.on_change(resource, changed)

    def reconcile(self, key: Key) -> float | None:
        quota = self._context.observer.get(QUOTAS, key)
        if quota is None or is_terminating(quota):
            return None
        hard = (quota.get("spec") or {}).get("hard") or {}
        used = object_usage(self._context.observer.store, quota, hard)
        status = {"hard": hard, "used": {name: format_usage(name, value) for name, value in used.items()}}
        self._context.write_status(QUOTAS, quota, status if hard else {})
        return _SECONDS
