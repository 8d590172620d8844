"""StatefulSets: numbered pods in order, each with its claims, updated from last to first."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating, key_of, owner_reference
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.workloads.pod_claims import PodClaims, available_in, is_finished, is_ready, pod_from
from kymatui.sandbox.controllers.workloads.rollout_math import Revisions

RESOURCE = "statefulsets.apps"
CLAIMS = "persistentvolumeclaims"
SOURCE = "statefulset-controller"
REVISION_LABEL = "controller-revision-hash"
NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"


class StatefulSets:
    name = "statefulsets"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._claims = PodClaims(context, "pods", "apps/v1", "StatefulSet")
        self._revisions = Revisions(context, "StatefulSet", "controller.kubernetes.io/hash")

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(RESOURCE)
        queue.follow_owner("pods", "StatefulSet")

    def reconcile(self, key: Key) -> float | None:
        stateful_set = self._context.observer.get(RESOURCE, key)
        if stateful_set is None:
            return None
        if is_terminating(stateful_set):
            return None
        update = self._revisions.current(stateful_set)["metadata"]["name"]
        current = self._current_revision(stateful_set, update)
        pods = {ordinal_of(p, stateful_set): p for p in self._claims.of(stateful_set, stateful_set["spec"]["selector"])}
        wait = self._step(stateful_set, pods, current, update)
        self._write_status(stateful_set, current, update)
        return wait

    def _current_revision(self, stateful_set: Obj, update: str) -> str:
        known = (stateful_set.get("status") or {}).get("currentRevision")
        names = {r["metadata"]["name"] for r in self._revisions.of(stateful_set)}
        return str(known) if known in names else update

    # -- reconciliation

    def _step(self, stateful_set: Obj, pods: dict[int, Obj], current: str, update: str) -> float | None:
        """Create, delete or update one pod (all at once with podManagementPolicy Parallel)."""
        spec = stateful_set["spec"]
        first = (spec.get("ordinals") or {}).get("start", 0)
        ordinals = range(first, first + spec.get("replicas", 1))
        ordered = spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        waits: list[float] = []
        for ordinal in ordinals:
            pod = pods.get(ordinal)
            if pod is not None and is_finished(pod) and not is_terminating(pod):
                self._delete(stateful_set, pod)
                return None
            if pod is None:
                self._create(stateful_set, ordinal, self._revision_for(stateful_set, ordinal, current, update))
                if ordered:
                    return None
                continue
            seconds = available_in(pod, spec.get("minReadySeconds", 0), self._context.now)
            if ordered and (is_terminating(pod) or seconds != 0):
                return seconds or None
            if seconds:
                waits.append(seconds)
        if self._shrink(stateful_set, pods, ordinals, ordered=ordered):
            return None
        self._update_pods(stateful_set, pods, ordinals, update)
        return min(waits) if waits else None

    def _shrink(self, stateful_set: Obj, pods: dict[int, Obj], ordinals: range, *, ordered: bool) -> bool:
        condemned = sorted((o for o in pods if o not in ordinals), reverse=True)
        for ordinal in condemned:
            if is_terminating(pods[ordinal]):
                if ordered:
                    return True
                continue
            self._delete(stateful_set, pods[ordinal])
            if ordered:
                return True
        return bool(condemned)

    def _update_pods(self, stateful_set: Obj, pods: dict[int, Obj], ordinals: range, update: str) -> None:
        """Delete the last outdated pod above the partition, if the pods behind it are healthy."""
        strategy = stateful_set["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        for ordinal in sorted((o for o in ordinals if o - ordinals.start >= partition), reverse=True):
            pod = pods.get(ordinal)
            if pod is None:
                return
            if revision_label(pod) != update and not is_terminating(pod):
                self._delete(stateful_set, pod)
                return
            if is_terminating(pod) or not is_ready(pod):
                return

    @staticmethod
    def _revision_for(stateful_set: Obj, ordinal: int, current: str, update: str) -> str:
        strategy = stateful_set["spec"].get("updateStrategy") or {}
        partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        first = (stateful_set["spec"].get("ordinals") or {}).get("start", 0)
        behind = strategy.get("type", "RollingUpdate") == "RollingUpdate" and ordinal - first < partition
        return current if behind else update

    # -- pods and claims

    def _create(self, stateful_set: Obj, ordinal: int, revision: str) -> None:
        namespace, name = key_of(stateful_set)
        pod_name = f"{name}-{ordinal}"
        template = self._template(stateful_set, revision)
        pod = pod_from(template, owner_reference("apps/v1", "StatefulSet", stateful_set), name=pod_name)
        labels = pod["metadata"].setdefault("labels", {})
        labels.update({NAME_LABEL: pod_name, INDEX_LABEL: str(ordinal), REVISION_LABEL: revision})
        spec = pod["spec"]
        spec["hostname"] = pod_name
        if stateful_set["spec"].get("serviceName"):
            spec["subdomain"] = stateful_set["spec"]["serviceName"]
        self._mount_claims(stateful_set, pod_name, spec)
        try:
            self._context.client.create("pods", pod, namespace=namespace)
        except StatusError as error:
            message = f"create Pod {pod_name} in StatefulSet {name} failed error: {error}"
            if error.reason != "AlreadyExists" and "being terminated" not in str(error):
                self._event(stateful_set, "FailedCreate", message, type="Warning")
                raise
            return
        self._event(stateful_set, "SuccessfulCreate", f"Create Pod {pod_name} in StatefulSet {name} successful")

    def _template(self, stateful_set: Obj, revision: str) -> Obj:
        stored = next((r for r in self._revisions.of(stateful_set) if r["metadata"]["name"] == revision), None)
        template = dict(stored["data"]["spec"]["template"]) if stored else dict(stateful_set["spec"]["template"])
        template.pop("$patch", None)
        return template

    def _mount_claims(self, stateful_set: Obj, pod_name: str, spec: Obj) -> None:
        namespace, name = key_of(stateful_set)
        templates = stateful_set["spec"].get("volumeClaimTemplates") or []
        own = {t["metadata"]["name"] for t in templates}
        volumes = [v for v in spec.get("volumes") or [] if v["name"] not in own]
        for template in templates:
            volume = template["metadata"]["name"]
            claim = f"{volume}-{pod_name}"
            volumes.append({"name": volume, "persistentVolumeClaim": {"claimName": claim}})
            if self._context.observer.get(CLAIMS, (namespace, claim)) is not None:
                continue
            labels = {
                **(template["metadata"].get("labels") or {}),
                **(stateful_set["spec"]["selector"].get("matchLabels") or {}),
            }
            annotations = template["metadata"].get("annotations") or {}
            volume_claim = {
                "metadata": {"name": claim, "labels": labels, "annotations": annotations},
                "spec": template["spec"],
            }
            self._context.client.create(CLAIMS, volume_claim, namespace=namespace)
            message = f"Create Claim {claim} Pod {pod_name} in StatefulSet {name} success"
            self._event(stateful_set, "SuccessfulCreate", message)
        if volumes:
            spec["volumes"] = volumes

    def _delete(self, stateful_set: Obj, pod: Obj) -> None:
        name, set_name = pod["metadata"]["name"], stateful_set["metadata"]["name"]
        if self._context.delete("pods", pod):
            self._event(stateful_set, "SuccessfulDelete", f"Delete Pod {name} in StatefulSet {set_name} successful")

    # -- status

    def _write_status(self, stateful_set: Obj, current: str, update: str) -> None:
        latest = self._context.observer.get(RESOURCE, key_of(stateful_set))
        if latest is None or latest["metadata"]["uid"] != stateful_set["metadata"]["uid"]:
            return
        pods = self._claims.of(stateful_set, stateful_set["spec"]["selector"])
        here = [p for p in pods if not is_terminating(p)]
        ready = [p for p in here if is_ready(p)]
        minimum = stateful_set["spec"].get("minReadySeconds", 0)
        updated = [p for p in here if revision_label(p) == update]
        replicas = stateful_set["spec"].get("replicas", 1)
        if current != update and len(updated) == replicas == len(ready) == len(pods):
            current = update
            self._revisions.clean_up(stateful_set, [update])
        status: Obj = {
            "observedGeneration": stateful_set["metadata"].get("generation", 1),
            "replicas": len(pods),
            "readyReplicas": len(ready),
            "currentReplicas": sum(revision_label(p) == current for p in here),
            "updatedReplicas": len(updated),
            "currentRevision": current,
            "updateRevision": update,
        }
        status = {k: v for k, v in status.items() if v or k == "replicas"}
        status["availableReplicas"] = sum(available_in(p, minimum, self._context.now) == 0 for p in here)
        status["collisionCount"] = (latest.get("status") or {}).get("collisionCount", 0)
        self._context.write_status(RESOURCE, latest, status)

    def _event(self, stateful_set: Obj, reason: str, message: str, *, type: Any = "Normal") -> None:
        self._context.recorder.event(stateful_set, "StatefulSet", "apps/v1", reason, message, type=type, source=SOURCE)


def ordinal_of(pod: Obj, stateful_set: Obj) -> int:
    """Return the ordinal in the pod's name, -1 for a pod of another owner."""
    head, _, tail = pod["metadata"]["name"].rpartition("-")
    return int(tail) if head == stateful_set["metadata"]["name"] and tail.isdigit() else -1


def revision_label(pod: Obj) -> str:
    return str((pod["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))
