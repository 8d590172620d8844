"""Deployments: one ReplicaSet per template, rolled out within maxSurge and maxUnavailable.

Follows k8s.io/kubernetes/pkg/controller/deployment step by step, with its messages and reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kymatui.sandbox.apimachinery.object_store import Key
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import Condition, condition, find_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_terminating, key_of, owner_reference
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.controllers.workloads import rollout_math
from kymatui.sandbox.controllers.workloads.pod_claims import PodClaims, is_finished
from kymatui.sandbox.controllers.workloads.rollout_math import (
    replicas_of,
    status_total,
    template_hash,
    total,
    with_progress,
)

RESOURCE = "deployments.apps"
REPLICA_SETS = "replicasets.apps"
SOURCE = "deployment-controller"


class Deployments:
    name = "deployments"

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._claims = PodClaims(context, REPLICA_SETS, "apps/v1", "Deployment")

    def watch(self, queue: ControllerQueue) -> None:
        queue.follow(RESOURCE)
        queue.follow_owner(REPLICA_SETS, "Deployment")

    def reconcile(self, key: Key) -> float | None:
        deployment = self._context.observer.get(RESOURCE, key)
        if deployment is None:
            return None
        sets = self._claims.of(deployment, deployment["spec"].get("selector"))
        if is_terminating(deployment):
            return self._sync_status(deployment, sets, rollout_math.find_new(deployment, sets))
        if self._note_pause(deployment):
            return 0.0
        if deployment["spec"].get("paused") or self._is_scaling(deployment, sets):
            return self._scale_only(deployment, sets)
        new = self._new_replica_set(deployment, sets)
        if new is None:
            return 0.0
        if rollout_math.is_rolling(deployment):
            return self._roll(deployment, sets, new)
        return self._recreate(deployment, sets, new)

    # -- the ReplicaSet of the template

    def _new_replica_set(self, deployment: Obj, sets: list[Obj]) -> Obj | None:
        """Return the up-to-date ReplicaSet of the template, None if a write requires a new reconciliation."""
        replica_set = rollout_math.find_new(deployment, sets)
        olds = [rs for rs in sets if rs is not replica_set]
        revision = max((rollout_math.revision_of(rs) for rs in olds), default=0) + 1
        if replica_set is None:
            self._create(deployment, sets, revision)
            return None
        revision = max(revision, rollout_math.revision_of(replica_set))
        if self._annotate(deployment, replica_set, revision) or self._keep_revision(deployment, revision):
            return None
        if find_condition((deployment.get("status") or {}).get("conditions"), "Progressing") is None:
            name = replica_set["metadata"]["name"]
            if self._set_progress(deployment, "True", "FoundNewReplicaSet", f'Found new replica set "{name}"'):
                return None
        return replica_set

    def _annotate(self, deployment: Obj, rs: Obj, revision: int) -> bool:
        known = rs["metadata"].get("annotations") or {}
        merged = {**known, **rollout_math.copied_annotations(deployment), **rollout_math.scale_annotations(deployment)}
        before = rollout_math.revision_of(rs)
        merged[rollout_math.REVISION] = str(revision)
        if before and before != revision:
            history = known.get(rollout_math.REVISION_HISTORY, "")
            merged[rollout_math.REVISION_HISTORY] = f"{history},{before}" if history else str(before)
        if merged == known:
            return False
        self._context.client.update(REPLICA_SETS, {**rs, "metadata": {**rs["metadata"], "annotations": merged}})
        return True

    def _keep_revision(self, deployment: Obj, revision: int) -> bool:
        if rollout_math.revision_of(deployment) == revision:
            return False
        annotations = {**(deployment["metadata"].get("annotations") or {}), rollout_math.REVISION: str(revision)}
        metadata = {**deployment["metadata"], "annotations": annotations}
        self._context.client.update_status(RESOURCE, {**deployment, "metadata": metadata})
        return True

    def _create(self, deployment: Obj, sets: list[Obj], revision: int) -> None:
        replica_set = self._desired_set(deployment, sets, revision)
        try:
            self._context.client.create(REPLICA_SETS, replica_set, namespace=key_of(deployment)[0])
        except StatusError as error:
            self._creation_failed(deployment, replica_set, error)
            return
        new_name = replica_set["metadata"]["name"]
        if replica_set["spec"]["replicas"]:
            self._event(deployment, f"Scaled up replica set {new_name} from 0 to {replica_set['spec']['replicas']}")
        self._set_progress(deployment, "True", "NewReplicaSetCreated", f'Created new replica set "{new_name}"')

    def _creation_failed(self, deployment: Obj, replica_set: Obj, error: StatusError) -> None:
        """Count a name collision with another template; report any other error in the condition."""
        status = deployment.get("status") or {}
        if error.reason == "AlreadyExists":
            collisions = status.get("collisionCount", 0) + 1
            self._context.write_status(RESOURCE, deployment, {**status, "collisionCount": collisions})
            return
        message = f'Failed to create new replica set "{replica_set["metadata"]["name"]}": {error}'
        if "being terminated" not in str(error):
            self._set_progress(deployment, "False", "ReplicaSetCreateError", message)
        raise error

    def _desired_set(self, deployment: Obj, sets: list[Obj], revision: int) -> Obj:
        template = deployment["spec"]["template"]
        digest = template_hash(template, (deployment.get("status") or {}).get("collisionCount", 0))
        labels = {**((template.get("metadata") or {}).get("labels") or {}), rollout_math.HASH_LABEL: digest}
        selector = deployment["spec"]["selector"]
        match_labels = {**(selector.get("matchLabels") or {}), rollout_math.HASH_LABEL: digest}
        annotations = {**rollout_math.copied_annotations(deployment), **rollout_math.scale_annotations(deployment)}
        replica_set: Obj = {
            "metadata": {
                "name": f"{deployment['metadata']['name']}-{digest}",
                "labels": labels,
                "annotations": {**annotations, rollout_math.REVISION: str(revision)},
                "ownerReferences": [owner_reference("apps/v1", "Deployment", deployment)],
            },
            "spec": {
                "replicas": 0,
                "selector": {**selector, "matchLabels": match_labels},
                "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
            },
        }
        if deployment["spec"].get("minReadySeconds"):
            replica_set["spec"]["minReadySeconds"] = deployment["spec"]["minReadySeconds"]
        if rollout_math.is_rolling(deployment):
            replica_set["spec"]["replicas"] = rollout_math.new_replicas(deployment, [*sets, replica_set], replica_set)
        elif not self._running_pods(deployment, sets) and not total(sets):
            replica_set["spec"]["replicas"] = replicas_of(deployment)
        return replica_set

    # -- scaling

    def _roll(self, deployment: Obj, sets: list[Obj], new: Obj) -> float | None:
        olds = [rs for rs in sets if rs is not new]
        replicas = (
            replicas_of(deployment)
            if replicas_of(new) > replicas_of(deployment)
            else rollout_math.new_replicas(deployment, sets, new)
        )
        if self._scale(deployment, new, replicas):
            return self._sync_status(deployment, sets, new)
        shrunk = rollout_math.old_replicas(deployment, sets, new, olds)
        for rs in olds:
            if rs["metadata"]["name"] in shrunk:
                self._scale(deployment, rs, shrunk[rs["metadata"]["name"]])
        if not shrunk and rollout_math.is_complete(deployment, deployment.get("status") or {}):
            self._clean_up(deployment, olds)
        return self._sync_status(deployment, sets, new)

    def _recreate(self, deployment: Obj, sets: list[Obj], new: Obj) -> float | None:
        olds = [rs for rs in sets if rs is not new]
        active = [rs for rs in olds if replicas_of(rs)]
        for rs in active:
            self._scale(deployment, rs, 0)
        if not active and not self._running_pods(deployment, olds):
            self._scale(deployment, new, replicas_of(deployment))
        wait = self._sync_status(deployment, sets, new)
        if self._running_pods(deployment, olds):
            return 0.3
        if rollout_math.is_complete(deployment, deployment.get("status") or {}):
            self._clean_up(deployment, olds)
        return wait

    def _running_pods(self, deployment: Obj, sets: Sequence[Obj]) -> bool:
        uids = {rs["metadata"]["uid"] for rs in sets if "uid" in rs["metadata"]}
        namespace = deployment["metadata"].get("namespace", "")
        return any(
            reference.get("uid") in uids
            for pod in self._context.observer.all("pods", namespace)
            if not is_finished(pod)
            for reference in pod["metadata"].get("ownerReferences") or []
        )

    def _scale(self, deployment: Obj, rs: Obj, replicas: int) -> bool:
        """Set the replicas of a ReplicaSet; return whether they changed."""
        before = replicas_of(rs)
        annotations = {**(rs["metadata"].get("annotations") or {}), **rollout_math.scale_annotations(deployment)}
        if before == replicas and annotations == (rs["metadata"].get("annotations") or {}):
            return False
        metadata = {**rs["metadata"], "annotations": annotations}
        self._context.client.update(
            REPLICA_SETS, {**rs, "metadata": metadata, "spec": {**rs["spec"], "replicas": replicas}}
        )
        if before == replicas:
            return False
        direction = "up" if replicas > before else "down"
        self._event(deployment, f"Scaled {direction} replica set {rs['metadata']['name']} from {before} to {replicas}")
        return True

    @staticmethod
    def _is_scaling(deployment: Obj, sets: Sequence[Obj]) -> bool:
        """Return whether the Deployment's replicas changed since its active ReplicaSets were last scaled."""
        for rs in sets:
            desired = (rs["metadata"].get("annotations") or {}).get(rollout_math.DESIRED)
            if replicas_of(rs) and desired is not None and desired != str(replicas_of(deployment)):
                return True
        return False

    def _scale_only(self, deployment: Obj, sets: list[Obj]) -> float | None:
        """Scale without rollout: one active ReplicaSet, a finished rollout, or all in proportion."""
        new = rollout_math.find_new(deployment, sets)
        active = [rs for rs in sets if replicas_of(rs)]
        changed = False
        latest = active[0] if len(active) == 1 else (new or None) if not active else None
        if latest is not None:
            changed = self._scale(deployment, latest, replicas_of(deployment))
        elif new is not None and self._is_saturated(deployment, new):
            for rs in active:
                changed |= rs is not new and self._scale(deployment, rs, 0)
        elif rollout_math.is_rolling(deployment):
            proportions = rollout_math.proportions(deployment, active)
            for rs in active:
                changed |= self._scale(deployment, rs, proportions[rs["metadata"]["name"]])
        wait = self._sync_status(deployment, sets, new)
        return 0.0 if changed and not deployment["spec"].get("paused") else wait

    @staticmethod
    def _is_saturated(deployment: Obj, new: Obj) -> bool:
        replicas = replicas_of(deployment)
        desired = (new["metadata"].get("annotations") or {}).get(rollout_math.DESIRED)
        available = (new.get("status") or {}).get("availableReplicas", 0)
        return replicas_of(new) == replicas and desired == str(replicas) and available == replicas

    def _clean_up(self, deployment: Obj, olds: Sequence[Obj]) -> None:
        """Delete old ReplicaSets beyond revisionHistoryLimit."""
        limit = deployment["spec"].get("revisionHistoryLimit", 10)
        done = [
            rs for rs in olds if not replicas_of(rs) and not status_total([rs], "replicas") and not is_terminating(rs)
        ]
        for rs in sorted(done, key=rollout_math.revision_of)[: max(len(done) - limit, 0)]:
            self._context.delete(REPLICA_SETS, rs)

    # -- status

    def _note_pause(self, deployment: Obj) -> bool:
        """Report a paused or resumed rollout in the Progressing condition."""
        if not rollout_math.has_deadline(deployment):
            return False
        known = find_condition((deployment.get("status") or {}).get("conditions"), "Progressing")
        reason = known.get("reason") if known else ""
        if reason == "ProgressDeadlineExceeded":
            return False
        if deployment["spec"].get("paused") and reason != "DeploymentPaused":
            return self._set_progress(deployment, "Unknown", "DeploymentPaused", "Deployment is paused")
        if not deployment["spec"].get("paused") and reason == "DeploymentPaused":
            return self._set_progress(deployment, "Unknown", "DeploymentResumed", "Deployment is resumed")
        return False

    def _set_progress(self, deployment: Obj, status: str, reason: str, message: str) -> bool:
        if not rollout_math.has_deadline(deployment):
            return False
        current = self._context.observer.get(RESOURCE, key_of(deployment))
        if current is None:
            return True
        known = dict(current.get("status") or {})
        new_condition = condition("Progressing", status, reason, message)
        conditions = with_progress(known.get("conditions") or [], new_condition, self._context.stamp)
        return self._context.write_status(RESOURCE, current, {**known, "conditions": conditions})

    def _sync_status(self, deployment: Obj, sets: Sequence[Obj], new: Obj | None) -> float | None:
        """Write counts and conditions; return the seconds until the progress deadline."""
        current = self._context.observer.get(RESOURCE, key_of(deployment))
        if current is None or current["metadata"]["uid"] != deployment["metadata"]["uid"]:
            return None
        sets = [
            replica_set
            for rs in sets
            if (replica_set := self._context.observer.get(REPLICA_SETS, key_of(rs))) is not None
        ]
        status = self._counts(current, sets, new)
        conditions = self._conditions(current, status, sets, new)
        status["conditions"] = conditions
        self._context.write_status(RESOURCE, current, {k: v for k, v in status.items() if v != []})
        seconds = rollout_math.seconds_left(current, find_condition(conditions, "Progressing"), self._context.now)
        return seconds + 0.05 if seconds is not None and seconds >= 0 and not current["spec"].get("paused") else None

    def _counts(self, deployment: Obj, sets: Sequence[Obj], new: Obj | None) -> Obj:
        name = new["metadata"]["name"] if new else ""
        mine = [rs for rs in sets if rs["metadata"]["name"] == name]
        available = status_total(sets, "availableReplicas")
        status: Obj = {
            "observedGeneration": deployment["metadata"].get("generation", 1),
            "replicas": status_total(sets, "replicas"),
            "updatedReplicas": status_total(mine, "replicas"),
            "readyReplicas": status_total(sets, "readyReplicas"),
            "availableReplicas": available,
            "unavailableReplicas": max(total(sets) - available, 0),
            "collisionCount": (deployment.get("status") or {}).get("collisionCount", 0),
        }
        status = {k: v for k, v in status.items() if v}
        status["terminatingReplicas"] = status_total(sets, "terminatingReplicas")
        return status

    def _conditions(self, deployment: Obj, status: Obj, sets: Sequence[Obj], new: Obj | None) -> list[Condition]:
        now = self._context.stamp
        conditions: list[Condition] = list((deployment.get("status") or {}).get("conditions") or [])
        _, unavailable = rollout_math.bounds(deployment)
        enough = status.get("availableReplicas", 0) >= replicas_of(deployment) - unavailable
        new_condition = (
            condition("Available", True, "MinimumReplicasAvailable", "Deployment has minimum availability.")
            if enough
            else condition(
                "Available", False, "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
            )
        )
        conditions = with_progress(conditions, new_condition, now)
        if not rollout_math.has_deadline(deployment):
            conditions = [c for c in conditions if c["type"] != "Progressing"]
        elif not deployment["spec"].get("paused"):
            conditions = self._progress(deployment, status, conditions, new)
        return self._replica_failure(conditions, sets, now)

    def _progress(self, deployment: Obj, status: Obj, conditions: list[Condition], new: Obj | None) -> list[Condition]:
        now = self._context.stamp
        known = find_condition(conditions, "Progressing")
        settled = status.get("replicas", 0) == status.get("updatedReplicas", 0)
        if settled and known is not None and known.get("reason") == "NewReplicaSetAvailable":
            return conditions
        what = f'ReplicaSet "{new["metadata"]["name"]}"' if new else f'Deployment "{deployment["metadata"]["name"]}"'
        if rollout_math.is_complete(deployment, status):
            new_condition = condition(
                "Progressing", True, "NewReplicaSetAvailable", f"{what} has successfully progressed."
            )
            return with_progress(conditions, new_condition, now)
        if rollout_math.is_progressing(deployment.get("status") or {}, status):
            kept = known["lastTransitionTime"] if known is not None and known["status"] == "True" else now
            new_condition = condition("Progressing", True, "ReplicaSetUpdated", f"{what} is progressing.")
            others = [c for c in conditions if c["type"] != "Progressing"]
            return [*others, {**new_condition, "lastUpdateTime": now, "lastTransitionTime": kept}]
        seconds = rollout_math.seconds_left(deployment, known, self._context.now)
        if seconds is not None and seconds < 0:
            new_condition = condition(
                "Progressing", False, "ProgressDeadlineExceeded", f"{what} has timed out progressing."
            )
            return with_progress(conditions, new_condition, now)
        return conditions

    @staticmethod
    def _replica_failure(conditions: list[Condition], sets: Sequence[Obj], now: str) -> list[Condition]:
        failed = next(
            (c for rs in sets if (c := find_condition((rs.get("status") or {}).get("conditions"), "ReplicaFailure"))),
            None,
        )
        if failed is None:
            return [c for c in conditions if c["type"] != "ReplicaFailure"]
        new_condition = condition(
            "ReplicaFailure", failed["status"], failed.get("reason", ""), failed.get("message", "")
        )
        return with_progress(conditions, new_condition, now)

    def _event(self, deployment: Obj, message: str, reason: str = "ScalingReplicaSet", *, type: Any = "Normal") -> None:
        self._context.recorder.event(deployment, "Deployment", "apps/v1", reason, message, type=type, source=SOURCE)
