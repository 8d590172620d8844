"""Whose an object is: the marks that kymatui sets on what it installs, and those that others set on theirs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY
from kymatui.domain.modules.module_manager import owning_manifest
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import FIELD_MANAGER, OPERATOR_FIELD_MANAGER, Object

LABEL_PART_OF: Final = "applyset.kubernetes.io/part-of"
LABEL_APPLYSET: Final = "applyset.kubernetes.io/id"
ANNOTATION_MANIFEST: Final = "kymatui.io/manifest"
"""Which Manifest an object belongs to, as "namespace/name"; the marks that lifecycle-manager sets are left to it, since
they say that it is in charge."""
LABEL_HELM: Final = "app.kubernetes.io/managed-by"
ANNOTATION_RELEASE: Final = "meta.helm.sh/release-name"
ANNOTATION_RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"
LIFECYCLE_APPLIER: Final = "declarative.kyma-project.io/applier"
HELM_MANAGER: Final = "helm"
KUBECTL_MANAGERS: Final = frozenset({"kubectl-client-side-apply", "kubectl", "kubectl-create", "kubectl-replace"})
"""What kubectl calls itself where it writes whole objects; edits and patches of fields have other names."""
ADOPTED_MANAGERS: Final = KUBECTL_MANAGERS | {LIFECYCLE_APPLIER}
"""Whose fields become kymatui's when it adopts what they installed."""


class OwnerKind(StrEnum):
    """Who installs things, and says so on them."""

    HELM = "Helm release"
    APPLYSET = "set"
    LIFECYCLE_MANAGER = "lifecycle-manager"


@dataclass(frozen=True, slots=True)
class Owner:
    """`name` is "namespace/release" of Helm, the id of a set, or a Manifest."""

    kind: OwnerKind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name}".strip()


def applyset_id(name: str, namespace: str, kind: str = "ConfigMap", group: str = "") -> str:
    """The id of a set by its parent object, as kubectl computes it."""
    digest = hashlib.sha256(f"{name}.{namespace}.{kind}.{group}".encode()).digest()
    return f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"


def inventory_name(name: str) -> str:
    """The name of the object that lists what is installed under a name."""
    return f"kymatui.{name}"


def bundle_owner(bundle: Bundle) -> Owner:
    """What the marks of a bundle's own objects say."""
    if bundle.release is not None:
        return Owner(OwnerKind.HELM, f"{bundle.namespace}/{bundle.name}")
    return Owner(OwnerKind.APPLYSET, applyset_id(inventory_name(bundle.name), bundle.namespace))


def with_ownership_marks(body: Object, bundle: Bundle) -> Object:
    """The object with the marks of its bundle: Helm's for a chart, the set's for everything else."""
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
    """A merge patch for an object that stays when its module goes; None where nothing on it says whose it is.

    The marks go. From one that was `found` there by the module go also the labels and annotations that it alone set:
    the object is left as it was.
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
    """The labels or annotations that kymatui wrote and nobody else did."""
    ours: set[str] = set()
    theirs: set[str] = set()
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        keys = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get(f"f:{field}") or {}
        own = entry.get("manager") in (FIELD_MANAGER, OPERATOR_FIELD_MANAGER)
        (ours if own else theirs).update(key.removeprefix("f:") for key in keys if key != ".")
    return frozenset(ours - theirs)


def read_owner(live: Mapping[str, Any]) -> Owner | None:
    """Whose an object is; None where nobody says that it is his.

    What lifecycle-manager applies is its own, whatever else stands there; its label alone counts only where no other
    mark is, because modules that are installed by Manifests carry it, too.
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


def field_managers(live: Mapping[str, Any]) -> frozenset[str]:
    entries = (live.get("metadata") or {}).get("managedFields") or ()
    return frozenset(str(entry.get("manager") or "") for entry in entries)
