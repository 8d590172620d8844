"""Which fields of an object who wrote last, out of `metadata.managedFields`.

The server keeps, for every field, the names of those who set it to the value that it has. Who changes a value takes
the field away from whoever had it, and a field that was removed has no owner at all: what stood there before is not
kept anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kymatui.domain.kubernetes.object_meta import parse_time

CATALOG_SYNC = "catalog-sync"
"""The field manager of the copies that lifecycle-manager writes to a runtime."""

Path = tuple[str, ...]
"""Steps as managedFields has them: "f:spec", `k:{"name":"a"}`, `v:"x"`, "i:0"."""


@dataclass(frozen=True, slots=True)
class FieldWriter:
    """One entry: who wrote, how ("Apply" or "Update"), when (seconds of the Unix clock), and which leaves."""

    manager: str
    operation: str
    subresource: str
    at: float | None
    fields: frozenset[Path]


def field_writers(raw: Mapping[str, Any]) -> tuple[FieldWriter, ...]:
    """Every entry of an object that can be read; none where it has no managedFields."""
    metadata = raw.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    listed = entries if isinstance(entries, list) else ()
    return tuple(_writer(entry) for entry in listed if isinstance(entry, Mapping))


def find_manual_changes(raw: Mapping[str, Any]) -> FieldWriter | None:
    """Who wrote the object itself after whoever applied it, and is no controller that writes its status or scale.

    None where nobody did, and where nobody applied it: then nobody knows what it was to be.
    """
    entries = [one for one in field_writers(raw) if not one.subresource]
    applied = [one.at for one in entries if one.operation == "Apply" and one.at is not None]
    if not applied:
        return None
    later = [one for one in entries if one.operation == "Update" and one.at is not None and one.at >= max(applied)]
    return max(later, key=lambda one: one.at or 0.0, default=None)


def created_by(raw: Mapping[str, Any]) -> str:
    """Return the manager that wrote the object first, "" where it does not say when each wrote."""
    entries = [one for one in field_writers(raw) if not one.subresource and one.at is not None]
    return min(entries, key=lambda one: one.at or 0.0).manager if entries else ""


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
    """A path for people: `spec.template.spec.containers[manager].image`."""
    text = ""
    for step in path:
        form, _, rest = step.partition(":")
        text += f".{rest}" if form == "f" and "." not in rest else f"[{_label(form, rest)}]"
    return text.removeprefix(".")


def _label(form: str, rest: str) -> str:
    if form != "k":
        return rest
    keys = _loaded(rest)
    return ",".join(str(value) for value in keys.values()) if isinstance(keys, Mapping) else rest


def value_at(raw: object, path: Path) -> object:
    """What stands at a path; None where there is nothing."""
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
    wanted = _loaded(rest)
    if form == "k" and isinstance(wanted, Mapping):
        return next((item for item in raw if isinstance(item, Mapping) and _has(item, wanted)), None)
    if form == "v":
        return wanted if wanted in raw else None
    return raw[wanted] if form == "i" and isinstance(wanted, int) and 0 <= wanted < len(raw) else None


def _has(item: Mapping[str, Any], keys: Mapping[str, Any]) -> bool:
    # a key that was defaulted is in the path and may be missing in the item
    return all(item.get(key, value) == value for key, value in keys.items())


def _loaded(text: str) -> object:
    try:
        found: object = json.loads(text)
    except ValueError:
        return None
    return found
