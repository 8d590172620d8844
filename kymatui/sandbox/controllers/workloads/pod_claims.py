"""Shared functions of pod controllers: claim, assess, create and delete pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import find_condition
from kymatui.sandbox.controllers.framework.store_reader import (
    Obj,
    controller_of,
    is_controlled_by,
    is_terminating,
    key_of,
    owner_reference,
)
from kymatui.schemas.objects.object_meta_rules import selects


def seconds_of(stamp: str | None) -> float:
    """Return a metav1.Time in Unix seconds, 0 for none."""
    return datetime.fromisoformat(stamp).timestamp() if stamp else 0.0


def is_ready(pod: Mapping[str, Any]) -> bool:
    condition = find_condition((pod.get("status") or {}).get("conditions"), "Ready")
    return condition is not None and condition.get("status") == "True"


def available_in(pod: Mapping[str, Any], min_ready: int, now: float) -> float | None:
    """Return 0 for an available pod, the seconds until it is one, None if it is not ready."""
    if not is_ready(pod):
        return None
    condition = find_condition(pod["status"]["conditions"], "Ready") or {}
    return max(0.0, seconds_of(condition.get("lastTransitionTime")) + min_ready - now) if min_ready else 0.0


def is_finished(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def is_active(pod: Mapping[str, Any]) -> bool:
    return not is_finished(pod) and not is_terminating(pod)


class PodClaims:
    """Finds a controller's objects: those that reference it, and matching orphans, which it adopts."""

    def __init__(self, context: ControllerContext, resource: str, api_version: str, kind: str) -> None:
        self._context = context
        self._resource = resource
        self._api_version = api_version
        self._kind = kind

    def of(self, owner: Obj, selector: Mapping[str, Any] | None) -> list[Obj]:
        """Return the owner's objects; adopt and release by label, except while the owner is deleted."""
        uid = owner["metadata"]["uid"]
        namespace = owner["metadata"].get("namespace", "")
        claims: list[Obj] = []
        for obj in self._context.observer.all(self._resource, namespace):
            labels = obj["metadata"].get("labels") or {}
            matching = bool(selector) and selects(selector or {}, labels)
            if is_controlled_by(obj, uid):
                if matching or is_terminating(owner):
                    claims.append(obj)
                else:
                    self._release(obj, uid)
            elif matching and self._may_adopt(obj, owner) and self._adopt(obj, owner):
                claims.append(obj)
        return claims

    @staticmethod
    def _may_adopt(obj: Obj, owner: Obj) -> bool:
        return controller_of(obj) is None and not is_terminating(obj) and not is_terminating(owner)

    def _adopt(self, obj: Obj, owner: Obj) -> bool:
        references = obj["metadata"].get("ownerReferences") or []
        reference = owner_reference(self._api_version, self._kind, owner)
        return self._write_owners(obj, [*references, reference])

    def _release(self, obj: Obj, uid: str) -> None:
        references = [r for r in obj["metadata"].get("ownerReferences") or [] if r["uid"] != uid]
        self._write_owners(obj, references)

    def _write_owners(self, obj: Obj, references: Sequence[Obj]) -> bool:
        namespace, name = key_of(obj)
        patch = {"metadata": {"uid": obj["metadata"]["uid"], "ownerReferences": list(references) or None}}
        try:
            self._context.client.patch(self._resource, name, patch, namespace=namespace)
        except StatusError as error:
            if error.reason in ("NotFound", "Conflict", "Invalid"):
                return False
            raise
        return True


def pod_from(template: Mapping[str, Any], owner_ref: Obj, *, generate_name: str = "", name: str = "") -> Obj:
    """Return a pod of a template, owned by `owner_ref`."""
    metadata = template.get("metadata") or {}
    pod: Obj = {
        "metadata": {
            "labels": dict(metadata.get("labels") or {}),
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [owner_ref],
        },
        "spec": dict(template.get("spec") or {}),
    }
    if metadata.get("finalizers"):
        pod["metadata"]["finalizers"] = list(metadata["finalizers"])
    pod["metadata"] = {k: v for k, v in pod["metadata"].items() if v}
    pod["metadata"].update({"generateName": generate_name} if generate_name else {"name": name})
    return pod


def deletion_order(pods: Sequence[Obj]) -> list[Obj]:
    """Return pods in deletion order: unassigned, pending, not ready, youngest (controller.ActivePods)."""

    def rank(pod: Obj) -> tuple[bool, bool, bool, float, str]:
        status = pod.get("status") or {}
        return (
            bool((pod.get("spec") or {}).get("nodeName")),
            status.get("phase") not in (None, "", "Pending"),
            is_ready(pod),
            -seconds_of(pod["metadata"].get("creationTimestamp")),
            pod["metadata"]["name"],
        )

    return sorted(pods, key=rank)
