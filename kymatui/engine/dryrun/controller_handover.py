"""Fields that lifecycle-manager and kymatui's operator own, when one of them takes the other's place.

Server-side apply removes only what the same manager applied. What the other one wrote would stay forever: a field that
a newer version drops, or the list of applied objects, without whose end lifecycle-manager deletes no Manifest. So the
entries of one get the names under which the other one writes such fields itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import OPERATOR, field_managers, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.ownership import LIFECYCLE_APPLIER
from kymatui.engine.cluster.ports import OPERATOR_CREATOR, OPERATOR_FIELD_MANAGER, Cluster, Object
from kymatui.engine.cluster.request_scope import ADOPT, note_change
from kymatui.engine.dryrun.field_takeover import united_fields
from kymatui.engine.inventory.ownership_marks import patch_current

LIFECYCLE_MANAGER: Final = "lifecycle-manager"
CREATOR: Final = "resource.kyma-project.io/finalizer"
"""lifecycle-manager's field manager of default CRs."""
_SYNC_CONTEXT: Final = "kyma-sync-context"
_GIVERS: Final = {
    Actor.KLM: frozenset({OPERATOR_FIELD_MANAGER, OPERATOR_CREATOR}),
    Actor.OPERATOR: frozenset(
        {LIFECYCLE_APPLIER, LIFECYCLE_MANAGER, f"{OPERATOR}/{LIFECYCLE_MANAGER}", _SYNC_CONTEXT, CREATOR}
    ),
}
"""Whose fields each of the two is given. Both write copies of the catalog as `catalog-sync`."""
_APPLY, _UPDATE = "Apply", "Update"
_Fields = Mapping[str, Any]
_Writer = tuple[str, str]
"""A field manager and its operation."""


def apply_owned(
    cluster: Cluster, body: Mapping[str, Any], cancel: threading.Event, manager: str = OPERATOR_FIELD_MANAGER
) -> Object:
    """Apply an object as the operator, which takes over what lifecycle-manager applied; return the server's answer."""
    apply = partial(cluster.apply, body, manager=manager, force=True, cancel=cancel)
    answer = apply()
    if not all(has_fields_for(answer, to) for to in _GIVERS):
        return answer  # the sandbox's lifecycle-manager is the operator under other names, which are then alone
    if hand_fields_over(cluster, read_ref(body), Actor.OPERATOR):
        note_change(ADOPT, read_ref(body))
    return apply()


def hand_fields_over(cluster: Cluster, ref: ObjectRef, to: Actor, *, home: bool = False) -> bool:
    """Give an object's fields to lifecycle-manager, or to the operator; return whether it had any of the other's.

    `home` is for objects of a control plane.
    """

    def change(live: Object) -> list[Mapping[str, Any]]:
        if not has_fields_for(live, to):
            return []
        entries = handed_entries(live, to, home=home)
        return [{"op": "replace", "path": "/metadata/managedFields", "value": entries}]

    return patch_current(cluster, ref, change)


def has_fields_for(raw: Object, to: Actor) -> bool:
    """Return whether an object has fields of the other one, which `to` is to be given."""
    return not _GIVERS[to].isdisjoint(field_managers(raw))


def handed_entries(raw: Object, to: Actor, *, home: bool = False) -> list[dict[str, Any]]:
    """Return the managedFields of an object after it was handed over."""
    givers = _GIVERS[to]
    successors = _operators if to is Actor.OPERATOR else partial(_lifecycle_managers, home=home)
    entries: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in raw["metadata"]["managedFields"]:
        writer = (str(entry.get("manager")), str(entry.get("operation")))
        parts: Sequence[tuple[_Writer, _Fields]] = [(writer, entry.get("fieldsV1") or {})]
        if entry.get("manager") in givers:
            parts = list(successors(read_ref(raw), entry))
        for (manager, operation), fields in parts:
            subresource, version = entry.get("subresource", ""), entry.get("apiVersion")
            known = entries.get(key := (manager, operation, version, subresource), {})
            united = united_fields(known.get("fieldsV1") or {}, fields)
            entries[key] = {**known, **entry, "manager": manager, "operation": operation, "fieldsV1": united}
    return list(entries.values())


def _operators(ref: ObjectRef, entry: Mapping[str, Any]) -> Iterator[tuple[_Writer, _Fields]]:
    """Yield the operator's names for an entry of lifecycle-manager, with the fields for each."""
    manager, operation = OPERATOR_FIELD_MANAGER, str(entry["operation"])
    if entry.get("subresource") or ref.kind.kind == "Kyma" or entry["manager"] == CREATOR:
        operation = _UPDATE
    elif _is_manifest(ref) and entry["manager"] == LIFECYCLE_APPLIER:
        manager = OPERATOR_CREATOR
    yield (manager, operation), entry.get("fieldsV1") or {}


def _lifecycle_managers(ref: ObjectRef, entry: Mapping[str, Any], *, home: bool) -> Iterator[tuple[_Writer, _Fields]]:
    """Yield lifecycle-manager's names for an entry of the operator, with the fields for each.

    A Kyma's labels on a runtime are applied, and its spec is not: an apply that lacks the spec would remove it.
    """
    fields, operation = entry.get("fieldsV1") or {}, str(entry["operation"])
    if home:
        is_applied = bool(entry.get("subresource")) or operation == _APPLY
        manager = LIFECYCLE_APPLIER if _is_manifest(ref) and is_applied else LIFECYCLE_MANAGER
        yield (manager, _APPLY if is_applied else _UPDATE), fields
    elif ref.kind.kind == "Kyma":
        for writer, is_label in (((_SYNC_CONTEXT, _APPLY), True), ((LIFECYCLE_MANAGER, _UPDATE), False)):
            if part := {name: value for name, value in fields.items() if (name == "f:metadata") is is_label}:
                yield writer, part
    elif operation == _UPDATE:
        yield (CREATOR, _UPDATE), fields
    else:
        yield (_applier(ref), _APPLY), fields


def _applier(ref: ObjectRef) -> str:
    """Return lifecycle-manager's name for what it applies to a runtime."""
    if ref.kind.kind == "CustomResourceDefinition" and ref.name.endswith(f".{OPERATOR}"):
        return LIFECYCLE_MANAGER
    return _SYNC_CONTEXT if (ref.kind.kind, ref.name) == ("Namespace", KYMA_NAMESPACE) else LIFECYCLE_APPLIER


def _is_manifest(ref: ObjectRef) -> bool:
    return (ref.kind.group, ref.kind.kind) == (OPERATOR, "Manifest")
