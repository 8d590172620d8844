"""Evaluation of x-kubernetes-validations: every rule of every node, with oldSelf on updates."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from kymatui.schemas.cel.cel_costs import one_object
from kymatui.schemas.cel.cel_lexer import CelSyntaxError
from kymatui.schemas.cel.cel_parser import Evaluate, check_expression, compile_expression
from kymatui.schemas.cel.cel_times import duration, timestamp
from kymatui.schemas.cel.cel_values import DYN, NOTHING, CelError, some, type_of
from kymatui.schemas.objects.structural_schemas import object_meta
from kymatui.schemas.objects.typed_values import ABSENT, list_element
from kymatui.schemas.types.schema_node import Schema, ValidationRule
from kymatui.schemas.values.field_errors import ApiFieldError, duplicate, go_value

_KINDS = {
    "FieldValueInvalid": "Invalid",
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required",
    "FieldValueDuplicate": "Duplicate",
}
_WORDS = {"Invalid": "Invalid value", "Forbidden": "Forbidden", "Required": "Required value"}
_MOMENTS: dict[str, Callable[[Any], Any]] = {
    "duration": duration,
    "date-time": timestamp,
    "date": lambda text: timestamp(f"{text}T00:00:00Z"),
}
"""Formats of strings that CEL has types for."""
_OLD = re.compile(r"\boldSelf\b")


@functools.lru_cache(maxsize=1024)
def compiled(expression: str) -> Evaluate:
    """Return the compiled expression. Raise `CelSyntaxError`."""
    return compile_expression(expression, frozenset(("self", "oldSelf")))


def expression_problem(expression: str, schema: Schema | None = None, expected_type: str = "") -> str:
    """Return the compiler's message for an invalid expression, "" for a valid one.

    `schema` is the schema of `self`, `expected_type` the required result type.
    """
    kind = type_of(schema)
    try:
        result_type = check_expression(expression, {"self": kind, "oldSelf": DYN})[1]
    except CelSyntaxError as error:
        return f"compilation failed: {_pointed(expression, error)}"
    if expected_type and result_type not in (expected_type, DYN):
        return (
            f"{'cel expression' if expected_type == 'bool' else 'messageExpression'} must evaluate to a {expected_type}"
        )
    return ""


def _pointed(expression: str, error: CelSyntaxError) -> str:
    """Return the message with the line and an arrow below it."""
    before = expression[: error.at]
    number, column = before.count("\n") + 1, error.at - (before.rfind("\n") + 1)
    line = expression.splitlines()[number - 1] if expression else ""
    return f"ERROR: <input>:{number}:{column + 1}: {error}\n | {line}\n | {'.' * column}^"


def has_rules(schema: Schema) -> bool:
    """Return whether any node has rules."""
    known: bool | None = schema.compiled.get("rules")
    if known is None:
        schema.compiled["rules"] = False
        below = [*schema.properties.values(), schema.additional, schema.items]
        known = schema is not object_meta() and (
            bool(schema.rules) or any(has_rules(node) for node in below if node is not None)
        )
        schema.compiled["rules"] = known
    return known


def validate_rules(schema: Schema, value: Any, old: Any = ABSENT) -> list[ApiFieldError]:
    """Return the errors of the rules for a value that replaces `old`."""
    errors: list[ApiFieldError] = []
    if has_rules(schema):
        with one_object():
            _validate(schema, value, old, "", errors)
    return errors


def _validate(schema: Schema, value: Any, old: Any, path: str, errors: list[ApiFieldError]) -> None:
    if value is None or not has_rules(schema):
        return
    if schema.rules:
        typed = _typed(schema, value)
        before = ABSENT if old is ABSENT or old is None else _typed(schema, old)
        for rule in schema.rules:
            problem = _apply(rule, schema, typed, before, value, path)
            if problem is not None:
                errors.append(problem)
    if isinstance(value, dict):
        olds = old if isinstance(old, dict) else {}
        for name, item in value.items():
            below = schema.properties.get(name) or schema.additional
            if below is not None:
                property_path = f"{path}.{name}" if name in schema.properties or not path else f"{path}[{name}]"
                _validate(below, item, olds.get(name, ABSENT), property_path.lstrip("."), errors)
    elif isinstance(value, list) and schema.items is not None:
        known = _old_items(schema, old)
        for index, item in enumerate(value):
            _validate(schema.items, item, _old_item(schema, known, item), f"{path}[{index}]", errors)


def _has_moments(schema: Schema) -> bool:
    """Return whether any text at or below the node is a time or duration in CEL."""
    known: bool | None = schema.compiled.get("moments")
    if known is None:
        schema.compiled["moments"] = False
        below = [*schema.properties.values(), schema.additional, schema.items]
        known = schema is not object_meta() and (
            (schema.type == "string" and schema.format in _MOMENTS)
            or any(_has_moments(node) for node in below if node is not None)
        )
        schema.compiled["moments"] = known
    return known


def _typed(schema: Schema, value: Any) -> Any:
    """Return the value with times and durations converted to CEL values."""
    if not _has_moments(schema):
        return value
    if isinstance(value, str) and schema.format in _MOMENTS:
        try:
            return _MOMENTS[schema.format](value)
        except CelError:
            return value
    if isinstance(value, dict):
        below = {name: schema.properties.get(name) or schema.additional for name in value}
        return {name: _typed(node, value[name]) if node else value[name] for name, node in below.items()}
    if isinstance(value, list) and schema.items is not None:
        return [_typed(schema.items, item) for item in value]
    return value


def _old_items(schema: Schema, old: Any) -> dict[str, Any]:
    """Return items of a list map by key: only these can be matched with their old values."""
    if schema.list_type != "map" or not isinstance(old, list):
        return {}
    return {list_element(schema, item): item for item in old if isinstance(item, dict)}


def _old_item(schema: Schema, olds: dict[str, Any], item: Any) -> Any:
    if not olds or not isinstance(item, dict):
        return ABSENT
    return olds.get(list_element(schema, item), ABSENT)


def _apply(rule: ValidationRule, schema: Schema, value: Any, old: Any, shown: Any, path: str) -> ApiFieldError | None:
    """Evaluate a rule; `value` and `old` are CEL values, `shown` is the value in the object."""
    env: dict[str, Any] = {"self": value}
    if rule.optional_old_self:
        env["oldSelf"] = NOTHING if old is ABSENT else some(old)
    elif _OLD.search(rule.rule):
        if old is ABSENT:
            return None
        env["oldSelf"] = old
    try:
        held = compiled(rule.rule)(env)
    except CelError as error:
        kind = schema.type or "object"
        return ApiFieldError("Invalid", path, f'Invalid value: "{kind}": {error} evaluating rule: {rule.rule}')
    if held is True:
        return None
    kind = _KINDS.get(rule.reason, "Invalid")
    if kind == "Duplicate":
        return duplicate(_place(rule, path), shown)
    value_shown = f"{go_value(shown)}: " if kind == "Invalid" and not isinstance(shown, (dict, list)) else ""
    return ApiFieldError(kind, _place(rule, path), f"{_WORDS[kind]}: {value_shown}{_message(rule, env)}")


def _place(rule: ValidationRule, path: str) -> str:
    if not rule.field_path:
        return path
    return f"{path}{rule.field_path}" if path else rule.field_path.lstrip(".")


def _message(rule: ValidationRule, env: dict[str, Any]) -> str:
    if rule.message_expression:
        try:
            text = compiled(rule.message_expression)(env)
        except CelError:
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text
    return rule.message or f"failed rule: {rule.rule.strip()}"
