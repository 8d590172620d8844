"""The comparison of two versions of a module by their templates, and of JSON values field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kyma.field_defaults import FieldSchema, is_default
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.versions import Distance, parse_version, version_distance

LONGEST_VALUE: Final = 120
"""Characters of a value in a line for people."""
_SKIPPED = frozenset({"descriptor", "version", "channel", "moduleName"})


class ChangeKind(StrEnum):
    """The kinds of changes."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class ValueChange(Struct, frozen=True):
    """The change of a field; `before` and `after` are JSON values, None if absent."""

    kind: ChangeKind
    path: str
    before: object = None
    after: object = None

    @property
    def values(self) -> str:
        """Return `old → new`, the one value of what came or went, or "" for a whole object."""
        if self.kind is ChangeKind.CHANGED:
            return f"{_value_text(self.before)} → {_value_text(self.after)}"
        value = self.after if self.kind is ChangeKind.ADDED else self.before
        return "" if isinstance(value, dict) and "kind" in value else _value_text(value)

    @property
    def line(self) -> str:
        """Return path and values; of whole objects the path alone."""
        values = self.values
        return f"{self.path}: {values}" if values else self.path


def _value_text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


class VersionComparison(Struct, frozen=True):
    """The comparison of two templates."""

    before: str
    after: str
    distance: Distance | None
    downgrade: bool
    template: tuple[ValueChange, ...]


def compare_versions(before: ModuleTemplate, after: ModuleTemplate) -> VersionComparison:
    """Compare two templates of a module."""
    here, after_version = parse_version(before.version), parse_version(after.version)
    return VersionComparison(
        before=before.version,
        after=after.version,
        distance=version_distance(before.version, after.version),
        downgrade=here is not None and after_version is not None and after_version < here,
        template=tuple(_template_changes(before, after)),
    )


def _template_changes(before: ModuleTemplate, after: ModuleTemplate) -> Iterator[ValueChange]:
    for field in ("labels", "annotations"):
        old, new = (mapping_at(template.raw, "metadata", field) for template in (before, after))
        yield from field_changes(old, new, field)
    old, new = (mapping_at(template.raw, "spec") for template in (before, after))
    before_spec, after_spec = ({k: v for k, v in spec.items() if k not in _SKIPPED} for spec in (old, new))
    for change in spec_changes(before_spec, after_spec):
        yield replace(change, path=change.path.removeprefix("spec."))


def field_changes(before: object, after: object, path: str = "") -> Iterator[ValueChange]:
    """Yield the differences of two JSON values; lists of named items are compared by name."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys(), key=str):
            yield from field_changes(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path)
    elif before == after and isinstance(before, bool) == isinstance(after, bool):
        return
    elif before is None:
        yield ValueChange(ChangeKind.ADDED, path, None, after)
    elif after is None:
        yield ValueChange(ChangeKind.REMOVED, path, before, None)
    else:
        yield ValueChange(ChangeKind.CHANGED, path, before, after)


def spec_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], schema: FieldSchema | None = None
) -> Iterator[ValueChange]:
    """Yield the differences of two specs; a default that only one of them has is no difference."""
    for change in field_changes(before, after, "spec"):
        value = change.after if change.kind is ChangeKind.ADDED else change.before
        if change.kind is ChangeKind.CHANGED or not is_default(change.path, value, schema):
            yield change


def _list_changes(before: list[Any], after: list[Any], path: str) -> Iterator[ValueChange]:
    old, new = _keyed(before), _keyed(after)
    if old is None or new is None:
        old, new = dict(enumerate(before)), dict(enumerate(after))
    for key in dict.fromkeys((*old, *new)):
        yield from field_changes(old.get(key), new.get(key), f"{path}[{key}]")


def _keyed(entries: list[Any]) -> dict[object, Any] | None:
    """Return the entries by name or kind if each is unique, else None."""
    keys = [_key(entry) for entry in entries]
    if None in keys or len(set(keys)) != len(keys):
        return None
    return dict(zip(keys, entries, strict=True))


def _key(entry: object) -> str | None:
    if not isinstance(entry, Mapping):
        return None
    if isinstance(entry.get("name"), str):
        return str(entry["name"])
    if isinstance(entry.get("kind"), str):
        return ".".join(str(entry[part]) for part in ("kind", "version", "group") if entry.get(part))
    return None
