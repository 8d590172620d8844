"""Validation of compute resources: limits, requests and their names."""

from __future__ import annotations

from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, invalid_value, required
from kymatui.schemas.values.name_rules import qualified_name
from kymatui.schemas.values.quantity import amount

_STANDARD = ("cpu", "memory", "ephemeral-storage", "storage")
_HUGE = "hugepages-"


def validate_resources(resources: Object, at: str) -> list[ApiFieldError]:
    """Return the errors of a container's resources."""
    errors: list[ApiFieldError] = []
    limits: Object = resources.get("limits") or {}
    requests: Object = resources.get("requests") or {}
    for name, value in limits.items():
        errors += _validate_one(name, value, f"{at}.limits[{name}]")
    for name, value in requests.items():
        errors += _validate_one(name, value, f"{at}.requests[{name}]")
        limit = limits.get(name)
        if limit is not None and amount(value) > amount(limit):
            errors.append(
                invalid_value(f"{at}.requests", value, f"must be less than or equal to {name} limit of {limit}")
            )
        if limit is None and "/" in name and not name.startswith("kubernetes.io/"):
            errors.append(required(f"{at}.limits", "Limit must be set for non overcommitable resources"))
    return errors


def _validate_one(name: str, value: str, at: str) -> list[ApiFieldError]:
    errors = [invalid_value(at, name, problem) for problem in qualified_name(name)]
    if not errors and "/" not in name and name not in _STANDARD and not name.startswith(_HUGE):
        errors.append(invalid_value(at, name, "must be a standard resource type or fully qualified"))
        errors.append(invalid_value(at, name, "must be a standard resource for containers"))
    if amount(value) < 0:
        errors.append(invalid_value(at, value, "must be greater than or equal to 0"))
    return errors
