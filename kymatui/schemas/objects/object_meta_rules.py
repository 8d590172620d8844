"""Validation of metadata, labels and selectors (k8s.io/apimachinery/pkg/api/validation)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, forbidden, invalid_value, required, too_long, unsupported
from kymatui.schemas.values.name_rules import dns_subdomain, label_value, qualified_name

Errors = list[ApiFieldError]
NameRule = Callable[[str], list[str]]
MOST_ANNOTATIONS = 256 * 1024
IMMUTABLE = "field is immutable"
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion", "customresourcecleanup.apiextensions.k8s.io")
_FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_PRIVATE = ("", "v1", "Event")


def validate_metadata(
    obj: Object, *, namespaced: bool, name_rule: NameRule = dns_subdomain, custom: bool = False
) -> Errors:
    """Return the errors of a new object's metadata.

    Finalizers of custom resources may have names without a domain.
    """
    metadata: Object = obj["metadata"]
    errors: Errors = []
    prefix = metadata.get("generateName") or ""
    if prefix:
        masked = prefix[:-1] + "a" if prefix.endswith("-") else prefix
        errors += [invalid_value("metadata.generateName", prefix, problem) for problem in name_rule(masked)]
    name = metadata.get("name") or ""
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid_value("metadata.name", name, problem) for problem in name_rule(name)]
    if namespaced and not metadata.get("namespace"):
        errors.append(required("metadata.namespace"))
    if (metadata.get("generation") or 0) < 0:
        errors.append(
            invalid_value("metadata.generation", metadata["generation"], "must be greater than or equal to 0")
        )
    errors += validate_shared(metadata, custom=custom)
    return errors


def validate_shared(metadata: Object, *, custom: bool) -> Errors:
    """Return the errors that apply to new and changed objects."""
    return [
        *validate_labels(metadata.get("labels"), "metadata.labels"),
        *validate_annotations(metadata.get("annotations"), "metadata.annotations"),
        *_validate_owners(metadata.get("ownerReferences")),
        *_validate_finalizers(metadata.get("finalizers"), custom=custom),
    ]


def validate_metadata_update(new: Object, old: Object, *, custom: bool = False) -> Errors:
    """Return the errors of a changed object's metadata."""
    metadata, stored = new["metadata"], old["metadata"]
    errors: Errors = []
    if stored.get("deletionTimestamp"):
        added = [name for name in metadata.get("finalizers") or () if name not in (stored.get("finalizers") or ())]
        if added:
            quoted = "[]string{" + ", ".join(f'"{name}"' for name in added) + "}"
            text = f"no new finalizers can be added if the object is being deleted, found new finalizers {quoted}"
            errors.append(forbidden("metadata.finalizers", text))
    for name in _FIXED:
        if metadata.get(name) != stored.get(name):
            errors.append(invalid_value(f"metadata.{name}", metadata.get(name), IMMUTABLE))
    generation = metadata.get("generation") or 0
    if generation < (stored.get("generation") or 0):
        errors.append(invalid_value("metadata.generation", generation, "must not be decremented"))
    return errors + validate_shared(metadata, custom=custom)


def validate_labels(labels: Any, field: str) -> Errors:
    errors: Errors = []
    for key, value in (labels or {}).items():
        errors += [invalid_value(field, key, problem) for problem in qualified_name(key)]
        errors += [invalid_value(field, value, problem) for problem in label_value(value)]
    return errors


def validate_annotations(annotations: Any, field: str) -> Errors:
    errors: Errors = []
    size = 0
    for key, value in (annotations or {}).items():
        errors += [invalid_value(field, key, problem) for problem in qualified_name(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > MOST_ANNOTATIONS:
        errors.append(too_long(field, MOST_ANNOTATIONS))
    return errors


def _validate_owners(owners: Any) -> Errors:
    field = "metadata.ownerReferences"
    errors: Errors = []
    controllers: list[str] = []
    for owner in owners or ():
        version = owner.get("apiVersion") or ""
        if not version or version.count("/") > 1:
            errors.append(invalid_value(f"{field}.apiVersion", version, "version must not be empty"))
        errors += [
            invalid_value(f"{field}.{name}", owner.get(name) or "", "must not be empty")
            for name in ("kind", "name", "uid")
            if not owner.get(name)
        ]
        group, _, number = version.rpartition("/")
        if (group, number, owner.get("kind")) == _PRIVATE:
            errors.append(
                invalid_value(field, owner, f"{group}/{number}, Kind=Event is disallowed from being an owner")
            )
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind')}/{owner.get('name')}")
    if len(controllers) > 1:
        text = 'Only one reference can have Controller set to true. Found "true" in references for '
        errors.append(invalid_value(field, owners, text + " and ".join(controllers[:2])))
    return errors


def _validate_finalizers(finalizers: Any, *, custom: bool) -> Errors:
    field = "metadata.finalizers"
    errors: Errors = []
    names: list[str] = finalizers or []
    for name in names:
        errors += [invalid_value(field, name, problem) for problem in qualified_name(name)]
    for index, name in enumerate(names):
        if not custom and "/" not in name and name not in _STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(invalid_value(f"{field}[{index}]", name, text))
    if "orphan" in names and "foregroundDeletion" in names:
        errors.append(invalid_value(field, names, "finalizer orphan and foregroundDeletion cannot be both set"))
    return errors


def validate_selector(selector: Any, field: str) -> Errors:
    """Return the errors of a LabelSelector."""
    if not selector:
        return []
    errors: Errors = []
    for index, term in enumerate(selector.get("matchExpressions") or ()):
        errors += _validate_term(term, f"{field}.matchExpressions[{index}]")
    return validate_labels(selector.get("matchLabels"), f"{field}.matchLabels") + errors


def _validate_term(term: Object, field: str) -> Errors:
    operator, values = term.get("operator") or "", term.get("values")
    errors: Errors = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(
                forbidden(f"{field}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
            )
    else:
        errors.append(invalid_value(f"{field}.operator", operator, "not a valid selector operator"))
    key = term.get("key") or ""
    errors += [invalid_value(f"{field}.key", key, problem) for problem in qualified_name(key)]
    for index, value in enumerate(values or ()):
        errors += [invalid_value(f"{field}.values[{index}]", value, problem) for problem in label_value(value)]
    return errors


def selects(selector: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Return whether a LabelSelector matches labels."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for term in selector.get("matchExpressions") or ():
        key, operator, values = term.get("key"), term.get("operator"), term.get("values") or ()
        if operator == "In" and labels.get(key) not in values:
            return False
        if operator == "NotIn" and key in labels and labels[key] in values:
            return False
        if operator == "Exists" and key not in labels:
            return False
        if operator == "DoesNotExist" and key in labels:
            return False
    return True


def immutable(new: Any, old: Any, field: str) -> Errors:
    return [] if new == old else [invalid_value(field, new, IMMUTABLE)]


def not_negative(target: Object, *names: str, at: str) -> Errors:
    """Return the errors of negative numbers."""
    return [
        invalid_value(f"{at}.{name}".lstrip("."), target[name], "must be greater than or equal to 0")
        for name in names
        if (target.get(name) or 0) < 0
    ]


def one_of(target: Object, name: str, choices: tuple[str, ...], at: str) -> Errors:
    """Return the error of a field whose value is not one of `choices`, if it is set."""
    value = target.get(name)
    if value is None or value in choices:
        return []
    return [unsupported(f"{at}.{name}".lstrip("."), value, choices)]
