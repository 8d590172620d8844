"""Field sets after a schema change: the owner of a part of a now atomic value owns all of it."""

from __future__ import annotations

from kymatui.schemas.types.schema_node import Schema
from kymatui.schemas.values.field_sets import FieldPath, FieldSet


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
