"""Validation of ResourceQuotas and LimitRanges."""

from __future__ import annotations

from fractions import Fraction

from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, duplicate, forbidden, invalid_value, required
from kymatui.schemas.values.name_rules import qualified_name
from kymatui.schemas.values.quantity import amount

Errors = list[ApiFieldError]
_COUNTED = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_COMPUTED = frozenset(
    (
        "cpu",
        "memory",
        "ephemeral-storage",
        *(f"{side}.{name}" for side in ("requests", "limits") for name in ("cpu", "memory", "ephemeral-storage")),
    )
)
_STORED = frozenset(("storage", "requests.storage"))
_SCOPES = frozenset(
    (
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    )
)
_CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_OPERATORS = ("In", "NotIn")


def validate_quota(obj: Object) -> Errors:
    """Return the errors of a ResourceQuota."""
    spec: Object = obj.get("spec") or {}
    errors: Errors = []
    for name, value in (spec.get("hard") or {}).items():
        errors += _validate_hard(name, value, f"spec.hard[{name}]")
    errors += _validate_scopes(spec)
    terms: list[Object] = (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    for term in terms:
        if term.get("operator") in _OPERATORS and not term.get("values"):
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            errors.append(required("spec.scopeSelector.matchExpressions.values", text))
    return errors


def _validate_hard(name: str, value: str, at: str) -> Errors:
    errors = [invalid_value(at, name, problem) for problem in qualified_name(name)]
    if not _is_quota_name(name):
        if not errors:
            errors.append(invalid_value(at, name, "must be a standard resource type or fully qualified"))
        errors.append(invalid_value(at, name, "must be a standard resource for quota"))
    if amount(value) < 0:
        errors.append(invalid_value(at, value, "must be greater than or equal to 0"))
    if name in _COUNTED and amount(value).denominator != 1:
        errors.append(invalid_value(at, value, "must be an integer"))
    return errors


def _is_quota_name(name: str) -> bool:
    huge = name.startswith(("hugepages-", "requests.hugepages-"))
    return huge or "/" in name or name in _COUNTED | _COMPUTED | _STORED


def _validate_scopes(spec: Object) -> Errors:
    scopes: list[str] = spec.get("scopes") or []
    errors: Errors = []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid_value("spec.scopes", scopes, "unsupported scope"))
            continue
        for name in spec.get("hard") or {}:
            if name in _COUNTED | _COMPUTED | _STORED and not _counts_within(scope, name):
                errors.append(invalid_value("spec.scopes", scopes, "unsupported scope applied to resource"))
    errors += [invalid_value("spec.scopes", scopes, "conflicting scopes") for pair in _CONFLICTS if pair <= set(scopes)]
    return errors


def _counts_within(scope: str, name: str) -> bool:
    if scope == "BestEffort":
        return name == "pods"
    return scope == "VolumeAttributesClass" or name == "pods" or name in _COMPUTED


def validate_quota_update(new: Object, old: Object) -> Errors:
    scopes = (new.get("spec") or {}).get("scopes")
    if sorted(scopes or ()) == sorted((old.get("spec") or {}).get("scopes") or ()):
        return []
    return [invalid_value("spec.scopes", scopes, "field is immutable")]


def validate_range(obj: Object) -> Errors:
    """Return the errors of a LimitRange."""
    errors: Errors = []
    kinds: set[str] = set()
    for index, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
        at, kind = f"spec.limits[{index}]", limit.get("type") or ""
        errors += [invalid_value(f"{at}.type", kind, problem) for problem in qualified_name(kind)]
        if kind in kinds:
            errors.append(duplicate(f"{at}.type", kind))
        kinds.add(kind)
        errors += _validate_limit(limit, kind, at)
    return errors


def _validate_limit(limit: Object, kind: str, at: str) -> Errors:
    errors: Errors = []
    if kind == "Pod":
        for name in ("default", "defaultRequest"):
            if limit.get(name):
                errors.append(forbidden(f"{at}.{name}", "may not be specified when `type` is 'Pod'"))
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(side) or {}) for side in ("min", "max")):
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(at, text))
    sides = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    names = dict.fromkeys(name for side in sides for name in limit.get(side) or ())
    for name in names:
        errors += _validate_bounds({side: (limit.get(side) or {}).get(name) for side in sides}, name, at)
    return errors


_ORDERED = (
    # The smaller field and its words, the larger field and its words, the field of the error, the field it shows.
    ("min", "min value", "max", "max value", "min", "min"),
    ("min", "min value", "defaultRequest", "default request value", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "default request value", "max", "max value", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "default request value", "default", "default limit value", "defaultRequest", "defaultRequest"),
    ("min", "min value", "default", "default value", "default", "min"),
    ("default", "default value", "max", "max value", "default", "max"),
)


def _validate_bounds(bounds: Object, name: str, at: str) -> Errors:
    errors: Errors = []
    for low, low_words, high, high_words, location, shown in _ORDERED:
        if bounds[low] is not None and bounds[high] is not None and amount(bounds[low]) > amount(bounds[high]):
            text = f"{low_words} {bounds[low]} is greater than {high_words} {bounds[high]}"
            errors.append(invalid_value(f"{at}.{location}[{name}]", bounds[shown], text))
    ratio = bounds["maxLimitRequestRatio"]
    if ratio is not None and amount(ratio) < Fraction(1):
        errors.append(invalid_value(f"{at}.maxLimitRequestRatio[{name}]", ratio, f"ratio {ratio} is less than 1"))
    return errors
