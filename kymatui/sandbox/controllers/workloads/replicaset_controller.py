"""ReplicaSets: create and delete pods up to the requested number, and count them."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import condition, with_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating, key_of, owner_reference
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.workloads.pod_claims import (
    PodClaims,
    available_in,
    deletion_order,
    is_active,
    is_ready,
    pod_from,
)
from kymatui.schemas.objects.object_meta_rules import selects

RESOURCE = "replicasets.apps"
SOURCE = "replicaset-controller"
BURST = 500


class ReplicaSets:
    name = "replicasets"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._claims = PodClaims(context, "pods", "apps/v1", "ReplicaSet")

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(RESOURCE)
        queue.follow_owner("pods", "ReplicaSet")

        def orphan(change: StoreChange) -> None:
            if change.kind != "DELETED" and b'"controller":true' not in change.current.data:
                for key in self._context.observer.keys(RESOURCE, change.current.namespace):
                    queue.add(key)

        queue.on_change("pods", orphan)

    def reconcile(self, key: Key) -> float | None:
        replica_set = self._context.observer.get(RESOURCE, key)
        if replica_set is None:
            return None
        pods = self._claims.of(replica_set, replica_set["spec"].get("selector"))
        failure: str | None = None
        if not is_terminating(replica_set):
            failure = self._scale(replica_set, [p for p in pods if is_active(p)])
            pods = self._claims.of(replica_set, replica_set["spec"].get("selector"))
        return self._write_status(replica_set, pods, failure)

    def _scale(self, replica_set: Obj, active: list[Obj]) -> str | None:
        """Create or delete the difference in pods; return the message of a failed creation."""
        replicas = replica_set["spec"].get("replicas", 1)
        if len(active) < replicas:
            return self._create(replica_set, min(replicas - len(active), BURST))
        for pod in deletion_order(active)[: len(active) - replicas]:
            if self._context.delete("pods", pod):
                self._event(replica_set, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
        return None

    def _create(self, replica_set: Obj, count: int) -> str | None:
        namespace, name = key_of(replica_set)
        reference = owner_reference("apps/v1", "ReplicaSet", replica_set)
        for _ in range(count):
            pod = pod_from(replica_set["spec"].get("template") or {}, reference, generate_name=f"{name}-")
            try:
                created = self._context.client.create("pods", pod, namespace=namespace)
            except StatusError as error:
                if error.status.get("reason") == "Forbidden" and "being terminated" in str(error):
                    return None
                self._event(replica_set, "FailedCreate", f"Error creating: {error}", type="Warning")
                return str(error)
            self._event(replica_set, "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")
        return None

    def _write_status(self, replica_set: Obj, pods: list[Obj], failure: str | None) -> float | None:
        current = self._context.observer.get(RESOURCE, key_of(replica_set))
        if current is None or current["metadata"]["uid"] != replica_set["metadata"]["uid"]:
            return None
        spec = replica_set["spec"]
        active = [p for p in pods if is_active(p)]
        template_labels = (spec.get("template") or {}).get("metadata", {}).get("labels") or {}
        waits = [available_in(p, spec.get("minReadySeconds", 0), self._context.now) for p in active]
        labelled = [p for p in active if selects({"matchLabels": template_labels}, p["metadata"].get("labels") or {})]
        status: Obj = {
            "replicas": len(active),
            "fullyLabeledReplicas": len(labelled),
            "readyReplicas": sum(is_ready(p) for p in active),
            "availableReplicas": sum(w == 0 for w in waits),
            "observedGeneration": replica_set["metadata"].get("generation", 1),
        }
        status = {name: value for name, value in status.items() if value or name == "replicas"}
        status["terminatingReplicas"] = sum(is_terminating(p) for p in pods)
        if failure:
            status["conditions"] = self._failed(current, failure)
        self._context.write_status(RESOURCE, current, status)
        coming = [w for w in waits if w]
        retry = [5.0] if failure else []
        return min(coming + retry) if coming or retry else None

    def _failed(self, current: Obj, failure: str) -> list[Obj]:
        """Return conditions with the first failure only: each message names another pod and would be a change."""
        known = (current.get("status") or {}).get("conditions") or []
        if any(entry["type"] == "ReplicaFailure" for entry in known):
            return list(known)
        return with_condition(known, condition("ReplicaFailure", True, "FailedCreate", failure), self._context.stamp)

    def _event(self, replica_set: Obj, reason: str, message: str, *, type: Any = "Normal") -> None:
        self._context.recorder.event(replica_set, "ReplicaSet", "apps/v1", reason, message, type=type, source=SOURCE)
