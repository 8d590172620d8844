"""Update strategies of kinds (k8s.io/kubernetes/pkg/registry/*/strategy.go).

A write to the resource cannot change its status, a write to the status changes nothing else, and the generation
counts changes of the desired state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apiserver.resources.resource import Object
from kymatui.schemas.values.field_sets import EMPTY, FieldSet, copy_json

DAEMON_SETS = "daemonsets.apps"
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""The annotation in which a DaemonSet still counts the changes of its template."""
_SPEC = ("spec",)
COUNTED: Mapping[str, tuple[str, ...]] = {
    "pods": _SPEC,
    "podtemplates": ("template",),
    "replicationcontrollers": _SPEC,
    "deployments.apps": ("spec", "metadata.annotations"),
    "replicasets.apps": _SPEC,
    "statefulsets.apps": _SPEC,
    "daemonsets.apps": _SPEC,
    "jobs.batch": _SPEC,
    "cronjobs.batch": _SPEC,
    "ingresses.networking.k8s.io": _SPEC,
    "ingressclasses.networking.k8s.io": _SPEC,
    "networkpolicies.networking.k8s.io": _SPEC,
    "poddisruptionbudgets.policy": _SPEC,
    "priorityclasses.scheduling.k8s.io": (),
    "endpointslices.discovery.k8s.io": ("endpoints", "ports", "addressType", "metadata.labels"),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": ("webhooks",),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": ("webhooks",),
    "validatingadmissionpolicies.admissionregistration.k8s.io": _SPEC,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _SPEC,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _SPEC,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _SPEC,
    "customresourcedefinitions.apiextensions.k8s.io": _SPEC,
}
"""Kinds with a generation, and the fields whose changes it counts."""

_LABELS_KEPT = ("deployments.apps",)
_KEEPS_STATUS = ("nodes",)
_METADATA_KEPT = ("customresourcedefinitions.apiextensions.k8s.io",)


def prepare_create(resource: str, obj: Object, *, has_status: bool, empty_status: Any, now: float) -> None:
    """Set the initial state of an object of a built-in kind."""
    metadata = obj["metadata"]
    if resource in COUNTED:
        metadata["generation"] = 1
    if has_status and resource not in _KEEPS_STATUS:
        obj["status"] = _first_status(resource, obj, empty_status, now)
    if resource == "jobs.batch" and not (obj.get("spec") or {}).get("manualSelector"):
        _select_by_uid(obj)
    if resource == DAEMON_SETS:
        metadata["annotations"][TEMPLATE_GENERATION] = "1"
    if resource == "namespaces":
        finalizers: list[str] = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")


def _select_by_uid(job: Object) -> None:
    """Select a job's pods by labels that no other job has."""
    metadata, spec = job["metadata"], job["spec"]
    labels: dict[str, str] = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    for prefix in ("batch.kubernetes.io/", ""):
        labels.setdefault(f"{prefix}controller-uid", metadata["uid"])
        labels.setdefault(f"{prefix}job-name", metadata["name"])
    selector: dict[str, Any] = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault("batch.kubernetes.io/controller-uid", metadata["uid"])
    if not metadata.get("labels"):
        metadata["labels"] = dict(labels)


def _first_status(resource: str, obj: Object, empty_status: Any, now: float) -> Any:
    if resource == "namespaces":
        return {"phase": "Active"}
    if resource == "pods":
        return {"phase": "Pending", "qosClass": quality_of_service(obj.get("spec") or {})}
    if resource == "persistentvolumeclaims":
        return {"phase": "Pending"}
    if resource == "persistentvolumes":
        return {"phase": "Pending", "lastPhaseTransitionTime": timestamp(now)}
    if resource == "customresourcedefinitions.apiextensions.k8s.io":
        spec = obj.get("spec") or {}
        stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")]
        return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}
    return copy_json(empty_status)


