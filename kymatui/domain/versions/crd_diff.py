"""What differs between two versions of a CRD: served and stored versions, fields added and removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import mapping_at, objects_at, texts_at
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, field_changes

DEEPEST: Final = 40
"""Levels of a schema that are compared; the fields below are compared as one value."""
EVERY: Final = "[]"
"""The step into the items of a list, or into the values of a map."""
_INNER: Final = frozenset({"properties", "items", "additionalProperties", "required", "description"})

Path = tuple[str, ...]
Json = Mapping[str, Any]


class CrdLosses(Struct, frozen=True):
    """What a CRD no longer has: itself, versions, versions that are served, and fields by version.

    `versions` are gone, `unserved` are still there. A field's path starts at the object.
    """

    name: str
    group: str
    kind: str
    is_gone: bool = False
    versions: tuple[str, ...] = ()
    unserved: tuple[str, ...] = ()
    fields: tuple[tuple[str, Path], ...] = ()

    def __bool__(self) -> bool:
        return self.is_gone or bool(self.versions or self.unserved or self.fields)


def crd_losses(before: Json, after: Json | None) -> CrdLosses:
    """Return what the second version of a CRD no longer has; None means that it has no such CRD."""
    spec = mapping_at(before, "spec")
    name = str(mapping_at(before, "metadata").get("name") or "")
    about = name, str(spec.get("group") or ""), str(mapping_at(spec, "names").get("kind") or "")
    if after is None:
        return CrdLosses(*about, is_gone=True)
    old, new = _versions(before), _versions(after)
    fields = [
        (version, schema_change.path)
        for version in old
        if version in new
        for schema_change in _schema_changes(_schema(old[version]), _schema(new[version]))
        if schema_change.kind is ChangeKind.REMOVED and not schema_change.keyword
    ]
    return CrdLosses(
        *about,
        versions=tuple(version for version in old if version not in new),
        unserved=tuple(
            version
            for version in old
            if version in new and old[version].get("served") and not new[version].get("served")
        ),
        fields=tuple(fields),
    )


def crd_changes(key: str, before: Json | None, after: Json | None) -> Iterator[ValueChange]:
    """Yield the differences of a CRD; texts that only explain fields are counted, not listed."""
    if before is None or after is None:
        yield from field_changes(before, after, key)
        return
    yield from field_changes(_without_versions(before), _without_versions(after), key)
    old, new = _versions(before), _versions(after)
    for version in dict.fromkeys((*old, *new)):
        path = f"{key} {version}"
        if version not in new:
            yield ValueChange(ChangeKind.REMOVED, path, _served(old[version]), None)
        elif version not in old:
            yield ValueChange(ChangeKind.ADDED, path, None, _served(new[version]))
        else:
            yield from field_changes(_without_schema(old[version]), _without_schema(new[version]), path)
            yield from _field_lines(path, _schema(old[version]), _schema(new[version]))


def _field_lines(path: str, before: Json, after: Json) -> Iterator[ValueChange]:
    described = 0
    for schema_change in _schema_changes(before, after):
        if schema_change.keyword == "description":
            described += 1
            continue
        field_path = ".".join(schema_change.path).replace(f".{EVERY}", EVERY)
        yield ValueChange(
            schema_change.kind,
            " ".join(filter(None, (path, field_path, schema_change.keyword))),
            schema_change.before,
            schema_change.after,
        )
    if described:
        yield ValueChange(ChangeKind.CHANGED, f"{path} descriptions of fields", None, described)


class _SchemaChange(Struct, frozen=True):
    """The change of a field, or of a keyword of its schema; `keyword` is "" if the field itself came or went."""

    kind: ChangeKind
    path: Path
    keyword: str
    before: object = None
    after: object = None


def _schema_changes(before: Json, after: Json, path: Path = ()) -> Iterator[_SchemaChange]:
    if before == after:
        return
    if len(path) >= DEEPEST:  # each level recurses; deeper changes are reported as one
        yield _SchemaChange(ChangeKind.CHANGED, path, "schema")
        return
    for field_change in field_changes(_keywords(before), _keywords(after)):
        yield _SchemaChange(field_change.kind, path, field_change.path, field_change.before, field_change.after)
    if before.get("description") != after.get("description"):
        yield _SchemaChange(ChangeKind.CHANGED, path, "description")
    old, new = mapping_at(before, "properties"), mapping_at(after, "properties")
    needed, now_needed = texts_at(before, "required"), texts_at(after, "required")
    for name in dict.fromkeys((*old, *new)):
        child_path = (*path, str(name))
        if name not in new:
            yield _SchemaChange(ChangeKind.REMOVED, child_path, "", _type(old[name]), None)
            continue
        if name not in old:
            needs = ", required" if name in now_needed else ""
            yield _SchemaChange(ChangeKind.ADDED, child_path, "", None, _type(new[name]) + needs)
            continue
        if (name in needed) != (name in now_needed):
            yield _SchemaChange(ChangeKind.CHANGED, child_path, "required", name in needed, name in now_needed)
        yield from _schema_changes(mapping_at(old[name]), mapping_at(new[name]), child_path)
    for keyword in ("items", "additionalProperties"):
        if isinstance(before.get(keyword), Mapping) and isinstance(after.get(keyword), Mapping):
            yield from _schema_changes(before[keyword], after[keyword], (*path, EVERY))
        elif before.get(keyword) != after.get(keyword):
            shapes = (_shape(before.get(keyword)), _shape(after.get(keyword)))
            yield _SchemaChange(ChangeKind.CHANGED, path, keyword, *shapes)


def _keywords(schema: Json) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in _INNER}


def _type(schema: object) -> str:
    fields = mapping_at(schema)
    if isinstance(fields.get("type"), str):
        return str(fields["type"])
    return "int or string" if fields.get("x-kubernetes-int-or-string") else "any" if fields else "absent"


def _shape(value: object) -> object:
    return _type(value) if isinstance(value, Mapping) else value


def _versions(crd: Json) -> dict[str, Json]:
    versions = objects_at(crd, "spec", "versions")
    return {str(version["name"]): version for version in versions if isinstance(version.get("name"), str)}


def _schema(version: Json) -> Json:
    return mapping_at(version, "schema", "openAPIV3Schema")


def _served(version: Json) -> dict[str, bool]:
    return {"served": version.get("served") is True, "storage": version.get("storage") is True}


def _without_schema(version: Json) -> dict[str, Any]:
    return {key: value for key, value in version.items() if key not in ("name", "schema")}


def _without_versions(crd: Json) -> dict[str, Any]:
    spec = {key: value for key, value in mapping_at(crd, "spec").items() if key != "versions"}
    return {**crd, "spec": spec}
