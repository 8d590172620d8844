"""Structural schema validation (schema.ValidateStructural) and validation of defaults.

Source: k8s.io/apiextensions-apiserver, pkg/apiserver/schema and its package defaulting.
"""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.schemas.customresources.crd_schema_walk import said_of_itself, values_under
from kymatui.schemas.objects.pruning import prune
from kymatui.schemas.objects.schema_constraints import pattern, validate_schema
from kymatui.schemas.objects.structural_schemas import value_schema
from kymatui.schemas.types.schema_node import Object, Schema
from kymatui.schemas.values.field_errors import ApiFieldError, forbidden, invalid_value, required
from kymatui.schemas.values.json_copy import copy_json

Errors = list[ApiFieldError]
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
