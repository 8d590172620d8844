"""Aggregated ClusterRoles: collects the rules of the selected roles."""

from __future__ import annotations

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.store_reader import Obj
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.schemas.objects.object_meta_rules import selects

RESOURCE = "clusterroles.rbac.authorization.k8s.io"


class AggregatedRoles:
    """Reconciles ClusterRoles with an aggregationRule."""

    name = "aggregatedroles"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def watch(self, queue: ControllerQueue) -> None:
        def changed(change: StoreChange) -> None:
            for stored in list(self._context.observer.store.walk(RESOURCE)):
                if b'"aggregationRule"' in stored.data:
                    queue.add(stored.key)

        queue.on_change(RESOURCE, changed)
        queue.follow(RESOURCE)

    def reconcile(self, key: Key) -> float | None:
        role = self._context.observer.get(RESOURCE, key)
        selectors = ((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors")
        if role is None or not selectors:
            return None
        rules: list[Obj] = []
        for stored in list(self._context.observer.store.walk(RESOURCE)):
            if stored.key != key and any(selects(s, stored.labels) for s in selectors):
                rules += [r for r in stored.body().get("rules") or [] if r not in rules]
        if rules != (role.get("rules") or []):
            self._context.client.update(RESOURCE, {**role, "rules": rules})
        return None
