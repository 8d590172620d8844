"""Validation of the schemas in a CRD.

Sources in k8s.io/apiextensions-apiserver: validation.ValidateCustomResourceDefinitionOpenAPISchema, then, without
errors, schema.ValidateStructural and defaulting.ValidateDefaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kymatui.schemas.cel.validation_rules import expression_problem
from kymatui.schemas.objects.pruning import prune
from kymatui.schemas.objects.schema_constraints import pattern, validate_schema
from kymatui.schemas.objects.structural_schemas import value_schema
from kymatui.schemas.types.schema_node import Object, Schema
from kymatui.schemas.values.field_errors import ApiFieldError, forbidden, invalid_value, required, unsupported
from kymatui.schemas.values.field_sets import copy_json

# Structural schema validation (schema.ValidateStructural) and validation of defaults.
#
# Source: k8s.io/apiextensions-apiserver, pkg/apiserver/schema and its package defaulting.


_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "items": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def structure_problems(document: Object, at: str, level: str) -> Iterator[ApiFieldError]:
    """Yield the structural errors of a node; `level` is "root", "items" or "field"."""
    for below, location in values_under(document, at):
        yield from structure_problems(below, location, "items" if location.endswith(".items") else "field")
    embedded = bool(document.get("x-kubernetes-embedded-resource"))
    preserve = bool(document.get("x-kubernetes-preserve-unknown-fields"))
    either = bool(document.get("x-kubernetes-int-or-string"))
    if either:
        for name in ("preserve-unknown-fields", "embedded-resource"):
            if document.get(f"x-kubernetes-{name}"):
                yield invalid_value(
                    f"{at}.x-kubernetes-{name}", True, "must be false if x-kubernetes-int-or-string is true"
                )
    kind = document.get("type")
    if embedded and kind != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid_value(f"{at}.type", kind, text) if kind else required(f"{at}.type", text)
    elif not kind and not either and not preserve:
        yield required(f"{at}.type", _EMPTY_TYPE[level])
    if level == "root" and kind and kind != "object":
        yield invalid_value(f"{at}.type", kind, "must be object at the root")
    if kind == "array" and document.get("items") is None:
        yield required(f"{at}.items", "must be specified")
    if embedded and document.get("additionalProperties") is not None:
        yield forbidden(f"{at}.additionalProperties", "must not be used if x-kubernetes-embedded-resource is set")
    if embedded and not preserve and not document.get("properties"):
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        yield required(f"{at}.properties", text)
    if level == "root" or embedded:
        yield from _resource_fields(document.get("properties") or {}, at, level)
    yield from _pattern(document, at)
    for below, location in said_of_itself(document, at):
        if not _is_choice_of_types(document, location.removeprefix(at)):
            yield from _value_rules(below, document, location, at, either=either)


def _resource_fields(properties: Object, at: str, level: str) -> Iterator[ApiFieldError]:
    for name in ("apiVersion", "kind"):
        property_schema = properties.get(name)
        if property_schema is not None and property_schema.get("type") != "string":
            yield invalid_value(f"{at}.properties[{name}].type", property_schema.get("type") or "", "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    location = f"{at}.properties[metadata]"
    if metadata.get("type") != "object":
        yield invalid_value(f"{location}.type", metadata.get("type") or "", "must be object")
    if level == "root":
        rest = {name: value for name, value in metadata.items() if name not in ("type", "default", "properties")}
        if rest or set(metadata.get("properties") or ()) - {"name", "generateName"}:
            text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(location, text)


def _is_choice_of_types(document: Object, location: str) -> bool:
    """Return whether this is the one allowed way to repeat the types of an int-or-string."""
    choice = [{"type": "integer"}, {"type": "string"}]
    if location.startswith(".anyOf"):
        return bool(document["anyOf"] == choice)
    return location == ".allOf[0]" and document["allOf"][0] == {"anyOf": choice}


_EMPTY_IN_QUANTIFIERS = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    "x-kubernetes-preserve-unknown-fields": "false",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}


def _value_rules(document: Object, described: Object, at: str, root: str, *, either: bool) -> Iterator[ApiFieldError]:
    """Yield errors below allOf, anyOf, oneOf and not, which must not define structure."""
    for name, how in _EMPTY_IN_QUANTIFIERS.items():
        value = document.get(name)
        if value or (value is not None and name in ("default", "additionalProperties")):
            yield forbidden(f"{at}.{name}", f"must be {how} to be structural")
    yield from _pattern(document, at)
    if "metadata" in (document.get("properties") or {}) and root.endswith("openAPIV3Schema"):
        yield forbidden(f"{at}.properties[metadata]", "must not be specified in a nested context")
    for name, below in (document.get("properties") or {}).items():
        known = (described.get("properties") or {}).get(name)
        if known is None and isinstance(described.get("additionalProperties"), dict):
            known = described["additionalProperties"]
        if known is None and not described.get("x-kubernetes-preserve-unknown-fields") and ".not" not in at:
            yield required(f"{root}.properties[{name}]", f"because it is defined in {at}.properties[{name}]")
        yield from _value_rules(
            below, known or {}, f"{at}.properties[{name}]", f"{root}.properties[{name}]", either=either
        )
    items = document.get("items")
    if isinstance(items, dict):
        yield from _value_rules(items, described.get("items") or {}, f"{at}.items", f"{root}.items", either=either)
    for below, location in said_of_itself(document, at):
        yield from _value_rules(below, described, location, root, either=either)


def _pattern(document: Object, at: str) -> Iterator[ApiFieldError]:
    text = document.get("pattern")
    if not text:
        return
    try:
        pattern(text)
    except ValueError as error:
        yield invalid_value(f"{at}.pattern", text, f"must be a valid regular expression, but isn't: {error}")


def default_problems(document: Object, at: str, *, root: bool = False) -> Errors:
    """Return the errors of invalid defaults."""
    errors: Errors = []
    if document.get("default") is not None:
        errors += _default(document, value_schema(document), f"{at}.default", root=root)
    items = document.get("items")
    for name, below in (document.get("properties") or {}).items():
        if not (root and name == "metadata"):
            errors += default_problems(below, f"{at}.properties[{name}]")
    if isinstance(items, dict):
        errors += default_problems(items, f"{at}.items")
    return errors


def _default(document: Object, schema: Schema, at: str, *, root: bool) -> Errors:
    default = document["default"]
    pruned = copy_json(default)
    prune(schema, pruned, "", [])
    if pruned != default:
        return [invalid_value(at, default, "must not have unknown fields")]
    errors = validate_schema(schema, default, at)
    if root:
        errors += [required(f"{at}.{name}") for name in ("apiVersion", "kind") if not default.get(name)]
    return errors


# Iterators over the subschemas of a CRD's schema and their paths.


JUNCTORS = ("allOf", "anyOf", "oneOf")


def values_under(document: Object, at: str) -> Iterator[tuple[Object, str]]:
    """Yield the schemas of the values below a node."""
    items, additional = document.get("items"), document.get("additionalProperties")
    if isinstance(additional, dict):
        yield additional, f"{at}.additionalProperties"
    for name, below in (document.get("properties") or {}).items():
        yield below, f"{at}.properties[{name}]"
    if isinstance(items, dict):
        yield items, f"{at}.items"


def said_of_itself(document: Object, at: str) -> Iterator[tuple[Object, str]]:
    """Yield the schemas that constrain the node itself (allOf, anyOf, oneOf, not)."""
    for junctor in JUNCTORS:
        for index, below in enumerate(document.get(junctor) or ()):
            yield below, f"{at}.{junctor}[{index}]"
    if document.get("not") is not None:
        yield document["not"], f"{at}.not"


_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_OLD = re.compile(r"\boldSelf\b")


def rule_problems(rule: Object, document: Object, at: str, uncorrelated: str) -> Errors:
    """Return the errors of one rule; an unsupported expression is an error, so that no rule is skipped."""
    text, message = rule.get("rule") or "", rule.get("message")
    if not text.strip():
        return [required(f"{at}.rule", "rule is not specified")]
    errors: Errors = []
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(unsupported(f"{at}.reason", reason, _REASONS))
    errors += _rule_message(text, message, at)
    if rule.get("fieldPath") and not _leads_somewhere(rule["fieldPath"], document):
        errors.append(invalid_value(f"{at}.fieldPath", rule["fieldPath"], "must be a valid path"))
    if errors:
        return errors
    for name, expected_type in (("rule", "bool"), ("messageExpression", "string")):
        expression = rule.get(name) or ""
        problem = expression_problem(expression, value_schema(document), expected_type) if expression else ""
        if problem:
            shown = _shown_rule(rule) if name == "rule" else rule
            errors.append(ApiFieldError("Invalid", f"{at}.{name}", f"Invalid value: {_json(shown)}: {problem}"))
    if uncorrelated and not errors and _OLD.search(text) and not rule.get("optionalOldSelf"):
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
        errors.append(invalid_value(f"{at}.rule", text, why))
    return errors


def _rule_message(rule: str, message: Any, at: str) -> Errors:
    if message:
        if not message.strip():
            return [invalid_value(f"{at}.message", message, "must be non-empty if specified")]
        if "\n" in message or "\r" in message:
            return [invalid_value(f"{at}.message", message, "must not contain line breaks")]
    elif "\n" in rule.strip() or "\r" in rule.strip():
        return [required(f"{at}.message", "message must be specified if rule contains line breaks")]
    return []


def _leads_somewhere(path: str, document: Object) -> bool:
    """Return whether a fieldPath names a field below the node."""
    steps = re.findall(r"\.([A-Za-z_][\w-]*)|\['([^']*)'\]", path)
    if "".join(f".{name}" if name else f"['{key}']" for name, key in steps) != path:
        return False
    for name, key in steps:
        below = (document.get("properties") or {}).get(name or key)
        if below is None and isinstance(document.get("additionalProperties"), dict):
            below = document["additionalProperties"]
        if below is None:
            return False
        document = below
    return True


def _shown_rule(rule: Object) -> Object:
    """Return the rule as the server's internal struct."""
    return {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def _json(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


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
