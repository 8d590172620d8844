"""DaemonSets: one pod on the node, if the node matches."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating, key_of, owner_reference
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.workloads.pod_claims import PodClaims, available_in, is_finished, is_ready, pod_from
from kymatui.sandbox.controllers.workloads.rollout_math import Revisions, digest_of_revision
from kymatui.sandbox.controllers.workloads.statefulset_controller import REVISION_LABEL, revision_label
from kymatui.schemas.objects.object_meta_rules import selects

RESOURCE = "daemonsets.apps"
SOURCE = "daemonset-controller"
_TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


class DaemonSets:
    name = "daemonsets"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._claims = PodClaims(context, "pods", "apps/v1", "DaemonSet")
        self._revisions = Revisions(context, "DaemonSet", REVISION_LABEL)

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(RESOURCE)
        queue.follow_owner("pods", "DaemonSet")

        def node_changed(change: StoreChange) -> None:
            if change.kind != "MODIFIED":
                for key in self._context.observer.keys(RESOURCE):
                    queue.add(key)

        queue.on_change("nodes", node_changed)

    def reconcile(self, key: Key) -> float | None:
        daemon_set = self._context.observer.get(RESOURCE, key)
        if daemon_set is None or is_terminating(daemon_set):
            return None
        revision = digest_of_revision(self._revisions.current(daemon_set))
        is_wanted = self._is_wanted(daemon_set)
        pods = self._claims.of(daemon_set, daemon_set["spec"]["selector"])
        self._step(daemon_set, pods, revision, is_wanted=is_wanted)
        return self._write_status(daemon_set, revision, is_wanted=is_wanted)

    def _is_wanted(self, daemon_set: Obj) -> bool:
        node = self._context.observer.get("nodes", ("", self._context.node))
        selector = {"matchLabels": daemon_set["spec"]["template"]["spec"].get("nodeSelector") or {}}
        return node is not None and selects(selector, node["metadata"].get("labels") or {})

    def _step(self, daemon_set: Obj, pods: list[Obj], revision: str, *, is_wanted: bool) -> None:
        alive = [p for p in pods if not is_terminating(p)]
        for pod in alive:
            outdated = revision_label(pod) != revision and self._updates(daemon_set)
            if not is_wanted or is_finished(pod) or outdated:
                self._delete(daemon_set, pod)
        if is_wanted and not pods:
            self._create(daemon_set, revision)

    @staticmethod
    def _updates(daemon_set: Obj) -> bool:
        strategy = daemon_set["spec"].get("updateStrategy") or {}
        return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")

    def _create(self, daemon_set: Obj, revision: str) -> None:
        namespace, name = key_of(daemon_set)
        reference = owner_reference("apps/v1", "DaemonSet", daemon_set)
        pod = pod_from(daemon_set["spec"]["template"], reference, generate_name=f"{name}-")
        generation = str(daemon_set["metadata"].get("generation", 1))
        pod["metadata"].setdefault("labels", {}).update(
            {REVISION_LABEL: revision, "pod-template-generation": generation}
        )
        spec = pod["spec"]
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [self._context.node]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        spec["affinity"] = {**(spec.get("affinity") or {}), "nodeAffinity": required}
        spec["tolerations"] = [
            *(spec.get("tolerations") or []),
            *({"key": f"node.kubernetes.io/{k}", "operator": "Exists", "effect": e} for k, e in _TOLERATED),
        ]
        try:
            created = self._context.client.create("pods", pod, namespace=namespace)
        except StatusError as error:
            if "being terminated" in str(error):
                return
            self._event(daemon_set, "FailedCreate", f"Error creating: {error}", type="Warning")
            raise
        self._event(daemon_set, "SuccessfulCreate", f"Created pod: {created['metadata']['name']}")

    def _delete(self, daemon_set: Obj, pod: Obj) -> None:
        if self._context.delete("pods", pod):
            self._event(daemon_set, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    def _write_status(self, daemon_set: Obj, revision: str, *, is_wanted: bool) -> float | None:
        latest = self._context.observer.get(RESOURCE, key_of(daemon_set))
        if latest is None or latest["metadata"]["uid"] != daemon_set["metadata"]["uid"]:
            return None
        pods = [p for p in self._claims.of(daemon_set, daemon_set["spec"]["selector"]) if not is_terminating(p)]
        waits = [available_in(p, daemon_set["spec"].get("minReadySeconds", 0), self._context.now) for p in pods]
        available = sum(w == 0 for w in waits)
        status: Obj = {
            "currentNumberScheduled": min(len(pods), 1) if is_wanted else 0,
            "numberMisscheduled": 0 if is_wanted else len(pods),
            "desiredNumberScheduled": int(is_wanted),
            "numberReady": sum(is_ready(p) for p in pods),
            "observedGeneration": daemon_set["metadata"].get("generation", 1),
        }
        optional = {
            "updatedNumberScheduled": sum(revision_label(p) == revision for p in pods),
            "numberAvailable": available,
            "numberUnavailable": int(is_wanted) - min(available, 1),
        }
        status.update({k: v for k, v in optional.items() if v})
        self._context.write_status(RESOURCE, latest, status)
        coming = [w for w in waits if w]
        return min(coming) if coming else None

    def _event(self, daemon_set: Obj, reason: str, message: str, *, type: Any = "Normal") -> None:
        self._context.recorder.event(daemon_set, "DaemonSet", "apps/v1", reason, message, type=type, source=SOURCE)
