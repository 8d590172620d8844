"""What every write does to the owners of fields: create, update, patch, and server-side apply.

The order of steps is that of k8s.io/apimachinery/pkg/util/managedfields and of structured-merge-diff's updater.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kymatui.errors import ConflictError, ServerError
from kymatui.sandbox.apply.checking import check
from kymatui.sandbox.apply.fieldsets import EMPTY, FieldPath, FieldSet, in_order, only, show_path, without
from kymatui.sandbox.apply.managedfields import (
    Managed,
    Manager,
    Owned,
    applier,
    managed_of,
    read_managed,
    time_text,
    updater,
    write_managed,
)
from kymatui.sandbox.apply.reconciling import reconcile
from kymatui.sandbox.apply.typedvalues import (
    Comparison,
    TypedValueError,
    compare,
    field_set,
    merge,
    remove,
    same,
    with_named_fields,
)
from kymatui.sandbox.schemas.fielderrors import quoted
from kymatui.sandbox.schemas.nodes import Object, Schema

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MOST_UPDATERS = 10
_BEFORE_APPLY = "before-first-apply"
_ANCIENT = "ancient-changes"
_NEVER_TRACKED = frozenset(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",)]
    + [
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ]
)


@dataclass(frozen=True, slots=True)
class Tracking:
    """How the fields of one endpoint are tracked.

    `schema(version)` is the schema at an apiVersion, None where it is not served (any more). `reset` are the fields
    that this endpoint never changes, and so never owns; `kept`, where given, the only ones it does. `default` fills in
    the defaults of an applied object in place. `empty` is what a new object is before anything is set.
    """

    api_version: str
    schema: Callable[[str], Schema | None]
    subresource: str = ""
    reset: FieldSet = EMPTY
    kept: FieldSet | None = None
    default: Callable[[Object], None] = lambda obj: None
    empty: Object = field(default_factory=dict)

    def tracked(self, fields: FieldSet) -> FieldSet:
        left = without(fields, self.reset)
        return left if self.kept is None else only(left, self.kept)

    def own_schema(self) -> Schema:
        found = self.schema(self.api_version)
        if found is None:
            raise ServerError(f"no schema for {self.api_version}", status=500)
        return found


class ApplyConflictError(ConflictError):
    """Fields that others own; `causes` as a Status has them."""

    def __init__(self, conflicts: list[tuple[Manager, Owned, FieldPath]]) -> None:
        self.conflicts = conflicts
        self.causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_named(manager)}",
                "field": show_path(path),
            }
            for manager, _, path in conflicts
        ]
        super().__init__(_message(conflicts), status=409, reason="Conflict")


class ApplyFailedError(ServerError):
    """The applied object does not fit the kind; the message is the server's (status 500, no reason)."""


def _named(manager: Manager) -> str:
    """As conflicts name a manager."""
    text = quoted(manager.name)
    if manager.subresource:
        text += f" with subresource {quoted(manager.subresource)}"
    return f"{text} using {manager.version}" if manager.operation == "Update" else text


