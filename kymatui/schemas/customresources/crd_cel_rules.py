"""Validation of CEL rules in a CRD (x-kubernetes-validations)."""

from __future__ import annotations

import json
import re
from typing import Any

from kymatui.schemas.cel.validation_rules import expression_problem
from kymatui.schemas.objects.structural_schemas import value_schema
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, invalid_value, required, unsupported

Errors = list[ApiFieldError]
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
