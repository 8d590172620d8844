"""What differs between the objects of two versions: images, rights, CRDs, workloads and the other objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.versions.crd_diff import crd_changes
from kymatui.domain.versions.rights_diff import role_changes
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, field_changes

Manifest = Mapping[str, Mapping[str, Any]]
"""Objects by kind, namespace and name: `Deployment/kyma-system/keda-manager`."""

HIDDEN: Final = "(hidden)"
"""What stands for the values of Secrets."""


class DiffSection(StrEnum):
    """The parts of a comparison, in the order of their display."""

    DESCRIPTOR = "descriptor"
    LABELS = "labels"
    IMAGES = "images"
    RESOURCES = "resources"
    CRDS = "CRDs"
    RBAC = "RBAC"
    WORKLOADS = "workloads"
    OBJECTS = "objects"
    DEFAULT_CR = "default CR"
    LINKS = "links"
    TEMPLATE = "template"
    SIGNATURES = "signatures"


_ROLES: Final = ("ClusterRole", "Role")
_SECTIONS: Final = {
    "CustomResourceDefinition": DiffSection.CRDS,
    **dict.fromkeys((*_ROLES, "ClusterRoleBinding", "RoleBinding", "ServiceAccount"), DiffSection.RBAC),
    **dict.fromkeys(
        ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod"), DiffSection.WORKLOADS
    ),
}


def manifest_sections(before: Manifest, after: Manifest) -> dict[DiffSection, tuple[ValueChange, ...]]:
    """Return the differences of two manifests by section; sections without any are missing.

    Images have a section of their own, so that workloads do not repeat them.
    """
    sections: dict[DiffSection, list[ValueChange]] = {DiffSection.IMAGES: list(_image_changes(before, after))}
    for key in dict.fromkeys((*before, *after)):
        section = _SECTIONS.get(_kind(key), DiffSection.OBJECTS)
        sections.setdefault(section, []).extend(_changes(key, before.get(key), after.get(key)))
    return {name: tuple(sections[name]) for name in DiffSection if sections.get(name)}


def _kind(key: str) -> str:
    return key.partition("/")[0]


def _changes(key: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[ValueChange]:
    kind = _kind(key)
    if kind in _ROLES:
        yield from role_changes(key, before, after)
    elif kind == "CustomResourceDefinition":
        yield from crd_changes(key, before, after)
    elif kind == "Secret":
        yield from (_hidden(field_change) for field_change in field_changes(before, after, key))
    else:
        skipped = _SECTIONS.get(kind) is DiffSection.WORKLOADS
        changes = field_changes(before, after, key)
        yield from (change for change in changes if not (skipped and change.path.endswith("].image")))


def _hidden(change: ValueChange) -> ValueChange:
    """Return the change without values: those of Secrets are never shown."""
    before, after = (None if value is None else HIDDEN for value in (change.before, change.after))
    return replace(change, before=before, after=after)


def object_changes(before: Manifest, after: Manifest, name: str = "") -> Iterator[ValueChange]:
    """Yield the differences of objects field by field; `name` precedes each path."""
    for key in dict.fromkeys((*before, *after)):
        for field_change in field_changes(before.get(key), after.get(key), f"{name} {key}"):
            yield replace(field_change, path=field_change.path.strip())


def _image_changes(before: Manifest, after: Manifest) -> Iterator[ValueChange]:
    """Yield the images of containers that differ, also of containers that only one version has."""
    old, new = _images(before), _images(after)
    for path in dict.fromkeys((*old, *new)):
        was, now = old.get(path), new.get(path)
        if was == now:
            continue
        kind = ChangeKind.ADDED if was is None else ChangeKind.REMOVED if now is None else ChangeKind.CHANGED
        yield ValueChange(kind, path, was, now)


def _images(manifest: Manifest) -> dict[str, str]:
    images = {}
    for key, body in manifest.items():
        if _SECTIONS.get(_kind(key)) is not DiffSection.WORKLOADS:
            continue
        for name, image in _containers(_kind(key), body):
            images[f"{key} {name}"] = image
    return images


def _containers(kind: str, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    spec = JsonReader(body).child("spec")
    if kind == "CronJob":
        spec = spec.child("jobTemplate").child("spec")
    pods = spec if kind == "Pod" else spec.child("template").child("spec")
    for field in ("initContainers", "containers"):
        yield from ((container.text("name"), container.text("image")) for container in pods.children(field))
