"""Server-side apply: merge the applied fields and remove those the applier no longer sets.

The order of steps is that of k8s.io/apimachinery/pkg/util/managedfields and of structured-merge-diff's updater.
"""

from __future__ import annotations

import json
from typing import Any

from kymatui.sandbox.apply.managed_fields_codec import (
    ManagedFields,
    Manager,
    OwnedFields,
    applier,
    read_managed,
    time_text,
    updater,
)
from kymatui.sandbox.apply.update_tracking import (
    NEVER_TRACKED,
    ApplyConflictError,
    ApplyFailedError,
    EndpointTracking,
    put,
    reconciled,
    take_ownership,
    update_owners,
    without_untracked,
)
from kymatui.schemas.objects.typed_values import (
    ABSENT,
    TypedValueError,
    child_schema,
    compare,
    field_set,
    form,
    list_element,
    merge,
    remove,
    same_value,
    with_named_fields,
)
from kymatui.schemas.types.schema_node import ANY, Object, Schema
from kymatui.schemas.values.field_errors import go_float, quoted
from kymatui.schemas.values.field_sets import EMPTY, FieldSet, copy_json, show_path

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


Problems = list[tuple[str, str]]
_WORDS = {"string": "string", "boolean": "boolean", "integer": "numeric", "number": "numeric"}


def check_applied_object(schema: Schema, value: Any) -> None:
    """Raise `TypedValueError` with every problem."""
    problems: Problems = []
    _check(schema, value, "", problems)
    if problems:
        raise TypedValueError(problems)


def _check(schema: Schema, value: Any, path: str, problems: Problems) -> None:
    shape = form(schema, value)
    if value is None:
        return
    if shape == "scalar":
        _check_scalar(schema, value, path, problems)
    elif shape == "list":
        _check_list(schema, value, path, problems)
    elif not isinstance(value, dict):
        problems.append((path, f"expected map, got {_shown(value)}"))
    else:
        for name, item in sorted(value.items()):
            below = f"{path}.{name}"
            if not _declared(schema, name):
                problems.append((below, "field not declared in schema"))
            else:
                _check(child_schema(schema, name), item, below, problems)


def _declared(schema: Schema, name: str) -> bool:
    if name in schema.properties or schema.additional is not None or schema.preserve:
        return True
    return not schema.properties


def _check_scalar(schema: Schema, value: Any, path: str, problems: Problems) -> None:
    word = _WORDS.get(schema.type)
    if schema.int_or_string or schema.format == "quantity" or word is None:
        if isinstance(value, (dict, list)):
            problems.append((path, f"expected scalar, got {_shown(value)}"))
        return
    fits = {
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "numeric": isinstance(value, (int, float)) and not isinstance(value, bool),
    }[word]
    if not fits:
        problems.append((path, _expected(word, value)))


def _expected(word: str, value: Any) -> str:
    if word == "numeric":
        return f"expected numeric (int or float), got {_go_type(value)}"
    if word == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    return f"expected {word}, got {_shown(value)}"


def _go_type(value: Any) -> str:
    names: tuple[tuple[type, str], ...] = ((bool, "bool"), (str, "string"), (dict, "map[string]interface {}"))
    return next((name for kind, name in names if isinstance(value, kind)), "[]interface {}")


def _go_syntax(value: Any) -> str:
    """Return Go's %#v."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quoted(name)}:{_go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(_go_syntax(item) for item in value)}}}"
    if value is None:
        return "interface {}(nil)"
    return quoted(value) if isinstance(value, str) else _format_go(value)


def _check_list(schema: Schema, value: Any, path: str, problems: Problems) -> None:
    if not isinstance(value, list):
        problems.append((path, f"expected list, got {_shown(value)}"))
        return
    keys: set[str] = set()
    for index, item in enumerate(value):
        where = f"{path}[{index}]"
        if schema.is_granular_list:
            try:
                element = list_element(schema, item)
            except ValueError as error:
                problems.append((path, f"element {index}: {error}"))
                continue
            where = path + show_path((element,))
            if element in keys:
                problems.append((path, f"duplicate entries for key {show_path((element,))}"))
            keys.add(element)
        _check(schema.items or ANY, item, where, problems)


def _shown(value: Any) -> str:
    """Return Go's %#v of an unstructured value, as far as clients see it."""
    return f"&{{{_format_go(value)}}}"


def _format_go(value: Any) -> str:
    if value is None or value is ABSENT:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{_format_go(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_format_go(item) for item in value) + "]"
    return go_float(value) if isinstance(value, float) else str(value)
