"""Field managers of an object, read from `metadata.managedFields`.

For each field, the server records the managers that set its current value. A manager that changes a value takes the
field from the others; a removed field has no owner, and its old value is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader, objects_at, texts_at
from kymatui.domain.kubernetes.object_meta import parse_time
from kymatui.json_input import read_json

CATALOG_SYNC = "catalog-sync"
"""The field manager of the copies that lifecycle-manager writes to a runtime."""

KUBERNETES_COMPONENTS: Final = frozenset(
    {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "cloud-controller-manager"}
)
"""The field managers of Kubernetes' own components, which write status and defaults of every client's objects."""

NAMELESS: Final = "before-first-apply"
"""The server's name for the field manager of what was set before an object's first apply."""

_LIFECYCLE_MANAGER = frozenset({"declarative.kyma-project.io/applier", "resource.kyma-project.io/finalizer"})
_NO_CONTENT = frozenset({"f:metadata", "f:status"})

Path = tuple[str, ...]
"""Steps in the syntax of managedFields: "f:spec", `k:{"name":"a"}`, `v:"x"`, "i:0"."""


class FieldWriter(Struct, frozen=True):
    """One entry of managedFields.

    `operation` is "Apply" or "Update", `at` is in seconds of the Unix clock, `fields` are the leaves.
    """

    manager: str
    operation: str
    subresource: str
    at: float | None
    fields: frozenset[Path]


def field_writers(raw: Mapping[str, Any]) -> tuple[FieldWriter, ...]:
    """Return every readable entry, empty without managedFields."""
    return tuple(map(_writer, _entries(raw)))


def applied_entry(raw: Mapping[str, Any], manager: str) -> Mapping[str, Any] | None:
    """Return the entry of what a manager has applied, None without one; a subresource has its own entry."""
    entries = (
        entry for entry in _entries(raw) if entry.get("manager") == manager and entry.get("operation") == "Apply"
    )
    return next((entry for entry in entries if not entry.get("subresource")), None)


def _entries(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return objects_at(raw, "metadata", "managedFields")


def content_writers(raw: Mapping[str, Any]) -> frozenset[str]:
    """Return the field managers that own an object's content: clients that set more than its status."""
    named = {field_writer.manager for field_writer in field_writers(raw) if field_writer.subresource != "status"}
    return frozenset(named - KUBERNETES_COMPONENTS - {NAMELESS, ""})


def find_manual_changes(raw: Mapping[str, Any]) -> FieldWriter | None:
    """Return the last manual change of an object after it was applied.

    Status and scale updates do not count. None if there was no change, or if the object was never applied, because
    its intended content is then unknown.
    """
    entries = [field_writer for field_writer in field_writers(raw) if not field_writer.subresource]
    applied = [entry.at for entry in entries if entry.operation == "Apply" and entry.at is not None]
    if not applied:
        return None
    later = [
        entry for entry in entries if entry.operation == "Update" and entry.at is not None and entry.at >= max(applied)
    ]
    return max(later, key=lambda writer: writer.at or 0.0, default=None)


def created_by(raw: Mapping[str, Any]) -> str:
    """Return the manager that wrote the object's content first, "" if the entries have no time.

    A controller that only sets status, finalizers, labels or owners of another client's object did not create it. Lists
    have no fields: there, of those that wrote in the same second, one that writes no status did.
    """
    writers = field_writers(raw)
    controllers = {writer.manager for writer in writers if writer.subresource == "status"}
    entries = [writer for writer in writers if not writer.subresource and writer.at is not None]
    content = [entry for entry in entries if any(path[0] not in _NO_CONTENT for path in entry.fields)]
    first = min(content or entries, key=lambda writer: (writer.at or 0.0, writer.manager in controllers), default=None)
    return first.manager if first is not None else ""


def manager_name(manager: str) -> str:
    """Return a field manager for people: lifecycle-manager writes under names of finalizers and annotations."""
    return "lifecycle-manager" if manager in _LIFECYCLE_MANAGER else manager


def finalizer_owners(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the finalizers of an object with the field managers that set them, "" if unknown."""
    owners = dict.fromkeys(texts_at(raw, "metadata", "finalizers"), "")
    for entry in _entries(raw) if owners else ():
        owned = JsonReader(entry).child("fieldsV1").child("f:metadata").child("f:finalizers").raw
        for name in owners:
            if f'v:"{name}"' in owned:
                owners[name] = manager_name(str(entry.get("manager") or ""))
    return owners


def manual_finalizer_owners(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Return who set an object's finalizers where only people did, through kubectl: no controller removes these."""
    owners = set(finalizer_owners(raw).values())
    people = sorted(owner for owner in owners if owner.startswith("kubectl"))
    return tuple(people) if people and len(people) == len(owners) else ()


def _writer(entry: Mapping[str, Any]) -> FieldWriter:
    fields = entry.get("fieldsV1")
    return FieldWriter(
        str(entry.get("manager") or ""),
        str(entry.get("operation") or ""),
        str(entry.get("subresource") or ""),
        parse_time(str(entry.get("time") or "")),
        frozenset(_leaves(fields, ())) if isinstance(fields, Mapping) else frozenset(),
    )


def _leaves(fields: Mapping[str, Any], before: Path) -> Iterator[Path]:
    below = [(key, value) for key, value in fields.items() if key != "."]
    if not below and before:
        yield before
    for key, value in below:
        yield from _leaves(value if isinstance(value, Mapping) else {}, (*before, key))


def format_path(path: Path) -> str:
    """Format a path for people: `spec.template.spec.containers[manager].image`."""
    text = ""
    for step in path:
        form, _, rest = step.partition(":")
        text += f".{rest}" if form == "f" and "." not in rest else f"[{_label(form, rest)}]"
    return text.removeprefix(".")


def _label(form: str, rest: str) -> str:
    if form != "k":
        return rest
    keys = read_key(rest)
    return ",".join(str(value) for value in keys.values()) if isinstance(keys, Mapping) else rest


def owned_value(raw: object, path: Path) -> object:
    """Return the value at a path, None if absent."""
    for step in path:
        form, _, rest = step.partition(":")
        raw = _step(raw, form, rest)
        if raw is None:
            return None
    return raw


def _step(raw: object, form: str, rest: str) -> object:
    if form == "f":
        return raw.get(rest) if isinstance(raw, Mapping) else None
    if not isinstance(raw, list):
        return None
    key = read_key(rest)
    if form == "k" and isinstance(key, Mapping):
        return next((item for item in raw if isinstance(item, Mapping) and _has(item, key)), None)
    if form == "v":
        return key if key in raw else None
    return raw[key] if form == "i" and isinstance(key, int) and 0 <= key < len(raw) else None


def _has(item: Mapping[str, Any], keys: Mapping[str, Any]) -> bool:
    # the server's defaults are part of the path but may be absent in the item
    return all(item.get(key, value) == value for key, value in keys.items())


def read_key(text: str) -> object:
    """Return the value in a step of a path, None if it is not JSON."""
    try:
        document: object = read_json(text)
    except ValueError:
        return None
    return document
