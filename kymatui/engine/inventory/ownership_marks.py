"""The marks of kymatui and other tools on objects, and their transfer; `domain.ownership` reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kymatui.domain.inventories import installation_owner
from kymatui.domain.kubernetes.json_reader import mapping_at, objects_at
from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, OPERATOR
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.ownership import (
    ANNOTATION_MANIFEST,
    ANNOTATION_RELEASE,
    ANNOTATION_RELEASE_NAMESPACE,
    ANNOTATIONS_OWNED_BY,
    LABEL_PART_OF,
    LIFECYCLE_APPLIER,
    TOOL_MANAGERS,
    Owner,
    OwnerKind,
    applying_keeper,
)
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import FIELD_MANAGER, OPERATOR_FIELD_MANAGER, Cluster, Object, PatchKind
from kymatui.errors import ConflictError, InvalidError

LABEL_APPLYSET: Final = "applyset.kubernetes.io/id"
LABEL_HELM: Final = "app.kubernetes.io/managed-by"
HELM_MANAGER: Final = "helm"
ADOPTED_MANAGERS: Final = frozenset({*TOOL_MANAGERS, LIFECYCLE_APPLIER, OPERATOR_FIELD_MANAGER})
"""The field managers whose fields kymatui takes over in an adoption; what Git applies is released there before."""


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
    labels = {LABEL_HELM if mine.kind is OwnerKind.HELM else LABEL_PART_OF}
    annotations = set(_annotations(mine))
    if existed:
        labels |= _own_keys(live, "labels")
        annotations |= _own_keys(live, "annotations")
    patch = {
        field: dict.fromkeys(sorted(keys & mapping_at(live, "metadata", field).keys()))
        for field, keys in (("labels", labels), ("annotations", annotations))
    }
    return {"metadata": {field: keys for field, keys in patch.items() if keys}} if any(patch.values()) else None


def _annotations(mine: Owner) -> tuple[str, ...]:
    helm = (ANNOTATION_RELEASE, ANNOTATION_RELEASE_NAMESPACE) if mine.kind is OwnerKind.HELM else ()
    return (*helm, ANNOTATION_MANIFEST)


def _own_keys(live: Mapping[str, Any], field: str) -> frozenset[str]:
    """Return labels or annotations that only kymatui wrote."""
    ours: set[str] = set()
    theirs: set[str] = set()
    for entry in objects_at(live, "metadata", "managedFields"):
        keys = mapping_at(entry, "fieldsV1", "f:metadata", f"f:{field}")
        own = entry.get("manager") in (FIELD_MANAGER, OPERATOR_FIELD_MANAGER)
        (ours if own else theirs).update(key.removeprefix("f:") for key in keys if key != ".")
    return frozenset(ours - theirs)


_ATTEMPTS: Final = 5  # retries while controllers write the object's status
_LABELS: Final = (LABEL_MANAGED_BY,)
_ANNOTATIONS: Final = (*ANNOTATIONS_OWNED_BY, f"{OPERATOR}/managed-by-reconciler-disclaimer")


def is_lifecycle_manager_mark(other: Owner) -> bool:
    """Return whether the marks are lifecycle-manager's; it leaves some after a release."""
    return other.kind is OwnerKind.LIFECYCLE_MANAGER


def take_over(cluster: Cluster, ref: ObjectRef) -> bool:
    """Remove the marks of lifecycle-manager, or the operator, from an adopted object; return whether it had any."""
    return _without(cluster, ref, _LABELS, _ANNOTATIONS, frozenset({LIFECYCLE_APPLIER, OPERATOR_FIELD_MANAGER}))


def hand_over(cluster: Cluster, ref: ObjectRef, mine: Owner) -> bool:
    """Remove kymatui's marks from an object; False unless lifecycle-manager, or the operator, applies it."""
    live = cluster.get(ref)
    keeper = applying_keeper(live)
    if live is None or keeper is None:
        return False
    managers = {FIELD_MANAGER} if keeper is Actor.OPERATOR else {FIELD_MANAGER, OPERATOR_FIELD_MANAGER}
    if mine.kind is OwnerKind.HELM:  # charts may render the label themselves, so it proves no ownership
        _without(
            cluster, ref, (), (ANNOTATION_RELEASE, ANNOTATION_RELEASE_NAMESPACE), frozenset({*managers, HELM_MANAGER})
        )
    else:
        _without(cluster, ref, (LABEL_PART_OF,), (), frozenset(managers))
    return True


def patch_current(cluster: Cluster, ref: ObjectRef, change: Callable[[Object], list[Mapping[str, Any]]]) -> bool:
    """Patch an object with the operations of `change`; return whether there were any.

    Retried while others write the object; the patch applies only to the version that was read.
    """
    for attempt in range(_ATTEMPTS):
        live = cluster.get(ref)
        operations = change(live) if live is not None else []
        if live is None or not operations:
            return False
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]}
        try:
            cluster.patch(ref, [test, *operations], PatchKind.JSON)
        except (ConflictError, InvalidError):  # the test of resourceVersion failed: another client wrote the object
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return True
    return False


def _without(
    cluster: Cluster, ref: ObjectRef, labels: tuple[str, ...], annotations: tuple[str, ...], managers: frozenset[str]
) -> bool:
    return patch_current(cluster, ref, lambda live: _patch(live, labels, annotations, managers))


def _patch(
    live: Object, labels: tuple[str, ...], annotations: tuple[str, ...], managers: frozenset[str]
) -> list[Mapping[str, Any]]:
    metadata = live["metadata"]
    operations: list[Mapping[str, Any]] = [
        {"op": "remove", "path": f"/metadata/{where}/{_escaped(name)}"}
        for where, names in (("labels", labels), ("annotations", annotations))
        for name in names
        if name in (metadata.get(where) or {})
    ]
    fields = metadata.get("managedFields") or []
    kept = [entry for entry in fields if entry.get("manager") not in managers]
    if len(kept) != len(fields):
        operations.append({"op": "replace", "path": "/metadata/managedFields", "value": kept})
    return operations


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
