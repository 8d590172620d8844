"""ResourceQuotas: how much of each is used."""

from __future__ import annotations

from kymatui.sandbox.apiserver.quotas import QUOTAS, shown, used_of
from kymatui.sandbox.controllers.context import Context
from kymatui.sandbox.controllers.observing import is_terminating
from kymatui.sandbox.controllers.reconciling import Queue
from kymatui.sandbox.storage import Change, Key

_FOLLOWED = ("configmaps", "persistentvolumeclaims", "pods", "secrets", "services")
_SECONDS = 5.0
"""How often what is not followed is counted again; a real controller takes up to five minutes for it."""


class ResourceQuotas:
    """Keys are those of quotas."""

    name = "resourcequotas"

    def __init__(self, context: Context) -> None:
        self._context = context

    def watch(self, queue: Queue) -> None:
        queue.follow(QUOTAS)

        def changed(change: Change) -> None:
            for key in self._context.observer.keys(QUOTAS, change.current.namespace):
                queue.add(key)

        for resource in _FOLLOWED:
            queue.on_change(resource, changed)

    def reconcile(self, key: Key) -> float | None:
        quota = self._context.observer.get(QUOTAS, key)
        if quota is None or is_terminating(quota):
            return None
        hard = (quota.get("spec") or {}).get("hard") or {}
        used = used_of(self._context.observer.store, quota, hard)
        status = {"hard": hard, "used": {name: shown(name, value) for name, value in used.items()}}
        self._context.write_status(QUOTAS, quota, status if hard else {})
        return _SECONDS
