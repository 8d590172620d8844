"""Arithmetic of a Deployment's rollout (pkg/controller/deployment/util), and revisions of other workloads."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kymatui.sandbox.controllers.framework.status_conditions import Condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_controlled_by, owner_reference
from kymatui.sandbox.controllers.workloads.pod_claims import seconds_of

if TYPE_CHECKING:
    from kymatui.sandbox.controllers.framework.controller_context import ControllerContext


REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
HASH_LABEL = "pod-template-hash"
_NOT_COPIED = {"kubectl.kubernetes.io/last-applied-configuration", REVISION, REVISION_HISTORY, DESIRED, MAXIMUM}
_NEVER = 2**31 - 1


def replicas_of(obj: Mapping[str, Any]) -> int:
    replicas: int = obj["spec"].get("replicas", 1)
    return replicas


def total(replica_sets: Sequence[Obj]) -> int:
    return sum(replicas_of(rs) for rs in replica_sets)


def status_total(replica_sets: Sequence[Obj], field: str) -> int:
    return sum((rs.get("status") or {}).get(field, 0) for rs in replica_sets)


def scaled(value: int | str, replicas: int, *, up: bool) -> int:
    """Return the pods of an IntOrString: a number, or a percentage of the replicas."""
    if isinstance(value, int):
        return value
    part = int(value.removesuffix("%")) * replicas / 100
    return math.ceil(part) if up else math.floor(part)


def is_rolling(deployment: Mapping[str, Any]) -> bool:
    kind: str = (deployment["spec"].get("strategy") or {}).get("type", "RollingUpdate")
    return kind == "RollingUpdate"


def bounds(deployment: Mapping[str, Any]) -> tuple[int, int]:
    """Return (maxSurge, maxUnavailable) in pods; if both are 0, one pod may be unavailable."""
    if not is_rolling(deployment):
        return 0, 0
    replicas = replicas_of(deployment)
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", "25%"), replicas, up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, replicas)


def has_deadline(deployment: Mapping[str, Any]) -> bool:
    return bool(deployment["spec"].get("progressDeadlineSeconds", 600) != _NEVER)


def same_template(template: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether templates are equal, ignoring the hash label that the controller adds."""
    return _without_hash(template) == _without_hash(other)


def _without_hash(template: Mapping[str, Any]) -> Obj:
    metadata = dict(template.get("metadata") or {})
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != HASH_LABEL}
    metadata["labels"] = labels
    metadata.pop("creationTimestamp", None)
    return {**template, "metadata": {k: v for k, v in metadata.items() if v}}


def age_order(replica_sets: Sequence[Obj]) -> list[Obj]:
    return sorted(replica_sets, key=lambda rs: (rs["metadata"].get("creationTimestamp", ""), rs["metadata"]["name"]))


def find_new(deployment: Obj, replica_sets: Sequence[Obj]) -> Obj | None:
    """Return the ReplicaSet of the Deployment's template, the oldest of several."""
    template = deployment["spec"]["template"]
    return next((rs for rs in age_order(replica_sets) if same_template(rs["spec"]["template"], template)), None)


def revision_of(obj: Mapping[str, Any]) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdigit() else 0