def _message(conflicts: list[tuple[Manager, Owned, FieldPath]]) -> str:
    if len(conflicts) == 1:
        manager, _, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_named(manager)}: {show_path(path)}"
    lines: list[str] = []
    managers = dict.fromkeys(manager for manager, _, _ in conflicts)
    for manager in sorted(managers, key=_identifier):
        lines.append(f"conflicts with {_named(manager)}:")
        lines += [f"- {show_path(path)}" for owner, _, path in conflicts if owner == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _identifier(manager: Manager) -> str:
    """The text by which the server orders managers."""
    fields = {"manager": manager.name, "operation": manager.operation, "apiVersion": manager.version}
    if manager.subresource:
        fields["subresource"] = manager.subresource
    return json.dumps({key: value for key, value in fields.items() if value}, separators=(",", ":"))


def _bare(obj: Object) -> Object:
    """The object without its managed fields."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _put(obj: Object, managed: Managed) -> None:
    entries = write_managed(managed)
    metadata = obj.setdefault("metadata", {})
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


# -- create, update, patch


def track_update(tracking: Tracking, live: Object | None, new: Object, manager: str, now: float) -> None:
    """Sets the managed fields of `new` after it took the place of `live` (None: it was created)."""
    before = tracking.empty if live is None else live
    managed = managed_of(before, new, subresource=tracking.subresource)
    if not managed.owners and live is not None:
        new.get("metadata", {}).pop("managedFields", None)
        return
    writer = updater(manager or "unknown", tracking.api_version, tracking.subresource)
    _update(tracking, _bare(before), _bare(new), managed, writer, now)
    _cap(managed)
    _put(new, managed)


def _update(tracking: Tracking, live: Object, new: Object, managed: Managed, writer: Manager, now: float) -> None:
    managed.owners = _reconciled(tracking, live, managed.owners)
    changes = _take(tracking, live, new, managed, None, force=True)
    taken = tracking.tracked(frozenset(changes.modified | changes.added)) - _NEVER_TRACKED
    if not taken:
        return
    previous = managed.owners.get(writer)
    fields = taken | previous.fields if previous else taken
    managed.owners[writer] = Owned(fields, tracking.api_version, time_text(now))


def _take(
    tracking: Tracking, live: Object, new: Object, managed: Managed, writer: Manager | None, *, force: bool
) -> Comparison:
    """Takes what changed from all others; raises `ApplyConflictError` unless `force`."""
    schema = tracking.own_schema()
    own = _tracked(tracking, compare(schema, live, new))
    changes: dict[str, Comparison] = {tracking.api_version: own}
    conflicts: list[tuple[Manager, Owned, FieldPath]] = []
    left: dict[Manager, Owned] = {}
    for manager, owned in managed.owners.items():
        if manager == writer:
            left[manager] = owned
            continue
        change = _change_at(tracking, owned.version, changes, live, new)
        if change is None:
            continue
        lost = owned.fields & (change.modified | change.added)
        conflicts += [(manager, owned, path) for path in in_order(frozenset(lost))]
        fields = owned.fields - lost - change.removed
        if fields:
            left[manager] = owned if len(fields) == len(owned.fields) else Owned(fields, owned.version, owned.time)
    if conflicts and not force:
        raise ApplyConflictError(conflicts)
    managed.owners = left
    return own


def _tracked(tracking: Tracking, change: Comparison) -> Comparison:
    return Comparison(
        set(tracking.tracked(frozenset(change.removed))),
        set(tracking.tracked(frozenset(change.modified))),
        set(tracking.tracked(frozenset(change.added))),
    )


def _change_at(
    tracking: Tracking, version: str, known: dict[str, Comparison], live: Object, new: Object
) -> Comparison | None:
    """What changed as another version sees it; None where that version is not served."""
    if version not in known:
        schema = tracking.schema(version)
        if schema is None:
            return None
        known[version] = _tracked(tracking, compare(schema, live, new))
    return known[version]


def _reconciled(tracking: Tracking, live: Object, owners: dict[Manager, Owned]) -> dict[Manager, Owned]:
    """Owners of what became atomic own the whole of it."""
    found: dict[Manager, Owned] = {}
    for manager, owned in owners.items():
        schema = tracking.schema(owned.version)
        if schema is None:
            continue
        fields = reconcile(schema, owned.fields)
        found[manager] = owned if fields == owned.fields else Owned(fields, owned.version, owned.time)
    return found


def _cap(managed: Managed) -> None:
    """Joins the oldest updaters of a version where there are too many."""
    updaters = [manager for manager in managed.owners if manager.operation == "Update"]
    updaters.sort(key=lambda manager: (managed.owners[manager].time, _identifier(manager)))
    count = len(updaters)
    first: dict[str, Manager] = {}
    for manager in updaters:
        if count <= MOST_UPDATERS:
            return
        owned = managed.owners[manager]
        oldest = first.setdefault(owned.version, manager)
        if oldest is manager:
            continue
        bucket = updater(_ANCIENT, owned.version, "")
        if bucket not in managed.owners:
            managed.owners[bucket] = managed.owners.pop(oldest)
        fields = managed.owners[bucket].fields | owned.fields
        del managed.owners[manager]
        managed.owners[bucket] = Owned(fields, owned.version, owned.time)
        count -= 1


# -- apply


def apply_object(
    tracking: Tracking, live: Object | None, wanted: Object, manager: str, now: float, *, force: bool = False
) -> Object:
    """The object after a server-side apply of `wanted`, with defaults and managed fields.

    Raises `ApplyConflictError` (409) and `ApplyFailedError` (500). Where nothing changed, the live object comes back
    with the owners as they are now.
    """
    before = copy.deepcopy(tracking.empty) if live is None else live
    managed = read_managed((before.get("metadata") or {}).get("managedFields"))
    if managed is None:
        raise ApplyFailedError("failed to decode managed fields", status=500)
    schema = tracking.own_schema()
    try:
        check(schema, wanted)
    except TypedValueError as error:
        raise ApplyFailedError(f"failed to create typed patch object ({_place(wanted)}): {error}", status=500) from None
    bare = _bare(before)
    if not managed.owners and live is not None:
        first = updater(_BEFORE_APPLY, tracking.api_version, tracking.subresource)
        _update(tracking, _bare(tracking.empty), bare, managed, first, now)
    writer = applier(manager, tracking.subresource)
    try:
        obj = _apply(tracking, bare, wanted, managed, writer, now, force=force)
    except ApplyConflictError as error:
        if manager != "kubectl":
            raise
        _allow_last_applied(schema, bare, error)
        obj = _apply(tracking, bare, wanted, managed, writer, now, force=True)
    if manager == "kubectl":
        _sync_last_applied(obj, wanted)
    _put(obj, managed)
    return obj


def _place(obj: Object) -> str:
    """`namespace/name; group/version, Kind=Kind`."""
    metadata = obj.get("metadata") or {}
    api_version = obj.get("apiVersion") or ""
    version = api_version if "/" in api_version else f"/{api_version}"
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {version}, Kind={obj.get('kind') or ''}"


def _apply(
    tracking: Tracking, live: Object, wanted: Object, managed: Managed, writer: Manager, now: float, *, force: bool
) -> Object:
    started = dict(managed.owners)
    managed.owners = _reconciled(tracking, live, managed.owners)
    schema = tracking.own_schema()
    last = managed.owners.get(writer)
    merged: Object = merge(schema, live, wanted)
    fields = tracking.tracked(field_set(schema, wanted))
    managed.owners[writer] = Owned(fields, tracking.api_version, last.time if last else "")
    merged = _prune(tracking, merged, managed, last)
    try:
        _take(tracking, live, merged, managed, writer, force=force)
    except ApplyConflictError:
        managed.owners = started
        raise
    unchanged = same(merged, live)
    own = managed.owners.pop(writer)
    stripped = own.fields - _NEVER_TRACKED
    if stripped:
        managed.owners[writer] = Owned(stripped, own.version, own.time if unchanged else time_text(now))
    obj = copy.deepcopy(merged)
    tracking.default(obj)
    return obj


def _prune(tracking: Tracking, merged: Object, managed: Managed, last: Owned | None) -> Object:
    """Removes what the applier had, does not have any more, and nobody else has."""
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
        whole = with_named_fields(at_version, field_set(at_version, merged))
        pruned = remove(at_version, merged, whole - (pruned_set | with_named_fields(at_version, fields)))
    pruned_set = with_named_fields(schema, field_set(schema, pruned))
    result = remove(schema, merged, (merged_set - pruned_set) & last_named)
    return result if isinstance(result, dict) else {}


def _fields_by_version(managed: Managed, first: str) -> dict[str, FieldSet]:
    """What anybody owns, by version, beginning with `first`."""
    found: dict[str, FieldSet] = {first: EMPTY}
    for owned in managed.owners.values():
        found[owned.version] = found.get(owned.version, EMPTY) | owned.fields
    return found


# -- kubectl's own annotation


def _allow_last_applied(schema: Schema, live: Object, error: ApplyConflictError) -> None:
    """Raises what is left of the conflicts after those that client-side apply explains."""
    allowed = _last_applied_fields(schema, live)
    if allowed is None:
        raise error
    left = [conflict for conflict in error.conflicts if conflict[2] not in allowed]
    if left:
        raise ApplyConflictError(left) from None


def _last_applied_fields(schema: Schema, live: Object) -> FieldSet | None:
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return None
    try:
        applied: Any = json.loads(text)
        if applied.get("apiVersion") != live.get("apiVersion"):
            return None
        check(schema, applied)
    except (ValueError, AttributeError):
        return None
    change = compare(schema, applied, live)
    return field_set(schema, applied) - change.modified - change.added - change.removed


def _sync_last_applied(obj: Object, wanted: Object) -> None:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    applied = copy.deepcopy(wanted)
    given = (applied.get("metadata") or {}).get("annotations")
    if given:
        given.pop(LAST_APPLIED, None)
        if not given:
            del applied["metadata"]["annotations"]
    annotations[LAST_APPLIED] = json.dumps(applied, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
