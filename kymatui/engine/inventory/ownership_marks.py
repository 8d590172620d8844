"""Ownership of objects: kymatui's marks and those of other tools."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, field_managers
from kymatui.domain.modules.module_manager import owning_manifest
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import FIELD_MANAGER, OPERATOR_FIELD_MANAGER, Object

LABEL_PART_OF: Final = "applyset.kubernetes.io/part-of"
LABEL_APPLYSET: Final = "applyset.kubernetes.io/id"
ANNOTATION_MANIFEST: Final = "kymatui.io/manifest"
"""The Manifest of an object as "namespace/name". lifecycle-manager's own marks are not used, as they mean that it
manages the object."""
LABEL_HELM: Final = "app.kubernetes.io/managed-by"
ANNOTATION_RELEASE: Final = "meta.helm.sh/release-name"
ANNOTATION_RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"
LIFECYCLE_APPLIER: Final = "declarative.kyma-project.io/applier"
HELM_MANAGER: Final = "helm"
KUBECTL_MANAGERS: Final = frozenset({"kubectl-client-side-apply", "kubectl", "kubectl-create", "kubectl-replace"})
"""kubectl's field managers for whole objects; its edits and patches use other names."""
ADOPTED_MANAGERS: Final = KUBECTL_MANAGERS | {LIFECYCLE_APPLIER}
"""The field managers whose fields kymatui takes over in an adoption."""


class OwnerKind(StrEnum):
    """The installers that mark their objects."""

    HELM = "Helm release"
    APPLYSET = "set"
    LIFECYCLE_MANAGER = "lifecycle-manager"


class Owner(Struct, frozen=True):
    """An owner; `name` is "namespace/release", the id of an ApplySet, or a Manifest."""

    kind: OwnerKind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name}".strip()


def applyset_id(name: str, namespace: str, kind: str = "ConfigMap", group: str = "") -> str:
    """Return the id of an ApplySet from its parent object, as kubectl computes it."""
    digest = hashlib.sha256(f"{name}.{namespace}.{kind}.{group}".encode()).digest()
    return f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"


def inventory_name(name: str) -> str:
    """Return the name of the object that stores the inventory of a name."""
    return f"kymatui.{name}"


def bundle_owner(bundle: Bundle) -> Owner:
    """Return the owner in the marks of a bundle's objects."""
    if bundle.release is not None:
        return Owner(OwnerKind.HELM, f"{bundle.namespace}/{bundle.name}")
    return Owner(OwnerKind.APPLYSET, applyset_id(inventory_name(bundle.name), bundle.namespace))


def with_ownership_marks(body: Object, bundle: Bundle) -> Object:
    """Return the object with its bundle's marks: Helm's for a chart, else the ApplySet's."""
    metadata = dict(body.get("metadata") or {})
    labels = {**(metadata.get("labels") or {}), **bundle.labels}
    if bundle.release is not None:
        labels[LABEL_HELM] = "Helm"
        metadata["annotations"] = {
            **(metadata.get("annotations") or {}),
            ANNOTATION_RELEASE: bundle.name,
            ANNOTATION_RELEASE_NAMESPACE: bundle.namespace,
        }
    else:
        labels[LABEL_PART_OF] = bundle_owner(bundle).name
    return {**body, "metadata": {**metadata, "labels": labels}}


def unmark_patch(live: Mapping[str, Any], mine: Owner, *, found: bool = False) -> dict[str, Any] | None:
    """Return a merge patch that removes the marks from a kept object, None if it has none.

    From an object that was `found` by the module, labels and annotations that only the module set are removed too.
    """
    labels, annotations = set(_marks(mine)), set(_annotations(mine))
    if found:
        labels |= _own_keys(live, "labels")
        annotations |= _own_keys(live, "annotations")
    metadata: Mapping[str, Any] = live.get("metadata") or {}
    patch = {
        field: dict.fromkeys(sorted(keys & (metadata.get(field) or {}).keys()))
        for field, keys in (("labels", labels), ("annotations", annotations))
    }
    return {"metadata": {field: keys for field, keys in patch.items() if keys}} if any(patch.values()) else None


def _marks(mine: Owner) -> tuple[str, ...]:
    return (LABEL_HELM,) if mine.kind is OwnerKind.HELM else (LABEL_PART_OF,)


def _annotations(mine: Owner) -> tuple[str, ...]:
    helm = (ANNOTATION_RELEASE, ANNOTATION_RELEASE_NAMESPACE) if mine.kind is OwnerKind.HELM else ()
    return (*helm, ANNOTATION_MANIFEST)


def _own_keys(live: Mapping[str, Any], field: str) -> frozenset[str]:
    """Return labels or annotations that only kymatui wrote."""
    ours: set[str] = set()
    theirs: set[str] = set()
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        keys = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get(f"f:{field}") or {}
        own = entry.get("manager") in (FIELD_MANAGER, OPERATOR_FIELD_MANAGER)
        (ours if own else theirs).update(key.removeprefix("f:") for key in keys if key != ".")
    return frozenset(ours - theirs)


def read_owner(live: Mapping[str, Any]) -> Owner | None:
    """Return the owner of an object, None without marks.

    lifecycle-manager owns what it applies, whatever the other marks. Its label alone counts only without other
    marks, because modules that are installed by Manifests have it too.
    """
    metadata: Mapping[str, Any] = live.get("metadata") or {}
    labels: Mapping[str, Any] = metadata.get("labels") or {}
    annotations: Mapping[str, Any] = metadata.get("annotations") or {}
    manifest = owning_manifest(live)
    if LIFECYCLE_APPLIER in field_managers(live):
        return Owner(OwnerKind.LIFECYCLE_MANAGER, manifest)
    if annotations.get(ANNOTATION_RELEASE):
        namespace = annotations.get(ANNOTATION_RELEASE_NAMESPACE) or "default"
        return Owner(OwnerKind.HELM, f"{namespace}/{annotations[ANNOTATION_RELEASE]}")
    if labels.get(LABEL_PART_OF):
        return Owner(OwnerKind.APPLYSET, str(labels[LABEL_PART_OF]))
    if labels.get(LABEL_MANAGED_BY) == "kyma" or manifest:
        return Owner(OwnerKind.LIFECYCLE_MANAGER, manifest)
    return None
