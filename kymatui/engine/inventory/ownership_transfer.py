"""Transfer of ownership to and from kymatui, without deletions.

Labels, annotations and `metadata.managedFields` show the owner, so all three change together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, OPERATOR, field_managers
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.ownership import (
    ANNOTATION_RELEASE,
    ANNOTATION_RELEASE_NAMESPACE,
    ANNOTATIONS_OWNED_BY,
    LABEL_PART_OF,
    LIFECYCLE_APPLIER,
    Owner,
    OwnerKind,
)
from kymatui.engine.cluster.ports import FIELD_MANAGER, OPERATOR_FIELD_MANAGER, Cluster, Object, PatchKind
from kymatui.engine.inventory.ownership_marks import HELM_MANAGER
from kymatui.errors import ConflictError, InvalidError

_ATTEMPTS: Final = 5  # retries while controllers write the object's status
_LABELS: Final = (LABEL_MANAGED_BY,)
_ANNOTATIONS: Final = (
    *ANNOTATIONS_OWNED_BY,
    f"{OPERATOR}/managed-by-reconciler-disclaimer",
)


def is_lifecycle_manager_mark(other: Owner) -> bool:
    """Return whether the marks are lifecycle-manager's; it leaves some after a release."""
    return other.kind is OwnerKind.LIFECYCLE_MANAGER


def take_over(cluster: Cluster, ref: ObjectRef) -> bool:
    """Remove lifecycle-manager's marks from an adopted object; return whether there were any."""
    return _without(cluster, ref, _LABELS, _ANNOTATIONS, frozenset({LIFECYCLE_APPLIER}))


def hand_over(cluster: Cluster, ref: ObjectRef, mine: Owner) -> bool:
    """Remove kymatui's marks from an object; False unless lifecycle-manager applies it."""
    live = cluster.get(ref)
    if live is None or LIFECYCLE_APPLIER not in field_managers(live):
        return False
    managers = {FIELD_MANAGER, OPERATOR_FIELD_MANAGER}
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
