"""Conversion of openAPIV3Schemas to schema nodes."""

from __future__ import annotations

import functools
from typing import Any, Literal

from kymatui.schemas.types.builtin_schemas import builtin_schema
from kymatui.schemas.types.schema_node import Object, Schema, ValidationRule

_PLAIN = (
    "format",
    "pattern",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "multipleOf",
    "uniqueItems",
)
_JUNCTORS = ("allOf", "anyOf", "oneOf")


@functools.cache
def object_meta() -> Schema:
    """Return the schema of metadata, also for custom resources."""
    return builtin_schema(("", "v1", "ConfigMap")).properties["metadata"]


def crd_schema(document: Object | None) -> Schema:
    """Return the schema of one version of a CRD; `document` is its openAPIV3Schema (None: any value).

    The root gets the `apiVersion`, `kind` and `metadata` of every object. The document must be valid; `crd_rules`
    reports its errors.
    """
    root = _node(document or {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    root.type = "object"
    _embed(root)
    return root


def value_schema(document: Object) -> Schema:
    """Return the schema of a value below the root."""
    return _node(document)


def _embed(schema: Schema) -> None:
    for name in ("apiVersion", "kind"):
        schema.properties.setdefault(name, Schema(type="string"))
    schema.properties["metadata"] = object_meta()


def _node(document: Object) -> Schema:
    items = document.get("items")
    additional = document.get("additionalProperties")
    keys = tuple(document.get("x-kubernetes-list-map-keys") or ())
    list_type: Literal["", "atomic", "set", "map"] = document.get("x-kubernetes-list-type") or ""
    preserve = bool(document.get("x-kubernetes-preserve-unknown-fields"))
    schema = Schema(
        type=document.get("type") or "",
        properties={name: _node(below) for name, below in (document.get("properties") or {}).items()},
        additional=_additional(additional),
        items=_node(items) if isinstance(items, dict) else None,
        required=tuple(document.get("required") or ()),
        list_type=list_type,
        map_keys=keys,
        atomic=document.get("x-kubernetes-map-type") == "atomic",
        preserve=preserve,
        embedded=bool(document.get("x-kubernetes-embedded-resource")),
        nullable=bool(document.get("nullable")),
        int_or_string=bool(document.get("x-kubernetes-int-or-string")),
        has_default="default" in document,
        default=document.get("default"),
        description=document.get("description") or "",
        rules=tuple(_rule(rule) for rule in document.get("x-kubernetes-validations") or ()),
        constraints=_constraints(document),
        format=document.get("format") or "",
        zero="keep",
    )
    if schema.embedded:
        _embed(schema)
    return schema


def _additional(value: Any) -> Schema | None:
    if isinstance(value, dict):
        return _node(value)
    return Schema(preserve=True, zero="keep") if value is True else None


def _rule(rule: Object) -> ValidationRule:
    return ValidationRule(
        rule["rule"],
        rule.get("message") or "",
        rule.get("messageExpression") or "",
        rule.get("reason") or "",
        rule.get("fieldPath") or "",
        bool(rule.get("optionalOldSelf")),
    )


def _constraints(document: Object) -> Object:
    constraints: Object = {name: document[name] for name in _PLAIN if document.get(name) is not None}
    for name in _JUNCTORS:
        if document.get(name):
            constraints[name] = [_node(below) for below in document[name]]
    if document.get("not"):
        constraints["not"] = _node(document["not"])
    return constraints
