"""Pruning and defaulting of custom resources (apiextensions' structural schemas)."""

from __future__ import annotations

from typing import Any

from kymatui.schemas.objects.structural_schemas import object_meta
from kymatui.schemas.objects.typed_decoding import DecodeError, decode
from kymatui.schemas.types.schema_node import Object, Schema
from kymatui.schemas.values.field_errors import go_value
from kymatui.schemas.values.field_sets import copy_json


def read_custom(schema: Schema, obj: Object) -> tuple[Object, list[str]]:
    """Return the object pruned and defaulted, and the paths of dropped unknown fields in order.

    Raise `DecodeError` for wrong types in metadata (also of an embedded object). `obj` is changed.
    """
    unknown: list[str] = []
    _coerce(obj, "", unknown)
    prune(schema, obj, "", unknown)
    drop_nulls(schema, obj)
    apply_defaults(schema, obj)
    return obj, sorted(unknown)


def _coerce(obj: Object, where: str, unknown: list[str]) -> None:
    """Decode the metadata with the typed decoder."""
    if "metadata" not in obj:
        return
    raw_metadata = obj["metadata"]
    if raw_metadata is None:
        obj["metadata"] = {}
        return
    try:
        if not isinstance(raw_metadata, dict):
            raise DecodeError("json: cannot unmarshal into Go value of type v1.ObjectMeta")
        metadata, problems = decode(object_meta(), raw_metadata)
    except DecodeError as error:
        if not where:
            raise
        raise DecodeError(f"{where}.metadata: Invalid value: {go_value(raw_metadata)}: {error}") from None
    obj["metadata"] = metadata
    prefix = f"{where}.metadata." if where else "metadata."
    unknown += [prefix + problem.partition('"')[2].rstrip('"') for problem in problems]


def prune(schema: Schema, value: Any, where: str, unknown: list[str]) -> None:
    """Drop the fields that the schema lacks, and collect their paths."""
    if isinstance(value, list):
        if schema.items is not None:
            for index, item in enumerate(value):
                prune(schema.items, item, f"{where}[{index}]", unknown)
        return
    if not isinstance(value, dict):
        return
    if schema.embedded and where:
        _coerce(value, where, unknown)
    prefix = f"{where}." if where else ""
    for name in list(value):
        if name == "metadata" and (not where or schema.embedded):
            continue
        known = schema.properties.get(name) or schema.additional
        if known is not None:
            if isinstance(value[name], (dict, list)):
                prune(known, value[name], prefix + name, unknown)
        elif not schema.preserve:
            unknown.append(prefix + name)
            del value[name]


def drop_nulls(schema: Schema, value: Any) -> None:
    """Drop nulls of fields that are not nullable."""
    if isinstance(value, list):
        if schema.items is not None:
            for item in value:
                drop_nulls(schema.items, item)
        return
    if not isinstance(value, dict):
        return
    for name in list(value):
        known = schema.properties.get(name) or schema.additional
        if known is None:
            continue
        item = value[name]
        if item is None:
            if not known.nullable:
                del value[name]
        elif isinstance(item, (dict, list)):
            drop_nulls(known, item)


def _has_defaults(schema: Schema) -> bool:
    """Return whether there is a default at or below the node."""
    known: bool | None = schema.compiled.get("defaults")
    if known is None:
        schema.compiled["defaults"] = False  # a recursive schema adds no other defaults on that path
        below = [*schema.properties.values(), schema.additional, schema.items]
        known = schema.has_default or any(_has_defaults(node) for node in below if node is not None)
        schema.compiled["defaults"] = known
    return known


def apply_defaults(schema: Schema, value: Any) -> None:
    """Set missing defaults at every depth."""
    if not _has_defaults(schema):
        return
    if isinstance(value, list):
        if schema.items is not None:
            for item in value:
                apply_defaults(schema.items, item)
        return
    if not isinstance(value, dict):
        return
    for name, below in schema.properties.items():
        if name == "metadata" and below is object_meta():
            continue
        if below.has_default and (name not in value or (value[name] is None and not below.nullable)):
            value[name] = copy_json(below.default)
        if isinstance(value.get(name), (dict, list)):
            apply_defaults(below, value[name])
    if schema.additional is not None:
        for name, item in value.items():
            if name not in schema.properties:
                apply_defaults(schema.additional, item)
