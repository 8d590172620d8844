"""The field-by-field difference of two states of an object, without secret values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import LAST_APPLIED, read_kind
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, field_changes
from kymatui.engine.bundles.hidden_content import HIDDEN, HiddenContent

HIDDEN_CHANGED: Final = "(hidden, another value)"

_KEPT_BY_TOOLS: Final = frozenset({LAST_APPLIED, "deployment.kubernetes.io/revision"})
"""Annotations that tools and controllers use like a status."""
_VOLATILE: Final = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")


class FieldDiff(Struct, frozen=True):
    """One field; `before` and `after` are JSON values, None if absent."""

    path: str
    before: object
    after: object


def diff_objects(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[FieldDiff, ...]:
    """Return the differences of two states; values of Secrets are masked."""
    old, new = _comparable(before or {}), _comparable(after or {})
    secret = _is_secret(before or after or {})
    return tuple(_shown(change, secret) for change in _changes(old, new))


def hide_fields(changes: Iterable[FieldDiff], ref: ObjectRef, hidden: HiddenContent) -> tuple[FieldDiff, ...]:
    """Return the differences with the hidden values of an object, and the keys that may be values, masked."""
    diffs: dict[str, FieldDiff] = {}
    for change in changes:
        content = hidden.find(ref, change.path)
        if content is None:
            diffs[change.path] = change
            continue
        path = content.shown(change.path)
        before = content.value(change.path, change.before, HIDDEN)
        after = content.value(change.path, change.after, HIDDEN if before is None else HIDDEN_CHANGED)
        diffs.setdefault(path, FieldDiff(path, before, after))
    return tuple(diffs.values())


def state_digest(live: Mapping[str, Any]) -> str:
    """Return a digest of an object without status and server-set metadata."""
    text = json.dumps(_comparable(live), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[ValueChange]:
    for key in sorted(old.keys() | new.keys()):
        yield from field_changes(old.get(key), new.get(key), key)


def _comparable(body: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in body.items() if name not in ("status", "stringData")}
    metadata = {name: value for name, value in (body.get("metadata") or {}).items() if name not in _VOLATILE}
    annotations = metadata.get("annotations")
    if isinstance(annotations, Mapping) and not _KEPT_BY_TOOLS.isdisjoint(annotations):
        metadata["annotations"] = {name: value for name, value in annotations.items() if name not in _KEPT_BY_TOOLS}
        if not metadata["annotations"]:
            del metadata["annotations"]  # so that it equals an object without annotations
    return {**fields, "metadata": metadata}


def _is_secret(body: Mapping[str, Any]) -> bool:
    kind = read_kind(body)
    return (kind.group, kind.kind) == ("", "Secret")


def _shown(change: ValueChange, secret: bool) -> FieldDiff:
    before, after = change.before, change.after
    if secret and (change.path == "data" or change.path.startswith(("data.", "stringData"))):
        before = _masked(before, HIDDEN)
        after = _masked(after, HIDDEN if change.kind is ChangeKind.ADDED else HIDDEN_CHANGED)
    return FieldDiff(change.path, before, after)


def _masked(value: object, word: str) -> object:
    if isinstance(value, Mapping):
        return dict.fromkeys(value, word)
    return None if value is None else word