def copied_annotations(deployment: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations that a Deployment copies to its ReplicaSet."""
    return {k: v for k, v in (deployment["metadata"].get("annotations") or {}).items() if k not in _NOT_COPIED}


def scale_annotations(deployment: Mapping[str, Any]) -> dict[str, str]:
    surge, _ = bounds(deployment)
    replicas = replicas_of(deployment)
    return {DESIRED: str(replicas), MAXIMUM: str(replicas + surge)}


def new_replicas(deployment: Obj, replica_sets: Sequence[Obj], new: Obj) -> int:
    """Return the new ReplicaSet's allowed replicas: at most replicas + maxSurge pods in total."""
    if not is_rolling(deployment):
        return replicas_of(deployment)
    surge, _ = bounds(deployment)
    room = replicas_of(deployment) + surge - total(replica_sets)
    if room <= 0:
        return replicas_of(new)
    return replicas_of(new) + min(room, replicas_of(deployment) - replicas_of(new))


def old_replicas(deployment: Obj, replica_sets: Sequence[Obj], new: Obj, olds: Sequence[Obj]) -> dict[str, int]:
    """Return the old ReplicaSets' replicas by name that keep replicas - maxUnavailable pods available."""
    if total(olds) == 0:
        return {}
    _, unavailable = bounds(deployment)
    minimum = replicas_of(deployment) - unavailable
    new_missing = replicas_of(new) - (new.get("status") or {}).get("availableReplicas", 0)
    most = total(replica_sets) - minimum - new_missing
    if most <= 0:
        return {}
    sizes: dict[str, int] = {}
    most = _shrink_unhealthy(olds, most, sizes)
    spare = status_total(replica_sets, "availableReplicas") - minimum
    if spare > 0:
        _shrink_healthy(olds, spare, sizes)
    return {name: count for name, count in sizes.items() if count != _by_name(olds, name)}


def _shrink_unhealthy(olds: Sequence[Obj], most: int, sizes: dict[str, int]) -> int:
    for rs in age_order(olds):
        have = replicas_of(rs)
        broken = have - (rs.get("status") or {}).get("availableReplicas", 0)
        gone = min(most, broken) if have and broken > 0 else 0
        if gone > 0:
            sizes[rs["metadata"]["name"]] = have - gone
            most -= gone
    return most


def _shrink_healthy(olds: Sequence[Obj], spare: int, sizes: dict[str, int]) -> None:
    for rs in age_order(olds):
        name = rs["metadata"]["name"]
        have = sizes.get(name, replicas_of(rs))
        gone = min(have, spare)
        if gone > 0:
            sizes[name] = have - gone
            spare -= gone


def _by_name(replica_sets: Sequence[Obj], name: str) -> int:
    return next(replicas_of(rs) for rs in replica_sets if rs["metadata"]["name"] == name)


def proportions(deployment: Obj, active: Sequence[Obj]) -> dict[str, int]:
    """Return the replicas by name when a Deployment is scaled during a rollout."""
    surge, _ = bounds(deployment)
    allowed = replicas_of(deployment) + surge if replicas_of(deployment) > 0 else 0
    to_add = allowed - total(active)
    order = sorted(active, key=lambda rs: (replicas_of(rs), rs["metadata"].get("creationTimestamp", "")), reverse=True)
    sizes: dict[str, int] = {}
    added = 0
    for rs in order:
        share = _proportion(rs, deployment, to_add, added) if to_add else 0
        sizes[rs["metadata"]["name"]] = replicas_of(rs) + share
        added += share
    if order and to_add != added:
        first = order[0]["metadata"]["name"]
        sizes[first] = max(0, sizes[first] + to_add - added)
    return sizes


def _proportion(rs: Obj, deployment: Obj, to_add: int, added: int) -> int:
    if replicas_of(rs) == 0 or to_add == added:
        return 0
    if replicas_of(deployment) == 0:
        return -replicas_of(rs)
    surge, _ = bounds(deployment)
    annotated = (rs["metadata"].get("annotations") or {}).get(MAXIMUM, "")
    maximum = (
        int(annotated)
        if annotated.isdigit() and int(annotated)
        else (deployment.get("status") or {}).get("replicas", 1)
    )
    share = round(replicas_of(rs) * (replicas_of(deployment) + surge) / max(maximum, 1)) - replicas_of(rs)
    allowed = to_add - added
    return min(share, allowed) if to_add > 0 else max(share, allowed)


def with_progress(conditions: Sequence[Condition], new: Condition, now: str) -> list[Condition]:
    """Set a condition as SetDeploymentCondition: an unchanged one stays, a changed one moves to the end."""
    known = next((c for c in conditions if c["type"] == new["type"]), None)
    if known is not None and known["status"] == new["status"] and known.get("reason") == new.get("reason"):
        return list(conditions)
    kept = known["lastTransitionTime"] if known is not None and known["status"] == new["status"] else now
    progress = {**new, "lastUpdateTime": now, "lastTransitionTime": kept}
    return [*(c for c in conditions if c["type"] != new["type"]), progress]


def is_complete(deployment: Obj, status: Mapping[str, Any]) -> bool:
    replicas = replicas_of(deployment)
    return bool(
        status.get("updatedReplicas", 0) == replicas
        and status.get("replicas", 0) == replicas
        and status.get("availableReplicas", 0) == replicas
        and status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 1)
    )


