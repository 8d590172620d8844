"""Validation of pod placement and host aliases (k8s.io/kubernetes/pkg/apis/core/validation)."""

from __future__ import annotations

from collections.abc import Callable

from kymatui.schemas.objects.object_meta_rules import one_of, validate_selector
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, invalid_value, required, unsupported
from kymatui.schemas.values.name_rules import dns_subdomain, ip_address, qualified_name

Errors = list[ApiFieldError]


def named(field: str, value: str, rule: Callable[[str], list[str]]) -> Errors:
    """Return the errors of a name rule."""
    return [invalid_value(field, value, problem) for problem in rule(value)]


def validate_affinity(affinity: Object, at: str) -> Errors:
    errors: Errors = []
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    node: Object = affinity.get("nodeAffinity") or {}
    if node.get(field) is not None and not node[field].get("nodeSelectorTerms"):
        errors.append(
            required(f"{at}.nodeAffinity.{field}.nodeSelectorTerms", "must have at least one node selector term")
        )
    for kind in ("podAffinity", "podAntiAffinity"):
        for index, term in enumerate((affinity.get(kind) or {}).get(field) or ()):
            location = f"{at}.{kind}.{field}[{index}]"
            errors += validate_selector(term.get("labelSelector"), f"{location}.labelSelector")
            key = term.get("topologyKey") or ""
            if not key:
                errors.append(required(f"{location}.topologyKey", "can not be empty"))
            errors += named(f"{location}.topologyKey", key, qualified_name)
    return errors


def validate_tolerations(tolerations: list[Object], at: str) -> Errors:
    errors: Errors = []
    for index, toleration in enumerate(tolerations):
        location = f"{at}[{index}]"
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        effect = toleration.get("effect") or ""
        if key:
            errors += named(f"{location}.key", key, qualified_name)
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid_value(f"{location}.operator", operator, text))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            errors.append(
                invalid_value(
                    f"{location}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
                )
            )
        if operator == "Exists" and toleration.get("value"):
            errors.append(
                invalid_value(
                    f"{location}.operator", toleration["value"], "value must be empty when `operator` is 'Exists'"
                )
            )
        elif operator not in ("", "Equal", "Exists"):
            errors.append(unsupported(f"{location}.operator", operator, ("Equal", "Exists")))
        if effect and effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            errors.append(unsupported(f"{location}.effect", effect, ("NoSchedule", "PreferNoSchedule", "NoExecute")))
    return errors


def validate_aliases(aliases: list[Object], at: str) -> Errors:
    errors: Errors = []
    for index, alias in enumerate(aliases):
        errors += named(f"{at}[{index}].ip", alias.get("ip") or "", ip_address)
        for position, name in enumerate(alias.get("hostnames") or ()):
            errors += named(f"{at}[{index}].hostnames[{position}]", name, dns_subdomain)
    return errors


def validate_spread(constraints: list[Object], at: str) -> Errors:
    errors: Errors = []
    for index, constraint in enumerate(constraints):
        location = f"{at}[{index}]"
        skew = constraint.get("maxSkew") or 0
        if skew <= 0:
            errors.append(invalid_value(f"{location}.maxSkew", skew, "must be greater than zero"))
        if not constraint.get("topologyKey"):
            errors.append(required(f"{location}.topologyKey", "can not be empty"))
        errors += one_of(constraint, "whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"), location)
        errors += validate_selector(constraint.get("labelSelector"), f"{location}.labelSelector")
    return errors
