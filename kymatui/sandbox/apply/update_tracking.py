"""Ownership changes of create, update and patch, at the version that an endpoint serves.

The order of steps is that of k8s.io/apimachinery/pkg/util/managedfields and of structured-merge-diff's updater.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from msgspec import Struct, field

from kymatui.errors import ConflictError, ServerError
from kymatui.sandbox.apply.managed_fields_codec import (
    ManagedFields,
    Manager,
    OwnedFields,
    managed_of,
    time_text,
    updater,
    write_managed,
)
from kymatui.schemas.objects.typed_values import TypedComparison, compare
from kymatui.schemas.types.schema_node import Object, Schema
from kymatui.schemas.values.field_errors import quoted
from kymatui.schemas.values.field_sets import EMPTY, FieldPath, FieldSet, in_order, only, show_path, without

NEVER_TRACKED = frozenset(
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


class EndpointTracking(Struct, frozen=True):
    """Tracking options of an endpoint.

    `schema(version)` returns the schema at an apiVersion, None if it is not served. `reset` are the fields that this
    endpoint never changes, and so never owns; `kept`, if given, the only ones it changes. `default` sets the defaults
    of an applied object in place. `empty` is a new object before any field is set.
    """

    api_version: str
    schema: Callable[[str], Schema | None]
    subresource: str = ""
    reset: FieldSet = EMPTY
    kept: FieldSet | None = None
    default: Callable[[Object], None] = lambda obj: None
    empty: Object = field(default_factory=dict)

    def tracked(self, fields: FieldSet) -> FieldSet:
        remaining_fields = without(fields, self.reset)
        return remaining_fields if self.kept is None else only(remaining_fields, self.kept)

    def own_schema(self) -> Schema:
        version_schema = self.schema(self.api_version)
        if version_schema is None:
            raise ServerError(f"no schema for {self.api_version}", status=500)
        return version_schema


def without_untracked(obj: Object) -> Object:
    """Return the object without its managed fields."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def put(obj: Object, managed: ManagedFields) -> None:
    entries = write_managed(managed)
    metadata = obj.setdefault("metadata", {})
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


MOST_UPDATERS = 10
_ANCIENT = "ancient-changes"


def track_update(tracking: EndpointTracking, live: Object | None, new: Object, manager: str, now: float) -> None:
    """Set the managed fields of `new`, which replaces `live` (None: it was created)."""
    before = tracking.empty if live is None else live
    managed = managed_of(before, new, subresource=tracking.subresource)
    if not managed.owners and live is not None:
        new.get("metadata", {}).pop("managedFields", None)
        return
    writer = updater(manager or "unknown", tracking.api_version, tracking.subresource)
    update_owners(tracking, without_untracked(before), without_untracked(new), managed, writer, now)
    _cap(managed)
    put(new, managed)


def update_owners(
    tracking: EndpointTracking, live: Object, new: Object, managed: ManagedFields, writer: Manager, now: float
) -> None:
    managed.owners = reconciled(tracking, live, managed.owners)
    changes = take_ownership(tracking, live, new, managed, None, force=True)
    taken = tracking.tracked(frozenset(changes.modified | changes.added)) - NEVER_TRACKED
    if not taken:
        return
    previous = managed.owners.get(writer)
    fields = taken | previous.fields if previous else taken
    managed.owners[writer] = OwnedFields(fields, tracking.api_version, time_text(now))


def take_ownership(
    tracking: EndpointTracking,
    live: Object,
    new: Object,
    managed: ManagedFields,
    writer: Manager | None,
    *,
    force: bool,
) -> TypedComparison:
    """Take the changed fields from all other managers. Raise `ApplyConflictError` unless `force`."""
    schema = tracking.own_schema()
    own = _tracked(tracking, compare(schema, live, new))
    changes: dict[str, TypedComparison] = {tracking.api_version: own}
    conflicts: list[tuple[Manager, OwnedFields, FieldPath]] = []
    remaining: dict[Manager, OwnedFields] = {}
    for manager, owned in managed.owners.items():
        if manager == writer:
            remaining[manager] = owned
            continue
        change = _change_at(tracking, owned.version, changes, live, new)
        if change is None:
            continue
        lost = owned.fields & (change.modified | change.added)
        conflicts += [(manager, owned, path) for path in in_order(frozenset(lost))]
        fields = owned.fields - lost - change.removed
        if fields:
            remaining[manager] = (
                owned if len(fields) == len(owned.fields) else OwnedFields(fields, owned.version, owned.time)
            )
    if conflicts and not force:
        raise ApplyConflictError(conflicts)
    managed.owners = remaining
    return own


