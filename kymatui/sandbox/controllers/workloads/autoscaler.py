"""HorizontalPodAutoscalers: keep replicas within bounds, with the conditions of working metrics.

The sandbox has no load, so every metric is half of its target, and the minimum number of replicas is enough.
"""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import condition, with_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, key_of
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue

RESOURCE = "horizontalpodautoscalers.autoscaling"
SOURCE = "horizontal-pod-autoscaler"
TARGETS = {"Deployment": "deployments.apps", "StatefulSet": "statefulsets.apps", "ReplicaSet": "replicasets.apps"}


class Autoscalers:
    name = "autoscalers"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(RESOURCE)

        def target_changed(change: StoreChange) -> None:
            for autoscaler in self._context.observer.all(RESOURCE, change.current.namespace):
                if autoscaler["spec"]["scaleTargetRef"]["name"] == change.current.name:
                    queue.add(key_of(autoscaler))

        for resource in TARGETS.values():
            queue.on_change(resource, target_changed)

    def reconcile(self, key: Key) -> float | None:
        autoscaler = self._context.observer.get(RESOURCE, key)
        if autoscaler is None:
            return None
        reference = autoscaler["spec"]["scaleTargetRef"]
        resource = TARGETS.get(reference["kind"], "")
        target = self._context.observer.get(resource, (key[0], reference["name"])) if resource else None
        if target is None:
            message = (
                "the HPA controller was unable to get the target's current scale: "
                f'{reference["kind"].lower()}s.apps "{reference["name"]}" not found'
            )
            self._write(autoscaler, 0, 0, [condition("AbleToScale", False, "FailedGetScale", message)])
            return None
        self._follow(autoscaler, resource, target)
        return None

    def _follow(self, autoscaler: Obj, resource: str, target: Obj) -> None:
        current = target["spec"].get("replicas", 1)
        if current == 0:
            message = "scaling is disabled since the replica count of the target is zero"
            able = condition(
                "AbleToScale",
                True,
                "SucceededGetScale",
                "the HPA controller was able to get the target's current scale",
            )
            self._write(autoscaler, 0, 0, [able, condition("ScalingActive", False, "ScalingDisabled", message)])
            return
        smallest, largest = autoscaler["spec"].get("minReplicas", 1), autoscaler["spec"]["maxReplicas"]
        desired = min(max(current, smallest), largest) if current < smallest or current > largest else current
        if desired != current:
            namespace, name = key_of(target)
            self._context.client.patch(resource, name, {"spec": {"replicas": desired}}, namespace=namespace)
            why = (
                "Current number of replicas below Spec.MinReplicas"
                if desired > current
                else "Current number of replicas above Spec.MaxReplicas"
            )
            self._context.recorder.event(
                autoscaler,
                "HorizontalPodAutoscaler",
                "autoscaling/v2",
                "SuccessfulRescale",
                f"New size: {desired}; reason: {why}",
                source=SOURCE,
            )
        self._write(autoscaler, (target.get("status") or {}).get("replicas", 0), desired, _healthy(autoscaler))

    def _write(self, autoscaler: Obj, current: int, desired: int, new_conditions: list[Obj]) -> None:
        latest = self._context.observer.get(RESOURCE, key_of(autoscaler))
        if latest is None:
            return
        known = latest.get("status") or {}
        conditions = [c for c in known.get("conditions") or [] if c["type"] in {m["type"] for m in new_conditions}]
        for new in new_conditions:
            conditions = with_condition(conditions, new, self._context.stamp)
        metrics = [m for m in (_measured(m) for m in autoscaler["spec"].get("metrics") or []) if m] if desired else []
        status: Obj = {
            "currentReplicas": current,
            "desiredReplicas": desired,
            "currentMetrics": metrics or None,
            "conditions": conditions,
        }
        if known.get("lastScaleTime"):
            status["lastScaleTime"] = known["lastScaleTime"]
        if desired and known.get("desiredReplicas") not in (None, desired):
            status["lastScaleTime"] = self._context.stamp
        self._context.write_status(RESOURCE, latest, status)


def _healthy(autoscaler: Obj) -> list[Obj]:
    metrics = autoscaler["spec"].get("metrics") or []
    name = metrics[0].get("resource", {}).get("name", "") if metrics else "cpu"
    measured = f"{name or 'external'} resource utilization (percentage of request)"
    active = f"the HPA was able to successfully calculate a replica count from {measured}"
    return [
        condition("AbleToScale", True, "ReadyForNewScale", "recommended size matches current size"),
        condition("ScalingActive", True, "ValidMetricFound", active),
        condition("ScalingLimited", False, "DesiredWithinRange", "the desired count is within the acceptable range"),
    ]


def _measured(metric: Obj) -> dict[str, Any] | None:
    resource = metric.get("resource")
    if metric.get("type") != "Resource" or not resource:
        return None
    goal = resource["target"].get("averageUtilization")
    current: Obj = {"averageValue": "50m" if resource["name"] == "cpu" else "64Mi"}
    if goal:
        current["averageUtilization"] = goal // 2
    return {"type": "Resource", "resource": {"name": resource["name"], "current": current}}
