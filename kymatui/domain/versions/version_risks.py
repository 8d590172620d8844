"""What cannot be undone, is refused, or grants more, when a module moves from one version to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import mapping_at, objects_at
from kymatui.domain.versions.crd_diff import EVERY, crd_losses
from kymatui.domain.versions.manifest_diff import Manifest
from kymatui.domain.versions.rights_diff import gained_rights

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
        names = dict.fromkeys((*mapping_at(before, "spec"), *mapping_at(after, "spec")))
        paths = tuple(f"spec.{name}" for name in names if name not in STATEFUL_SET_MUTABLE)
    changes = [path for path in paths if _differs(kind[1], path, before, after)]
    if kind in (("", "ConfigMap"), ("", "Secret")) and before.get("immutable") is True:
        changes += ["immutable"] if after.get("immutable") is not True else []
        changes += [name for name in _FROZEN if (before.get(name) or {}) != (after.get(name) or {})]
    return tuple(changes)


def _differs(kind: str, path: str, before: Json, after: Json) -> bool:
    old, new = (_value(side, path) for side in (before, after))
    if (kind, path) in _SET_BY_SERVER and (old is None or new is None):
        return False
    default = _DEFAULTS.get((kind, path))
    return (default if old is None else old) != (default if new is None else new)


def _value(body: Json, path: str) -> object:
    value: object = body
    for step in path.split("."):
        value = mapping_at(value).get(step)
    return value


def _group(body: Json) -> str:
    group, slash, _ = str(body.get("apiVersion") or "").partition("/")
    return group if slash else ""


Json = Mapping[str, Any]


class VersionRiskKind(StrEnum):
    """Why a difference is a risk; the values appear in JSON."""

    KIND_REMOVED = "kindRemoved"
    VERSION_REMOVED = "versionRemoved"
    VERSION_UNSERVED = "versionUnserved"
    FIELD_REMOVED = "fieldRemoved"
    REFUSED = "immutableField"
    RIGHT_GAINED = "rightGained"


_LABELS: Final = {
    VersionRiskKind.KIND_REMOVED: "deletes all objects of the kind",
    VersionRiskKind.VERSION_REMOVED: "refused while objects are stored in the version",
    VersionRiskKind.VERSION_UNSERVED: "clients of the version fail",
    VersionRiskKind.FIELD_REMOVED: "the field is lost in objects that set it",
    VersionRiskKind.REFUSED: "refused: the field is immutable",
    VersionRiskKind.RIGHT_GAINED: "grants more",
}
_ROLES: Final = ("Role", "ClusterRole")
_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")


class VersionRisk(Struct, frozen=True):
    """A risk: `object` is kind and name, `what` the version, field or right; "" for the whole object."""

    kind: VersionRiskKind
    object: str
    what: str

    @property
    def label(self) -> str:
        """Return what happens, for people."""
        return _LABELS[self.kind]


def manifest_risks(before: Manifest, after: Manifest) -> tuple[VersionRisk, ...]:
    """Return the risks of applying the second manifest where the first one is installed, by kind of risk."""
    risks: list[VersionRisk] = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        named = new if new is not None else old
        if named is not None and old != new:
            risks += _risks(named, old, new)
    order = list(VersionRiskKind)
    return tuple(sorted(dict.fromkeys(risks), key=lambda risk: order.index(risk.kind)))


def _risks(named: Json, old: Json | None, new: Json | None) -> Iterator[VersionRisk]:
    kind, name = str(named.get("kind")), _name(named)
    label = f"{kind} {name}"
    if kind == "CustomResourceDefinition" and old is not None:
        yield from (VersionRisk(risk, label, what) for risk, what in _crd_risks(old, new))
    if old is not None and new is not None:
        yield from (VersionRisk(VersionRiskKind.REFUSED, label, path) for path in immutable_changes(old, new))
    if kind in _ROLES and new is not None:
        rights = gained_rights(kind, name, old, new)
        yield from (VersionRisk(VersionRiskKind.RIGHT_GAINED, label, right) for right in rights)
    if kind in _BINDINGS and new is not None:
        had = _bound(old or {})
        yield from (
            VersionRisk(VersionRiskKind.RIGHT_GAINED, label, subject) for subject in _bound(new) if subject not in had
        )


def _crd_risks(old: Json, new: Json | None) -> Iterator[tuple[VersionRiskKind, str]]:
    lost = crd_losses(old, new)
    if lost.is_gone:
        yield VersionRiskKind.KIND_REMOVED, ""
    yield from ((VersionRiskKind.VERSION_REMOVED, version) for version in lost.versions)
    yield from ((VersionRiskKind.VERSION_UNSERVED, version) for version in lost.unserved)
    for version, path in lost.fields:
        yield VersionRiskKind.FIELD_REMOVED, f"{version} {'.'.join(path).replace(f'.{EVERY}', EVERY)}"


def _bound(binding: Json) -> list[str]:
    """Return the role with each of its subjects."""
    role = mapping_at(binding, "roleRef")
    return [
        f"{role.get('kind')} {role.get('name')}: {subject.get('kind')} "
        + "/".join(str(part) for part in (subject.get("namespace"), subject.get("name")) if part)
        for subject in objects_at(binding, "subjects")
    ]


def _name(body: Json) -> str:
    metadata = mapping_at(body, "metadata")
    return "/".join(str(part) for part in (metadata.get("namespace"), metadata.get("name")) if part)
