"""Takeover of fields that another tool wrote, and that kymatui's version no longer has.

Server-side apply removes only what the same manager applied before. Fields of others would stay forever, and a list
of named items would have the new name and the old one. So their fields are first transferred to kymatui, as
`kubectl apply --server-side` does with its own (k8s.io/client-go/util/csaupgrade).

Fields that lifecycle-manager and kymatui's operator own, when one of them takes the other's place.

Server-side apply removes only what the same manager applied. What the other one wrote would stay forever: a field that
a newer version drops, or the list of applied objects, without whose end lifecycle-manager deletes no Manifest. So the
entries of one get the names under which the other one writes such fields itself.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from kymatui.domain.kubernetes.managed_fields import Path, applied_entry, field_writers, owned_value, read_key
from kymatui.domain.kubernetes.object_meta import OPERATOR, field_managers, read_kind, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.ownership import LIFECYCLE_APPLIER
from kymatui.engine.cluster.ports import OPERATOR_CREATOR, OPERATOR_FIELD_MANAGER, Cluster, Object
from kymatui.engine.cluster.request_scope import ADOPT, note_change
from kymatui.engine.inventory.ownership_marks import HELM_MANAGER, patch_current

HELM: Final = frozenset({HELM_MANAGER})
_MISSING: Final = object()
_STATUS: Final = "f:status"
_NEVER_SENT: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


def leftover_fields(
    live: Mapping[str, Any], body: Mapping[str, Any], manager: str, givers: frozenset[str] = HELM
) -> tuple[Path, ...]:
    """Return fields of `live` that only `givers` own and `body` lacks: applying would leave them.

    Fields that were written in another API version have other paths and stay.
    """
    entries = live["metadata"].get("managedFields") or ()
    ours = [entry for entry in entries if entry.get("manager") in {*givers, manager} and not entry.get("subresource")]
    helm = [entry for entry in ours if entry["manager"] in givers and entry.get("apiVersion") == body.get("apiVersion")]
    helms, others = _owned(helm), _owned([entry for entry in entries if entry not in ours])
    stored = _as_stored(body)
    fields = {
        cut
        for path in helms
        if path[0] != _STATUS and (cut := _lacking(path, stored, others)) and owned_value(live, cut) is not None
    }
    return tuple(sorted(fields))


def _owned(entries: Sequence[Mapping[str, Any]]) -> frozenset[Path]:
    writers = field_writers({"metadata": {"managedFields": entries}})
    return frozenset(path for writer in writers for path in writer.fields)


def object_after_takeover(live: Mapping[str, Any], body: Mapping[str, Any], gone: Iterable[Path]) -> Object:
    """Return `live` without the fields in `gone`, and with those of `body`."""
    kept: Any = live
    for path in gone:
        kept = _without(kept, path)
    return merge_client_side(kept, _as_stored(body))


def patch_between(live: Mapping[str, Any], after: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a JSON patch between two states: whole top-level fields, labels and annotations."""
    operations = list(_replaced(live, after, "", (live.keys() | after.keys()) - _NEVER_SENT))
    return operations + list(_replaced(live["metadata"], after["metadata"], "/metadata", {"labels", "annotations"}))


def take_over_fields(cluster: Cluster, ref: ObjectRef, manager: str, givers: frozenset[str] = HELM) -> bool:
    """Transfer the fields of `givers` to the manager, as if it had applied them; return whether any exist."""
    return patch_current(cluster, ref, lambda live: _handed(live, manager, givers))


def _handed(live: Object, manager: str, givers: frozenset[str]) -> list[Mapping[str, Any]]:
    """Return a JSON patch that merges the entries; those of another API version stay."""
    entries: list[dict[str, Any]] = live["metadata"].get("managedFields") or []
    helms = [item for item in entries if item.get("manager") in givers and not item.get("subresource")]
    own = applied_entry(live, manager)
    base = own or (helms[-1] if helms else {})
    taken = [item for item in helms if item.get("apiVersion") == base.get("apiVersion")]
    if not taken:
        return []
    fields: dict[str, Any] = dict(base.get("fieldsV1") or {})
    for entry in taken:
        fields = united_fields(fields, entry.get("fieldsV1") or {})
    fields.pop(_STATUS, None)  # the next apply has no status and would remove it
    applied = {**base, "manager": manager, "operation": "Apply", "fieldsV1": fields}
    kept = [item for item in entries if item is not own and item not in taken]
    return [{"op": "replace", "path": "/metadata/managedFields", "value": [applied, *kept]}]


