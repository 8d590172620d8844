"""Validation of the schemas in a CRD.

Sources in k8s.io/apiextensions-apiserver: validation.ValidateCustomResourceDefinitionOpenAPISchema, then, without
errors, schema.ValidateStructural and defaulting.ValidateDefaults.
"""

from __future__ import annotations

from kymatui.schemas.customresources.crd_cel_rules import rule_problems
from kymatui.schemas.customresources.crd_schema_walk import said_of_itself, values_under
from kymatui.schemas.customresources.crd_structural_rules import default_problems, structure_problems
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, forbidden, invalid_value, required, unsupported

Errors = list[ApiFieldError]
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNKNOWN = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_AT_ROOT = frozenset(
    (
        "description",
        "type",
        "format",
        "title",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "required",
        "items",
        "properties",
        "externalDocs",
        "example",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    )
)
"""What may stand at the root where the status is a subresource."""


def validate_document(document: Object, at: str, *, has_status: bool) -> Errors:
    """Return the errors of an openAPIV3Schema."""
    errors = _status_root(document, at) if has_status else []
    if document.get("nullable"):
        errors.append(forbidden(f"{at}.nullable", "nullable cannot be true at the root"))
    errors += _node(document, at, root=True)
    if errors:
        return errors
    errors = sorted(structure_problems(document, at, "root"), key=str)
    return errors or default_problems(document, at, root=True)


def _status_root(document: Object, at: str) -> Errors:
    odd = next((name for name, value in document.items() if value and name not in _AT_ROOT), None)
    if odd is None:
        return []
    listed = " ".join(sorted(_AT_ROOT))
    text = f"only [{listed}] fields are allowed at the root of the schema if the status subresource is enabled"
    return [invalid_value(at, document, text)]


def _node(document: Object, at: str, *, root: bool = False, uncorrelated: str = "", meta: str = "") -> Errors:
    """Return the errors of a node.

    `uncorrelated` is the node below which old values cannot be matched, `meta` the reason why defaults are forbidden.
    """
    errors = _own(document, at, meta)
    if document.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(forbidden(f"{at}.uniqueItems", text))
    additional = document.get("additionalProperties")
    if additional is not None:
        if root:
            errors.append(forbidden(f"{at}.additionalProperties", "must not be used at the root"))
        if document.get("properties") and additional is not True:
            text = "additionalProperties and properties are mutual exclusive"
            errors.append(forbidden(f"{at}.additionalProperties", text))
    for below, location in values_under(document, at):
        lost = uncorrelated
        if location.endswith(".items") and document.get("x-kubernetes-list-type") != "map":
            lost = lost or at
        inside = meta or ("in top-level metadata" if root and location.endswith(".properties[metadata]") else "")
        errors += _node(below, location, uncorrelated=lost, meta=inside)
    for below, location in said_of_itself(document, at):
        errors += _node(below, location, uncorrelated=uncorrelated)
    errors += _extensions(document, at)
    for index, rule in enumerate(document.get("x-kubernetes-validations") or ()):
        errors += rule_problems(rule, document, f"{at}.x-kubernetes-validations[{index}]", uncorrelated)
    return errors


def _own(document: Object, at: str, meta: str) -> Errors:
    kind = document.get("type")
    errors: Errors = []
    if kind is not None and kind not in _TYPES:
        errors.append(unsupported(f"{at}.type", kind, _TYPES))
    if meta and document.get("default") is not None:
        errors.append(forbidden(f"{at}.default", f"must not be set {meta}"))
    errors += [forbidden(f"{at}.{name}", f"{name} is not supported") for name in _UNKNOWN if document.get(name)]
    if kind == "null":
        errors.append(forbidden(f"{at}.type", "type cannot be set to null, use nullable as an alternative"))
    if isinstance(document.get("items"), list):
        errors.append(forbidden(f"{at}.items", "items must be a schema object and not an array"))
    return errors


def _typed_for(document: Object, at: str, extension: str, kind: str) -> Errors:
    value_type, text = document.get("type"), f"must be {kind} if {extension} is specified"
    if value_type == kind:
        return []
    return [invalid_value(f"{at}.type", value_type, text)] if value_type else [required(f"{at}.type", text)]


def _extensions(document: Object, at: str) -> Errors:
    errors: Errors = []
    if document.get("x-kubernetes-preserve-unknown-fields") is False:
        errors.append(invalid_value(f"{at}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"))
    map_type, list_type = document.get("x-kubernetes-map-type"), document.get("x-kubernetes-list-type")
    if map_type is not None:
        errors += _typed_for(document, at, "x-kubernetes-map-type", "object")
        if map_type not in ("atomic", "granular"):
            errors.append(unsupported(f"{at}.x-kubernetes-map-type", map_type, ("atomic", "granular")))
    if list_type is not None:
        odd = _typed_for(document, at, "x-kubernetes-list-type", "array")
        errors += odd
        if not odd and list_type not in ("atomic", "set", "map"):
            errors.append(unsupported(f"{at}.x-kubernetes-list-type", list_type, ("atomic", "set", "map")))
    keys: list[str] = document.get("x-kubernetes-list-map-keys") or []
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        location = f"{at}.x-kubernetes-list-type"
        errors.append(required(location, text) if list_type is None else invalid_value(location, list_type, text))
    if list_type == "map":
        errors += _list_map(document, keys, at)
    items = document.get("items")
    if list_type in ("map", "set") and isinstance(items, dict):
        errors += _keyed_items(items, keys, list_type, at)
    return errors


def _list_map(document: Object, keys: list[str], at: str) -> Errors:
    errors: Errors = []
    items, location = document.get("items"), f"{at}.x-kubernetes-list-map-keys"
    if not keys:
        errors.append(required(location, "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        errors.append(required(f"{at}.items", "must have a schema if x-kubernetes-list-type is map"))
    if not isinstance(items, dict):
        return errors
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        return [*errors, invalid_value(f"{at}.items.type", items.get("type") or "", text)]
    properties: Object = items.get("properties") or {}
    unique_keys: set[str] = set()
    for key in keys:
        known = properties.get(key)
        if known is None:
            errors.append(invalid_value(location, keys, "entries must all be names of item properties"))
        elif known.get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(invalid_value(f"{at}.items.properties[{key}].type", items["type"], text))
        if key in unique_keys:
            errors.append(invalid_value(location, keys, "must not contain duplicate entries"))
        unique_keys.add(key)
    return errors


def _keyed_items(items: Object, keys: list[str], list_type: str, at: str) -> Errors:
    errors: Errors = []
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errors.append(forbidden(f"{at}.items.nullable", text))
    if list_type == "set":
        if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
            text = "must be atomic as item of a list with x-kubernetes-list-type=set"
            errors.append(invalid_value(f"{at}.items.x-kubernetes-map-type", items.get("x-kubernetes-map-type"), text))
        return errors
    properties: Object = items.get("properties") or {}
    for key in keys:
        known = properties.get(key)
        if known is None:
            continue
        location = f"{at}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and known.get("default") is None:
            text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            errors.append(required(f"{location}.default", text))
        if known.get("nullable"):
            text = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            errors.append(forbidden(f"{location}.nullable", text))
    return errors
