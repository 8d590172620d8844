"""Validation of admission policies and bindings; the expressions are not evaluated."""

from __future__ import annotations

from kymatui.schemas.objects.object_meta_rules import one_of
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, required, unsupported

Errors = list[ApiFieldError]
_ACTIONS = ("Audit", "Deny", "Warn")
_NOTHING = "validations or auditAnnotations must contain at least one item"


def validate_policy(obj: Object) -> Errors:
    """Return the errors of a ValidatingAdmissionPolicy."""
    spec: Object = obj["spec"]
    errors = one_of(spec, "failurePolicy", ("Fail", "Ignore"), "spec")
    if spec.get("matchConstraints") is None:
        errors.append(required("spec.matchConstraints"))
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        errors += [required(f"spec.{name}", _NOTHING) for name in ("validations", "auditAnnotations")]
    for index, validation in enumerate(spec.get("validations") or ()):
        if not (validation.get("expression") or "").strip():
            errors.append(required(f"spec.validations[{index}].expression", "expression is not specified"))
    return errors


def validate_policy_binding(obj: Object) -> Errors:
    """Return the errors of a ValidatingAdmissionPolicyBinding."""
    spec: Object = obj["spec"]
    errors = [] if spec.get("policyName") else [required("spec.policyName")]
    actions: list[str] = spec.get("validationActions") or []
    if not actions:
        errors.append(required("spec.validationActions", "at least one validation action is required"))
    return errors + [
        unsupported(f"spec.validationActions[{index}]", action, _ACTIONS)
        for index, action in enumerate(actions)
        if action not in _ACTIONS
    ]