def prepare_update(resource: str, new: Object, old: Object, subresource: str, *, has_status: bool) -> None:
    """Restore the fields that this endpoint must not change, and count generations."""
    if subresource == "status":
        _keep_all_but_status(resource, new, old)
        return
    if has_status:
        restore_fields(new, old, "status")
    count_generation(new, old, COUNTED.get(resource))
    if resource == DAEMON_SETS:
        known = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or 0)
        changed = new["spec"].get("template") != old["spec"].get("template")
        new["metadata"]["annotations"][TEMPLATE_GENERATION] = str(known + changed)


def _keep_all_but_status(resource: str, new: Object, old: Object) -> None:
    for name in {*new, *old} - {"metadata", "status", "kind", "apiVersion"}:
        restore_fields(new, old, name)
    restore_fields(new["metadata"], old["metadata"], "generation")
    if resource in _LABELS_KEPT:
        restore_fields(new["metadata"], old["metadata"], "labels")
    if resource in _METADATA_KEPT:
        keep_metadata(new, old)


def keep_metadata(new: Object, old: Object) -> None:
    """Restore the metadata of the old object, except for managed fields."""
    managed = new["metadata"].get("managedFields")
    new["metadata"] = copy_json(old["metadata"])
    if managed is not None:
        new["metadata"]["managedFields"] = managed


def restore_fields(new: Object, old: Object, name: str) -> None:
    """Restore a field of the old object, or remove it if the old object had none."""
    if name in old:
        new[name] = copy_json(old[name])
    else:
        new.pop(name, None)


def count_generation(new: Object, old: Object, fields: tuple[str, ...] | None) -> None:
    """Raise the generation if one of `fields` differs. None: the kind has no generation."""
    if fields is None:
        return
    restore_fields(new["metadata"], old["metadata"], "generation")
    if any(_at(new, field) != _at(old, field) for field in fields):
        new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _at(obj: Object, path: str) -> Any:
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value or None


def changed_fields(*, custom: bool, has_status: bool, subresource: str) -> tuple[FieldSet, FieldSet | None]:
    """Return the fields that an endpoint never changes, and the only ones it changes (None: all others)."""
    if subresource == "status":
        return (EMPTY, frozenset((("f:status",),))) if custom else (frozenset((("f:spec",),)), None)
    return (frozenset((("f:status",),)) if has_status else EMPTY), None


def prepare_custom_update(new: Object, old: Object, subresource: str, *, has_status: bool) -> None:
    """Prepare an update of a custom resource: everything but status and metadata counts as a change."""
    if subresource == "status":
        status = new.get("status")
        for name in {*new, *old} - {"metadata", "kind", "apiVersion"}:
            restore_fields(new, old, name)
        if status is None:
            new.pop("status", None)
        else:
            new["status"] = status
        keep_metadata(new, old)
        return
    if has_status:
        restore_fields(new, old, "status")
    restore_fields(new["metadata"], old["metadata"], "generation")
    skipped = ("metadata", "status") if has_status else ("metadata",)
    if any(new.get(name) != old.get(name) for name in {*new, *old} if name not in skipped):
        new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def quality_of_service(spec: Object) -> str:
    """Return Guaranteed, Burstable or BestEffort from the resources of all containers."""
    requests: dict[str, list[str]] = {}
    limits: dict[str, list[str]] = {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    limited = True
    for container in containers:
        resources = container.get("resources") or {}
        for into, values in ((requests, resources.get("requests") or {}), (limits, resources.get("limits") or {})):
            for name in ("cpu", "memory"):
                if values.get(name) not in (None, "0", 0):
                    into.setdefault(name, []).append(str(values[name]))
        limited = limited and {"cpu", "memory"} <= set(resources.get("limits") or {})
    if not requests and not limits:
        return "BestEffort"
    if limited and all(requests.get(name, values) == values for name, values in limits.items()):
        return "Guaranteed"
    return "Burstable"
