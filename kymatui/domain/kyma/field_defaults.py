"""Fields of lifecycle-manager's objects that mean the same whether present or absent.

Go types drop zero values (omitempty) or write them, and the API server adds the CRD's defaults: the same object has
`mandatory: false` in one cluster and no such field in another. Where the CRD can be read, its schema tells the
defaults; without it, every default counts as the zero value of its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader, mapping_at
from kymatui.patterns import deferred

_EXACT: Final = frozenset({"spec.data", "spec.descriptor", "spec.kymaSelector.matchLabels"})
"""Free-form values and maps with the user's keys: {} and "" in them differ from absence."""
_POINTERS: Final = frozenset({"spec.kymaSelector"})
"""Structs whose {} differs from absence: an empty selector matches every Kyma, an absent one none."""
_ITEM: Final = deferred(r"\[[^\]]*\]\Z")


_STEP: Final = deferred(r"\[[^\]]*\]|[^.\[\]]+")
_FREE: Final[Mapping[str, Any]] = {"x-kubernetes-preserve-unknown-fields": True}


class FieldSchema(Struct, frozen=True):
    """The OpenAPI schema of one version of a CRD."""

    root: Mapping[str, Any]

    def field(self, path: str) -> Mapping[str, Any] | None:
        """Return the schema of a field such as `spec.channels[fast].version`, None for a field that it lacks."""
        node = self.root
        for step in _STEP.findall(path):
            if _is_free(node):
                return _FREE
            below = node.get("items") if step.startswith("[") else _properties(node).get(step)
            if not isinstance(below, Mapping):
                return None
            node = below
        return node


def read_field_schema(definition: Mapping[str, Any], version: str) -> FieldSchema | None:
    """Return the schema of a version of a CRD, None if the CRD has none."""
    for entry in JsonReader(definition).child("spec").children("versions"):
        if entry.text("name") == version:
            root = entry.child("schema").child("openAPIV3Schema").raw
            return FieldSchema(root) if root else None
    return None


def is_default(path: str, value: object, schema: FieldSchema | None = None) -> bool:
    """Return whether a field of an object means the same as its absence; a list item is never absent."""
    if _ITEM.search(path):
        return False
    known = schema.field(path) if schema is not None else None
    return not _says_something(path, value) if known is None else _is_absence(known, value)


def _is_free(field: Mapping[str, Any]) -> bool:
    """Return whether the user chooses the content: {} and "" in it differ from absence."""
    return bool(field.get("x-kubernetes-preserve-unknown-fields")) or "additionalProperties" in field


def _is_absence(field: Mapping[str, Any], value: object) -> bool:
    if value is None:
        return True
    if "default" in field:
        return bool(field["default"] == value and isinstance(field["default"], bool) == isinstance(value, bool))
    properties = _properties(field)
    if _is_free(field) or "matchLabels" in properties:  # an empty label selector matches everything
        return False
    if isinstance(value, Mapping):
        return all(_is_absence(mapping_at(properties, name), part) for name, part in value.items())
    return not value


def _properties(field: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping_at(field, "properties")


def _says_something(path: str, value: object) -> bool:
    if path in _POINTERS or any(path == exact or path.startswith(f"{exact}.") for exact in _EXACT):
        return value is not None
    if isinstance(value, Mapping):
        return any(_says_something(f"{path}.{name}", field) for name, field in value.items())
    return bool(value)
