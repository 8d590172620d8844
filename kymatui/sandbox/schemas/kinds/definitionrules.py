"""Rules of CustomResourceDefinitions (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation)."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.cel.rules import expression_problem
from kymatui.sandbox.schemas.constraints import pattern
from kymatui.sandbox.schemas.fielderrors import FieldError, forbidden, required, unsupported, wrong
from kymatui.sandbox.schemas.kinds.metadata import immutable
from kymatui.sandbox.schemas.kinds.names import dns_old_label, dns_subdomain
from kymatui.sandbox.schemas.nodes import Object

Errors = list[FieldError]
_SCHEMA = "spec.validation.openAPIV3Schema"
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPES = ("atomic", "set", "map")
_JUNCTORS = ("allOf", "anyOf", "oneOf")


def validate_definition(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    names: Object = spec.get("names") or {}
    group, plural = spec.get("group") or "", names.get("plural") or ""
    errors: Errors = []
    name = obj["metadata"].get("name") or ""
    if name != f"{plural}.{group}":
        errors.append(wrong("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    errors += _validate_group(group)
    errors += _validate_scope(spec.get("scope") or "")
    errors += _validate_versions(spec.get("versions"))
    errors += _validate_names(names)
    return errors + _validate_schemas(spec.get("versions") or [])


def _validate_group(group: str) -> Errors:
    if not group:
        return [required("spec.group")]
    errors = [wrong("spec.group", group, problem) for problem in dns_subdomain(group)]
    if not errors and "." not in group:
        errors.append(wrong("spec.group", group, "should be a domain with at least one dot"))
    return errors


def _validate_scope(scope: str) -> Errors:
    if not scope:
        return [required("spec.scope")]
    choices = ("Cluster", "Namespaced")
    return [unsupported("spec.scope", scope, choices)] if scope not in choices else []


def _validate_versions(versions: Any) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    unique = True
    for index, version in enumerate(versions or ()):
        name = version.get("name") or ""
        unique = unique and name not in seen
        seen.add(name)
        errors += [wrong(f"spec.versions[{index}].name", name, problem) for problem in dns_old_label(name)]
    if not unique:
        errors.append(wrong("spec.versions", versions, "must contain unique version names"))
    if sum(1 for version in versions or () if version.get("storage")) != 1:
        errors.append(
            wrong("spec.versions", versions or None, "must have exactly one version marked as storage version")
        )
    return errors


def _validate_names(names: Object) -> Errors:
    errors: Errors = []
    for name, fold in (("plural", False), ("singular", False), ("kind", True), ("listKind", True)):
        value = names.get(name) or ""
        if not value:
            errors.append(required(f"spec.names.{name}"))
            continue
        text = value.lower() if fold else value
        errors += [wrong(f"spec.names.{name}", value, _mixed(problem, fold)) for problem in dns_old_label(text)]
    for index, short in enumerate(names.get("shortNames") or ()):
        errors += [wrong(f"spec.names.shortNames[{index}]", short, problem) for problem in dns_old_label(short)]
    for index, category in enumerate(names.get("categories") or ()):
        errors += [wrong(f"spec.names.categories[{index}]", category, problem) for problem in dns_old_label(category)]
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(wrong("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    return errors


def _mixed(problem: str, fold: bool) -> str:
    return f"may have mixed case, but should otherwise match: {problem}" if fold else problem


# -- schemas


def _validate_schemas(versions: list[Object]) -> Errors:
    documents = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
    shared = all(document == documents[0] for document in documents)
    errors: Errors = []
    for index, document in enumerate(documents[:1] if shared else documents):
        at = _SCHEMA if shared else f"spec.versions[{index}].schema.openAPIV3Schema"
        if document is None:
            errors += [
                required(f"spec.versions[{i}].schema.openAPIV3Schema", "schemas are required")
                for i in range(len(documents))
            ]
            continue
        if document.get("type") != "object":
            text = "must be object" if document.get("type") else "must not be empty at the root"
            kind = wrong(f"{at}.type", document["type"], text) if document.get("type") else required(f"{at}.type", text)
            errors.append(kind)
        errors += _validate_node(document, at, root=True)
    return errors


def _validate_node(document: Object, at: str, *, root: bool = False) -> Errors:
    errors: Errors = []
    kind = document.get("type")
    free = document.get("x-kubernetes-preserve-unknown-fields") or document.get("x-kubernetes-int-or-string")
    if kind is None and not free and not root:
        errors.append(required(f"{at}.type", "must not be empty for specified object fields"))
    elif kind is not None and kind not in _TYPES:
        errors.append(unsupported(f"{at}.type", kind, _TYPES))
    if document.get("properties") and document.get("additionalProperties"):
        text = "additionalProperties and properties are mutual exclusive"
        errors.append(forbidden(f"{at}.additionalProperties", text))
    if document.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(forbidden(f"{at}.uniqueItems", text))
    if document.get("$ref"):
        errors.append(forbidden(f"{at}.$ref", "$ref is not supported"))
    errors += _validate_pattern(document, at)
    for index, rule in enumerate(document.get("x-kubernetes-validations") or ()):
        errors += _validate_rule(rule, f"{at}.x-kubernetes-validations[{index}]")
    if kind == "array":
        errors += _validate_array(document, at)
    for name, below in (document.get("properties") or {}).items():
        errors += _validate_node(below, f"{at}.properties[{name}]")
    if isinstance(document.get("additionalProperties"), dict):
        errors += _validate_node(document["additionalProperties"], f"{at}.additionalProperties")
    for junctor in _JUNCTORS:
        for index, below in enumerate(document.get(junctor) or ()):
            errors += _validate_value_rules(below, f"{at}.{junctor}[{index}]")
    return errors


def _validate_rule(rule: Object, at: str) -> Errors:
    """One rule in CEL; what is not understood is refused, so that no rule is ever passed over."""
    errors: Errors = []
    for name in ("rule", "messageExpression"):
        text = rule.get(name) or ""
        if name == "rule" and not text.strip():
            errors.append(required(f"{at}.rule", "rule is not specified"))
        elif text:
            problem = expression_problem(text)
            errors += [wrong(f"{at}.{name}", text, f"compilation failed: {problem}")] if problem else []
    return errors


def _validate_pattern(document: Object, at: str) -> Errors:
    text = document.get("pattern")
    if not text:
        return []
    try:
        pattern(text)
    except ValueError as error:
        problem = f"must be a valid regular expression, but isn't: error parsing regexp: {error}"
        return [wrong(f"{at}.pattern", text, problem)]
    return []


def _validate_array(document: Object, at: str) -> Errors:
    errors: Errors = []
    items = document.get("items")
    if items is None:
        errors.append(required(f"{at}.items", "must be specified"))
    elif isinstance(items, list):
        errors.append(forbidden(f"{at}.items", "items must be a schema object and not an array"))
    else:
        errors += _validate_node(items, f"{at}.items")
    kind = document.get("x-kubernetes-list-type")
    if kind is not None and kind not in _LIST_TYPES:
        errors.append(unsupported(f"{at}.x-kubernetes-list-type", kind, _LIST_TYPES))
    keys: list[str] = document.get("x-kubernetes-list-map-keys") or []
    if kind == "map" and not keys:
        errors.append(
            required(f"{at}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map")
        )
    if keys and kind != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        errors.append(
            wrong(f"{at}.x-kubernetes-list-type", kind or "", text)
            if kind
            else required(f"{at}.x-kubernetes-list-type", text)
        )
    if kind == "map" and isinstance(items, dict):
        errors += _validate_keys(items, keys, at)
    return errors


def _validate_keys(items: Object, keys: list[str], at: str) -> Errors:
    errors: Errors = []
    properties: Object = items.get("properties") or {}
    for index, key in enumerate(keys):
        place = f"{at}.x-kubernetes-list-map-keys[{index}]"
        if key not in properties:
            errors.append(wrong(place, key, "entries must all be names of item properties"))
        elif key not in (items.get("required") or ()) and "default" not in properties[key]:
            text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            errors.append(required(f"{at}.items.properties[{key}].default", text))
    return errors


_STRUCTURAL_ONLY = (
    "description",
    "type",
    "default",
    "title",
    "additionalProperties",
    "nullable",
    "x-kubernetes-list-type",
)


def _validate_value_rules(document: Object, at: str) -> Errors:
    """What stands under allOf, anyOf, oneOf and not describes no structure."""
    errors: Errors = []
    for name in _STRUCTURAL_ONLY:
        if document.get(name) is None or (name == "type" and document["type"] in ("integer", "string")):
            continue
        how = "undefined" if name == "additionalProperties" else "empty"
        errors.append(forbidden(f"{at}.{name}", f"must be {how} to be structural"))
    for name, below in (document.get("properties") or {}).items():
        errors += _validate_value_rules(below, f"{at}.properties[{name}]")
    return errors


# -- updates


def validate_definition_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    established = any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in (old.get("status") or {}).get("conditions") or ()
    )
    spec, stored = new["spec"], old["spec"]
    if established:
        errors += immutable(spec.get("scope"), stored.get("scope"), "spec.scope")
        errors += immutable(spec["names"].get("kind"), stored["names"].get("kind"), "spec.names.kind")
    errors += immutable(spec.get("group"), stored.get("group"), "spec.group")
    errors += immutable(spec["names"].get("plural"), stored["names"].get("plural"), "spec.names.plural")
    names = [version.get("name") for version in spec.get("versions") or ()]
    for index, version in enumerate((old.get("status") or {}).get("storedVersions") or ()):
        if version not in names:
            text = (
                f"missing from spec.versions; {version} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {version} and removes "
                f"{version} from status.storedVersions"
            )
            errors.append(wrong(f"status.storedVersions[{index}]", version, text))
    return errors
