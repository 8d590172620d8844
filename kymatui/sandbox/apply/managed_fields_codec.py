"""metadata.managedFields: decoding, encoding, and the field set of each manager."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import Struct, field

from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_sets import FieldsError, FieldSet, from_fields, to_fields


class Manager(NamedTuple):
    """A field manager; `version` is "" for an applier, which is one manager at all versions."""

    name: str
    operation: str
    version: str
    subresource: str


class OwnedFields(Struct, frozen=True):
    """The fields of a manager at a version; `time` as the server writes it, or ""."""

    fields: FieldSet
    version: str
    time: str = ""


class ManagedFields(Struct):
    """The managers of an object's fields."""

    owners: dict[Manager, OwnedFields] = field(default_factory=dict)


def applier(name: str, subresource: str) -> Manager:
    return Manager(name, "Apply", "", subresource)


def updater(name: str, version: str, subresource: str) -> Manager:
    return Manager(name, "Update", version, subresource)


def read_managed(entries: Any) -> ManagedFields | None:
    """Return the managers of the entries, None if they are malformed."""
    managed = ManagedFields()
    for entry in entries or ():
        parsed = _read(entry)
        if parsed is None:
            return None
        managed.owners[parsed[0]] = parsed[1]
    return managed


def _read(entry: Any) -> tuple[Manager, OwnedFields] | None:
    if not isinstance(entry, dict) or entry.get("operation") not in ("Apply", "Update"):
        return None
    version = entry.get("apiVersion") or ""
    if not version or entry.get("fieldsType") != "FieldsV1":
        return None
    try:
        fields = from_fields(entry.get("fieldsV1") or {})
    except FieldsError:
        return None
    applied = entry["operation"] == "Apply"
    manager = Manager(
        entry.get("manager") or "", entry["operation"], "" if applied else version, entry.get("subresource") or ""
    )
    return manager, OwnedFields(fields, version, entry.get("time") or "")


def is_reset(entries: Any) -> bool:
    """Return whether a request resets all managers: with an empty list, or one empty entry."""
    return entries is not None and (len(entries) == 0 or entries == [{}])


def managed_of(live: Object, new: Object, *, subresource: str) -> ManagedFields:
    """Return the managers before the write: those of the request, else of the live object."""
    stored = read_managed((live.get("metadata") or {}).get("managedFields"))
    if subresource:
        return stored or ManagedFields()
    managed_fields = (new.get("metadata") or {}).get("managedFields")
    if is_reset(managed_fields):
        return ManagedFields()
    sent = read_managed(managed_fields)
    return sent if sent is not None and sent.owners else stored or ManagedFields()


def write_managed(managed: ManagedFields) -> list[Object]:
    """Return the entries in the server's order."""
    entries = [_write(manager, owned) for manager, owned in managed.owners.items()]
    return sorted(entries, key=_rank)


def _write(manager: Manager, owned: OwnedFields) -> Object:
    entry: Object = {"manager": manager.name, "operation": manager.operation, "apiVersion": owned.version}
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = to_fields(owned.fields)
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _rank(entry: Object) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        entry.get("time", ""),
        entry["manager"],
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def time_text(now: float) -> str:
    """Return Unix seconds as metav1.Time."""
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
