"""PodDisruptionBudgets: status with the currently allowed disruptions."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import find_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, controller_of, key_of
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.workloads.pod_claims import is_active, is_ready
from kymatui.sandbox.controllers.workloads.rollout_math import scaled
from kymatui.schemas.objects.object_meta_rules import selects

RESOURCE = "poddisruptionbudgets.policy"


class DisruptionBudgets:
    """Reconciles PodDisruptionBudgets."""

    name = "disruptionbudgets"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(RESOURCE)

        def pod_changed(change: StoreChange) -> None:
            for budget in self._context.observer.all(RESOURCE, change.current.namespace):
                if selects(budget["spec"].get("selector") or {}, change.current.labels):
                    queue.add(key_of(budget))

        queue.on_change("pods", pod_changed)

    def reconcile(self, key: Key) -> float | None:
        budget = self._context.observer.get(RESOURCE, key)
        if budget is None:
            return None
        selector = budget["spec"].get("selector")
        pods = [p for p in self._context.observer.selected("pods", key[0], selector) if is_active(p)]
        if not pods:
            self._context.recorder.event(
                budget,
                "PodDisruptionBudget",
                "policy/v1",
                "NoPods",
                "No matching pods found",
                source="controllermanager",
            )
        expected, desired = self._counts(budget["spec"], pods)
        healthy = sum(is_ready(p) for p in pods)
        allowed = max(healthy - desired, 0) if expected else 0
        self._write(budget, expected, desired, healthy, allowed)
        return None

    def _counts(self, spec: Obj, pods: list[Obj]) -> tuple[int, int]:
        """Return (expected, desired) pods; percentages refer to the replicas of the pods' controllers."""
        if "maxUnavailable" in spec:
            expected = self._expected(pods)
            return expected, max(expected - scaled(spec["maxUnavailable"], expected, up=True), 0)
        minimum = spec.get("minAvailable", 1)
        if isinstance(minimum, int):
            return len(pods), minimum
        expected = self._expected(pods)
        return expected, scaled(minimum, expected, up=True)

    def _expected(self, pods: list[Obj]) -> int:
        expected: dict[str, int] = {}
        alone = 0
        for pod in pods:
            owner = controller_of(pod)
            if owner is None:
                alone += 1
                continue
            resource = {"ReplicaSet": "replicasets.apps", "StatefulSet": "statefulsets.apps"}.get(owner["kind"], "")
            controller = (
                self._context.observer.get(resource, (pod["metadata"]["namespace"], owner["name"]))
                if resource
                else None
            )
            expected[owner["uid"]] = (
                controller["spec"].get("replicas", 1) if controller else expected.get(owner["uid"], 0) + 1
            )
        return alone + sum(expected.values())

    def _write(self, budget: Obj, expected: int, desired: int, healthy: int, allowed: int) -> None:
        known = (budget.get("status") or {}).get("conditions") or []
        word, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
        before = find_condition(known, "DisruptionAllowed") or {}
        generation = budget["metadata"].get("generation", 1)
        new_status: dict[str, Any] = {
            "type": "DisruptionAllowed",
            "status": word,
            "reason": reason,
            "message": "",
            "observedGeneration": generation,
            "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == word else self._context.stamp,
        }
        status = {
            "observedGeneration": generation,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": [new_status],
        }
        self._context.write_status(RESOURCE, budget, status)
