"""Fields that an API server refuses to change: the object must be deleted first, which lifecycle-manager does not do.

Source: the ValidateUpdate functions of Kubernetes 1.30 to 1.34 (pkg/apis/*/validation, apiextensions-apiserver).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Json = Mapping[str, Any]
IMMUTABLE_FIELDS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("apps", "Deployment"): ("spec.selector",),
    ("apps", "DaemonSet"): ("spec.selector",),
    ("apps", "ReplicaSet"): ("spec.selector",),
    ("batch", "Job"): ("spec.selector", "spec.template", "spec.completionMode", "spec.podFailurePolicy"),
    ("", "PersistentVolumeClaim"): (
        "spec.accessModes",
        "spec.selector",
        "spec.storageClassName",
        "spec.volumeMode",
        "spec.dataSource",
    ),
    ("", "Secret"): ("type",),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef",),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef",),
    ("storage.k8s.io", "StorageClass"): ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"),
    ("scheduling.k8s.io", "PriorityClass"): ("value", "preemptionPolicy"),
    ("networking.k8s.io", "IngressClass"): ("spec.controller",),
    ("node.k8s.io", "RuntimeClass"): ("handler",),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        "spec.group",
        "spec.scope",
        "spec.names.kind",
        "spec.names.plural",
    ),
}
"""Fields by API group and kind."""
STATEFUL_SET_MUTABLE: Final = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
        "revisionHistoryLimit",  # since 1.33; 1.32 refuses it
    }
)
"""The fields of a StatefulSet's spec that may change; all others may not."""
_DEFAULTS: Final[Mapping[tuple[str, str], object]] = {
    ("Secret", "type"): "Opaque",
    ("PersistentVolumeClaim", "spec.volumeMode"): "Filesystem",
    ("StorageClass", "reclaimPolicy"): "Delete",
    ("StorageClass", "volumeBindingMode"): "Immediate",
    ("PriorityClass", "preemptionPolicy"): "PreemptLowerPriority",
    ("Job", "spec.completionMode"): "NonIndexed",
    ("StatefulSet", "spec.podManagementPolicy"): "OrderedReady",
}
_SET_BY_SERVER: Final = frozenset({("Job", "spec.selector"), ("PersistentVolumeClaim", "spec.storageClassName")})
"""Fields that the server fills if a manifest lacks them: an absent one keeps its value."""
_FROZEN: Final = ("data", "binaryData", "stringData")


def immutable_changes(before: Json, after: Json) -> tuple[str, ...]:
    """Return the paths that an API server refuses to change from one object to the other."""
    if _group(before) != _group(after) or before.get("kind") != after.get("kind"):
        return ()
    kind = _group(before), str(before.get("kind"))
    paths = IMMUTABLE_FIELDS.get(kind, ())
    if kind == ("apps", "StatefulSet"):
        names = dict.fromkeys((*_mapping(before.get("spec")), *_mapping(after.get("spec"))))
        paths = tuple(f"spec.{name}" for name in names if name not in STATEFUL_SET_MUTABLE)
    found = [path for path in paths if _differs(kind[1], path, before, after)]
    if kind in (("", "ConfigMap"), ("", "Secret")) and before.get("immutable") is True:
        found += ["immutable"] if after.get("immutable") is not True else []
        found += [name for name in _FROZEN if (before.get(name) or {}) != (after.get(name) or {})]
    return tuple(found)


def _differs(kind: str, path: str, before: Json, after: Json) -> bool:
    old, new = (_value(one, path) for one in (before, after))
    if (kind, path) in _SET_BY_SERVER and (old is None or new is None):
        return False
    default = _DEFAULTS.get((kind, path))
    return (default if old is None else old) != (default if new is None else new)


def _value(body: Json, path: str) -> object:
    found: object = body
    for step in path.split("."):
        found = _mapping(found).get(step)
    return found


def _group(body: Json) -> str:
    group, slash, _ = str(body.get("apiVersion") or "").partition("/")
    return group if slash else ""


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}
