"""Server-side apply: merge the applied fields and remove those the applier no longer sets.

The order of steps is that of k8s.io/apimachinery/pkg/util/managedfields and of structured-merge-diff's updater.
"""

from __future__ import annotations

import json
from typing import Any

from kymatui.sandbox.apply.applied_object_check import check_applied_object
from kymatui.sandbox.apply.apply_conflicts import ApplyConflictError, ApplyFailedError
from kymatui.sandbox.apply.endpoint_tracking import NEVER_TRACKED, EndpointTracking, put, without_untracked
from kymatui.sandbox.apply.managed_fields_codec import (
    ManagedFields,
    Manager,
    OwnedFields,
    applier,
    read_managed,
    time_text,
    updater,
)
from kymatui.sandbox.apply.update_tracking import reconciled, take_ownership, update_owners
from kymatui.schemas.objects.typed_values import (
    TypedValueError,
    compare,
    field_set,
    merge,
    remove,
    same_value,
    with_named_fields,
)
from kymatui.schemas.types.schema_node import Object, Schema
from kymatui.schemas.values.field_sets import EMPTY, FieldSet
from kymatui.schemas.values.json_copy import copy_json

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_BEFORE_APPLY = "before-first-apply"


def apply_object(
    tracking: EndpointTracking,
    live: Object | None,
    applied_object: Object,
    manager: str,
    now: float,
    *,
    force: bool = False,
) -> Object:
    """Return the object after a server-side apply of `applied_object`, with defaults and managed fields.

    Raise `ApplyConflictError` (409) and `ApplyFailedError` (500). If nothing changed, return the live object with the
    new managers.
    """
    before = copy_json(tracking.empty) if live is None else live
    managed = read_managed((before.get("metadata") or {}).get("managedFields"))
    if managed is None:
        raise ApplyFailedError("failed to decode managed fields", status=500)
    schema = tracking.own_schema()
    try:
        check_applied_object(schema, applied_object)
    except TypedValueError as error:
        raise ApplyFailedError(
            f"failed to create typed patch object ({_place(applied_object)}): {error}", status=500
        ) from None
    current = without_untracked(before)
    if not managed.owners and live is not None:
        first = updater(_BEFORE_APPLY, tracking.api_version, tracking.subresource)
        update_owners(tracking, without_untracked(tracking.empty), current, managed, first, now)
    writer = applier(manager, tracking.subresource)
    try:
        obj = _apply(tracking, current, applied_object, managed, writer, now, force=force)
    except ApplyConflictError as error:
        if manager != "kubectl":
            raise
        _allow_last_applied(schema, current, error)
        obj = _apply(tracking, current, applied_object, managed, writer, now, force=True)
    if manager == "kubectl":
        _sync_last_applied(obj, applied_object)
    put(obj, managed)
    return obj


def _place(obj: Object) -> str:
    """Return `namespace/name; group/version, Kind=Kind`."""
    metadata = obj.get("metadata") or {}
    api_version = obj.get("apiVersion") or ""
    version = api_version if "/" in api_version else f"/{api_version}"
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {version}, Kind={obj.get('kind') or ''}"


def _apply(
    tracking: EndpointTracking,
    live: Object,
    applied_object: Object,
    managed: ManagedFields,
    writer: Manager,
    now: float,
    *,
    force: bool,
) -> Object:
    started = dict(managed.owners)
    managed.owners = reconciled(tracking, live, managed.owners)
    schema = tracking.own_schema()
    last = managed.owners.get(writer)
    merged: Object = merge(schema, live, applied_object)
    fields = tracking.tracked(field_set(schema, applied_object))
    managed.owners[writer] = OwnedFields(fields, tracking.api_version, last.time if last else "")
    merged = _prune(tracking, merged, managed, last)
    try:
        take_ownership(tracking, live, merged, managed, writer, force=force)
    except ApplyConflictError:
        managed.owners = started
        raise
    unchanged = same_value(merged, live)
    own = managed.owners.pop(writer)
    stripped = own.fields - NEVER_TRACKED
    if stripped:
        managed.owners[writer] = OwnedFields(stripped, own.version, own.time if unchanged else time_text(now))
    obj: Object = copy_json(merged)
    tracking.default(obj)
    return obj


def _prune(tracking: EndpointTracking, merged: Object, managed: ManagedFields, last: OwnedFields | None) -> Object:
    """Remove the fields that only the applier owned and no longer applies."""
    if last is None or not last.fields:
        return merged
    schema = tracking.schema(last.version)
    if schema is None:
        return merged
    last_named = with_named_fields(schema, last.fields)
    pruned = remove(schema, merged, last_named)
    merged_set = with_named_fields(schema, field_set(schema, merged))
    for version, fields in _fields_by_version(managed, last.version).items():
        at_version = tracking.schema(version)
        if at_version is None:
            continue
        pruned_set = with_named_fields(at_version, field_set(at_version, pruned))
        all_fields = with_named_fields(at_version, field_set(at_version, merged))
        pruned = remove(at_version, merged, all_fields - (pruned_set | with_named_fields(at_version, fields)))
    pruned_set = with_named_fields(schema, field_set(schema, pruned))
    result = remove(schema, merged, (merged_set - pruned_set) & last_named)
    return result if isinstance(result, dict) else {}


def _fields_by_version(managed: ManagedFields, first: str) -> dict[str, FieldSet]:
    """Return all owned fields by version, beginning with `first`."""
    fields: dict[str, FieldSet] = {first: EMPTY}
    for owned in managed.owners.values():
        fields[owned.version] = fields.get(owned.version, EMPTY) | owned.fields
    return fields


# -- kubectl's own annotation


def _allow_last_applied(schema: Schema, live: Object, error: ApplyConflictError) -> None:
    """Raise the conflicts that kubectl's last-applied annotation does not explain."""
    allowed = _last_applied_fields(schema, live)
    if allowed is None:
        raise error
    conflicts = [conflict for conflict in error.conflicts if conflict[2] not in allowed]
    if conflicts:
        raise ApplyConflictError(conflicts) from None


def _last_applied_fields(schema: Schema, live: Object) -> FieldSet | None:
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return None
    try:
        applied: Any = json.loads(text)
        if applied.get("apiVersion") != live.get("apiVersion"):
            return None
        check_applied_object(schema, applied)
    except (ValueError, AttributeError):
        return None
    change = compare(schema, applied, live)
    return field_set(schema, applied) - change.modified - change.added - change.removed


def _sync_last_applied(obj: Object, applied_object: Object) -> None:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    applied = copy_json(applied_object)
    own_annotations = (applied.get("metadata") or {}).get("annotations")
    if own_annotations:
        own_annotations.pop(LAST_APPLIED, None)
    annotations[LAST_APPLIED] = json.dumps(applied, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