def _tracked(tracking: EndpointTracking, change: TypedComparison) -> TypedComparison:
    return TypedComparison(
        set(tracking.tracked(frozenset(change.removed))),
        set(tracking.tracked(frozenset(change.modified))),
        set(tracking.tracked(frozenset(change.added))),
    )


def _change_at(
    tracking: EndpointTracking, version: str, known: dict[str, TypedComparison], live: Object, new: Object
) -> TypedComparison | None:
    """Return the changes at another version, None if that version is not served."""
    if version not in known:
        schema = tracking.schema(version)
        if schema is None:
            return None
        known[version] = _tracked(tracking, compare(schema, live, new))
    return known[version]


def reconciled(
    tracking: EndpointTracking, live: Object, owners: dict[Manager, OwnedFields]
) -> dict[Manager, OwnedFields]:
    """Extend ownership of a part to the whole of values that became atomic."""
    reconciled_fields: dict[Manager, OwnedFields] = {}
    for manager, owned in owners.items():
        schema = tracking.schema(owned.version)
        if schema is None:
            continue
        fields = reconcile(schema, owned.fields)
        reconciled_fields[manager] = owned if fields == owned.fields else OwnedFields(fields, owned.version, owned.time)
    return reconciled_fields


def _cap(managed: ManagedFields) -> None:
    """Merge the oldest updaters of a version beyond the limit."""
    updaters = [manager for manager in managed.owners if manager.operation == "Update"]
    updaters.sort(key=lambda manager: (managed.owners[manager].time, identifier(manager)))
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
        managed.owners[bucket] = OwnedFields(fields, owned.version, owned.time)
        count -= 1


def reconcile(schema: Schema, fields: FieldSet) -> FieldSet:
    """Return the set with paths cut at atomic values."""
    changed = {path: cut for path in fields if (cut := _cut(schema, path)) != path}
    if not changed:
        return fields
    return frozenset(changed.get(path, path) for path in fields)


def _cut(schema: Schema, path: FieldPath) -> FieldPath:
    node: Schema | None = schema
    for depth, element in enumerate(path):
        if node is None or _is_open(node):
            return path
        if depth and _is_leaf(node):
            return path[:depth]
        if element[0] == "f":
            node = node.properties.get(element[2:], node.additional)
        else:
            node = node.items
    return path


def _is_open(node: Schema) -> bool:
    return not node.type and not node.properties and node.additional is None


def _is_leaf(node: Schema) -> bool:
    return node.atomic or (node.type == "array" and not node.is_granular_list)


# Errors of an apply: conflicts with other managers, and objects that do not fit their kind.


class ApplyConflictError(ConflictError):
    """A conflict with fields of other managers; `causes` as in a Status."""

    def __init__(self, conflicts: list[tuple[Manager, OwnedFields, FieldPath]]) -> None:
        self.conflicts = conflicts
        self.causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {_named(manager)}", "field": show_path(path)}
            for manager, _, path in conflicts
        ]
        super().__init__(_message(conflicts), status=409, reason="Conflict")


class ApplyFailedError(ServerError):
    """The applied object does not fit the kind; the message is the server's (status 500, no reason)."""


def _named(manager: Manager) -> str:
    """Return the manager's name as in conflict messages."""
    text = quoted(manager.name)
    if manager.subresource:
        text += f" with subresource {quoted(manager.subresource)}"
    return f"{text} using {manager.version}" if manager.operation == "Update" else text


def _message(conflicts: list[tuple[Manager, OwnedFields, FieldPath]]) -> str:
    if len(conflicts) == 1:
        manager, _, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_named(manager)}: {show_path(path)}"
    lines: list[str] = []
    managers = dict.fromkeys(manager for manager, _, _ in conflicts)
    for manager in sorted(managers, key=identifier):
        lines.append(f"conflicts with {_named(manager)}:")
        lines += [f"- {show_path(path)}" for owner, _, path in conflicts if owner == manager]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def identifier(manager: Manager) -> str:
    """Return the text by which the server sorts managers."""
    fields = {"manager": manager.name, "operation": manager.operation, "apiVersion": manager.version}
    if manager.subresource:
        fields["subresource"] = manager.subresource
    return json.dumps({key: value for key, value in fields.items() if value}, separators=(",", ":"))
