"""APIServices: availability of their backends; and quotas: what the objects of a namespace use.

The sandbox runs no containers, so no requests are sent: a service with endpoints counts as available.
"""

from __future__ import annotations

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apiserver.writes.quota_check import QUOTAS, format_usage, object_usage
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import condition, with_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue

RESOURCE = "apiservices.apiregistration.k8s.io"


class ApiServices:
    name = "apiservices"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(RESOURCE)

        def changed(change: StoreChange) -> None:
            for service in self._context.observer.all(RESOURCE):
                ref = service["spec"].get("service") or {}
                if (ref.get("namespace"), ref.get("name")) == (change.current.namespace, change.current.name):
                    queue.add(("", service["metadata"]["name"]))

        queue.on_change("services", changed)
        queue.on_change("endpoints", changed)

    def reconcile(self, key: Key) -> float | None:
        service = self._context.observer.get(RESOURCE, key)
        if service is None:
            return None
        answers, reason, message = self._state(service)
        new_condition = condition("Available", answers, reason, message)
        status = service.get("status") or {}
        conditions = with_condition(status.get("conditions"), new_condition, self._context.stamp)
        self._context.write_status(RESOURCE, service, {**status, "conditions": conditions})
        return None

    def _state(self, service: Obj) -> tuple[bool, str, str]:
        """Return (available, reason, message), with the aggregator's messages."""
        ref = service["spec"].get("service")
        if not ref:
            return True, "Local", "Local APIServices are always available"
        namespace, name = ref.get("namespace") or "", ref.get("name") or ""
        shown = f'service/{name} in "{namespace}"'
        if self._context.observer.get("services", (namespace, name)) is None:
            return False, "ServiceNotFound", f"{shown} is not present"
        endpoints = self._context.observer.get("endpoints", (namespace, name))
        if endpoints is None:
            return False, "EndpointsNotFound", f"cannot find endpoints for {shown}"
        if not any(subset.get("addresses") for subset in endpoints.get("subsets") or ()):
            return False, "MissingEndpoints", f"endpoints for {shown} have no addresses with port name"
        return True, "Passed", "all checks passed"


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