def is_progressing(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether the new status is closer to completion than the old one."""

    def behind(status: Mapping[str, Any]) -> int:
        return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))

    return (
        new.get("updatedReplicas", 0) > old.get("updatedReplicas", 0)
        or behind(new) < behind(old)
        or new.get("readyReplicas", 0) > old.get("readyReplicas", 0)
        or new.get("availableReplicas", 0) > old.get("availableReplicas", 0)
    )


def seconds_left(deployment: Obj, progressing: Condition | None, now: float) -> float | None:
    """Return the seconds until the progress deadline, negative after it; None if there is none."""
    if progressing is None or progressing.get("reason") == "NewReplicaSetAvailable":
        return None
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return -1.0
    deadline = deployment["spec"].get("progressDeadlineSeconds", 600)
    return seconds_of(progressing.get("lastUpdateTime")) + float(deadline) - now


RESOURCE = "controllerrevisions.apps"


class Revisions:
    """The revisions of the objects of one kind, oldest first; the newest has the current template."""

    def __init__(self, context: ControllerContext, kind: str, hash_label: str) -> None:
        self._context = context
        self._kind = kind
        self._hash_label = hash_label

    def of(self, owner: Obj) -> list[Obj]:
        namespace, uid = owner["metadata"].get("namespace", ""), owner["metadata"]["uid"]
        revisions = [r for r in self._context.observer.all(RESOURCE, namespace) if is_controlled_by(r, uid)]
        return sorted(revisions, key=lambda revision: revision["revision"])

    def current(self, owner: Obj) -> Obj:
        """Return the revision of the owner's template: found, moved to the front, or created."""
        known = self.of(owner)
        latest = known[-1]["revision"] if known else 0
        data = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
        same = next((r for r in known if r["data"] == data), None)
        if same is None:
            return self._create(owner, data, latest + 1)
        if same["revision"] < latest:
            updated: Obj = self._context.client.update(RESOURCE, {**same, "revision": latest + 1})
            return updated
        return same

    def _create(self, owner: Obj, data: Obj, revision: int) -> Obj:
        digest = template_hash(data)
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        revision_object = {
            "metadata": {
                "name": f"{owner['metadata']['name']}-{digest}",
                "labels": {**labels, self._hash_label: digest},
                "ownerReferences": [owner_reference("apps/v1", self._kind, owner)],
            },
            "data": data,
            "revision": revision,
        }
        created: Obj = self._context.client.create(
            RESOURCE, revision_object, namespace=owner["metadata"].get("namespace", "")
        )
        return created

    def clean_up(self, owner: Obj, used: Sequence[str]) -> None:
        """Delete unused revisions beyond revisionHistoryLimit."""
        limit = owner["spec"].get("revisionHistoryLimit", 10)
        idle = [r for r in self.of(owner)[:-1] if r["metadata"]["name"] not in used and _digest(r) not in used]
        for revision in idle[: max(len(idle) - limit, 0)]:
            self._context.delete(RESOURCE, revision)


def _digest(revision: Obj) -> str:
    return str(revision["metadata"]["name"].rpartition("-")[2])


digest_of_revision = _digest


# Short template hashes: FNV-1a over canonical JSON, in the alphabet of k8s.io/apimachinery's rand.
#
# The alphabet is that of real names (no vowels, no similar letters), so a hash looks real; its value differs from Go's
# dump of the same struct, on which no client may rely.


_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def fnv32a(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def template_hash(template: Any, collisions: int = 0) -> str:
    """Return the pod-template-hash of a pod template, different for each collision."""
    data = json.dumps(template, sort_keys=True, separators=(",", ":")).encode()
    if collisions:
        data += str(collisions).encode()
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(fnv32a(data)))