def united_fields(fields: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of two entries of managedFields."""
    return {**fields, **{key: united_fields(fields.get(key) or {}, below) for key, below in other.items()}}


def _lacking(path: Path, fields: Mapping[str, Any], others: Iterable[Path]) -> Path:
    """Return the part of a path that `fields` lacks: a whole list item, unless others own part of it."""
    at: object = fields
    for depth, step in enumerate(path, 1):
        at = _below(at, step)
        if at is _MISSING:
            end = next((end for end in range(depth, len(path)) if path[end - 1].startswith("k:")), len(path))
            item = path[:end]
            if not any(other[:end] == item for other in others):
                return item
            return path if path not in others else ()
    return ()


def _below(value: object, step: str) -> object:
    """Return the manifest's value at one step of a path; it may lack a key that the server defaults."""
    form, _, rest = step.partition(":")
    if form == "f":
        return value.get(rest, _MISSING) if isinstance(value, Mapping) else _MISSING
    items = value if isinstance(value, list) else []
    key = read_key(rest)
    if form == "v":
        return key if key in items else _MISSING
    return next((item for item in items if _has_keys(item, key)), _MISSING) if form == "k" else value


def _has_keys(item: object, keys: object) -> bool:
    if not isinstance(item, Mapping) or not isinstance(keys, Mapping):
        return False
    return all(item.get(name, value) == value for name, value in keys.items())


def _without(value: Any, path: Path) -> Any:
    """Return a copy without the value at a path; empty maps are removed too, as server-side apply does."""
    (form, _, rest), below = path[0].partition(":"), path[1:]
    if form == "f" and isinstance(value, Mapping):
        kept = {name: part for name, part in value.items() if name != rest}
        inner = _without(value[rest], below) if below and rest in value else {}
        return {**value, rest: inner} if inner else kept
    if not isinstance(value, list) or form not in ("k", "v"):
        return value
    key = read_key(rest)
    return [part for item in value for part in _items_without(item, key, form, below)]


def _items_without(item: Any, key: Any, form: str, below: Path) -> Iterator[Any]:
    both = isinstance(item, Mapping) and isinstance(key, Mapping)
    is_it = item == key if form == "v" else both and key.items() <= item.items()
    if not is_it:
        yield item
    elif below:
        yield _without(item, below)


def _replaced(
    before: Mapping[str, Any], after: Mapping[str, Any], where: str, names: Iterable[str]
) -> Iterator[Mapping[str, Any]]:
    for name in sorted(names):
        path = f"{where}/{name.replace('~', '~0').replace('/', '~1')}"
        if name in after and after[name] != before.get(name, _MISSING):
            yield {"op": "add", "path": path, "value": after[name]}
        elif name in before and name not in after:
            yield {"op": "remove", "path": path}


def _as_stored(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body with a Secret's stringData as data."""
    kind, texts = read_kind(body), body.get("stringData")
    if (kind.group, kind.kind) != ("", "Secret") or not isinstance(texts, Mapping):
        return dict(body)
    coded = {name: base64.b64encode(str(text).encode()).decode() for name, text in texts.items()}
    return {**{k: v for k, v in body.items() if k != "stringData"}, "data": {**(body.get("data") or {}), **coded}}


_KEYS: Final = ("name", "containerPort", "port", "mountPath", "devicePath", "ip", "topologyKey", "uid", "type")


def merge_client_side(live: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return `live` with the fields of `body`."""
    merged = _merged(live, {key: value for key, value in body.items() if key != "stringData"})
    return dict(merged) if isinstance(merged, Mapping) else {}


def _merged(live: Any, desired: Any) -> Any:
    if isinstance(live, Mapping) and isinstance(desired, Mapping):
        return {**live, **{key: _merged(live.get(key), value) for key, value in desired.items()}}
    if isinstance(live, list) and isinstance(desired, list):
        return _merged_list(live, desired)
    return desired


def _merged_list(live: Sequence[Any], desired: Sequence[Any]) -> list[Any]:
    key = next((key for key in _KEYS if _identifies(key, live) and _identifies(key, desired)), "")
    if not key:
        return list(desired)
    new = {item[key]: item for item in desired}
    merged = [_merged(item, new.pop(item[key])) if item[key] in new else item for item in live]
    return [*merged, *new.values()]


def _identifies(key: str, items: Sequence[Any]) -> bool:
    values = [item.get(key) if isinstance(item, Mapping) else None for item in items]
    return bool(values) and None not in values and len({str(value) for value in values}) == len(values)


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
