"""The marks of kymatui and other tools on the objects that they own; `domain.ownership` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kymatui.domain.inventories import installation_owner
from kymatui.domain.ownership import (
    ANNOTATION_MANIFEST,
    ANNOTATION_RELEASE,
    ANNOTATION_RELEASE_NAMESPACE,
    LABEL_PART_OF,
    LIFECYCLE_APPLIER,
    Owner,
    OwnerKind,
)
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import FIELD_MANAGER, OPERATOR_FIELD_MANAGER, Object

LABEL_APPLYSET: Final = "applyset.kubernetes.io/id"
LABEL_HELM: Final = "app.kubernetes.io/managed-by"
HELM_MANAGER: Final = "helm"
KUBECTL_MANAGERS: Final = frozenset({"kubectl-client-side-apply", "kubectl", "kubectl-create", "kubectl-replace"})
"""kubectl's field managers for whole objects; its edits and patches use other names."""
ADOPTED_MANAGERS: Final = KUBECTL_MANAGERS | {LIFECYCLE_APPLIER}
"""The field managers whose fields kymatui takes over in an adoption."""


def bundle_owner(bundle: Bundle) -> Owner:
    """Return the owner in the marks of a bundle's objects."""
    return installation_owner(bundle.name, bundle.namespace, chart=bundle.release is not None)


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


def unmark_patch(live: Mapping[str, Any], mine: Owner, *, existed: bool = False) -> dict[str, Any] | None:
    """Return a merge patch that removes the marks from a kept object, None if it has none.

    From an object that `existed` before the module, labels and annotations that only the module set are removed too.
    """
    labels, annotations = set(_marks(mine)), set(_annotations(mine))
    if existed:
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
