"""x-kubernetes-validations over an object: every rule of every node, with oldSelf where there is an old value."""

from __future__ import annotations

import functools
import re
from typing import Any

from kymatui.sandbox.apply.typedvalues import ABSENT, list_element
from kymatui.sandbox.cel.lexing import CelSyntaxError
from kymatui.sandbox.cel.parsing import Evaluate, compile_expression
from kymatui.sandbox.cel.values import CelError
from kymatui.sandbox.schemas.fielderrors import FieldError
from kymatui.sandbox.schemas.nodes import Rule, Schema
from kymatui.sandbox.schemas.structural import object_meta

_KINDS = {
    "FieldValueInvalid": "Invalid",
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required",
    "FieldValueDuplicate": "Duplicate",
}
_WORDS = {
    "Invalid": "Invalid value",
    "Forbidden": "Forbidden",
    "Required": "Required value",
    "Duplicate": "Duplicate value",
}
_OLD = re.compile(r"\boldSelf\b")


@functools.lru_cache(maxsize=1024)
def compiled(expression: str) -> Evaluate:
    """Raises `CelSyntaxError`."""
    return compile_expression(expression, frozenset(("self", "oldSelf")))


def expression_problem(expression: str) -> str:
    """Why an expression cannot be evaluated; "" where it can."""
    try:
        compiled(expression)
    except CelSyntaxError as error:
        return str(error)
    return ""


def has_rules(schema: Schema) -> bool:
    """Whether any node has rules."""
    known: bool | None = schema.compiled.get("rules")
    if known is None:
        schema.compiled["rules"] = False
        below = [*schema.properties.values(), schema.additional, schema.items]
        known = schema is not object_meta() and (
            bool(schema.rules) or any(has_rules(node) for node in below if node is not None)
        )
        schema.compiled["rules"] = known
    return known


def validate_rules(schema: Schema, value: Any, old: Any = ABSENT) -> list[FieldError]:
    """What the rules say of a value that took the place of `old`."""
    errors: list[FieldError] = []
    if has_rules(schema):
        _validate(schema, value, old, "", errors)
    return errors


def _validate(schema: Schema, value: Any, old: Any, path: str, errors: list[FieldError]) -> None:
    if value is None or not has_rules(schema):
        return
    for rule in schema.rules:
        problem = _apply(rule, value, old, path)
        if problem is not None:
            errors.append(problem)
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for name, item in value.items():
            below = schema.properties.get(name) or schema.additional
            if below is not None:
                place = f"{path}.{name}" if name in schema.properties or not path else f"{path}[{name}]"
                _validate(below, item, before.get(name, ABSENT), place.lstrip("."), errors)
    elif isinstance(value, list) and schema.items is not None:
        olds = _old_items(schema, old)
        for index, item in enumerate(value):
            _validate(schema.items, item, _old_item(schema, olds, item), f"{path}[{index}]", errors)


def _old_items(schema: Schema, old: Any) -> dict[str, Any]:
    """Items of list maps by their key: only these can be told to be the same as before."""
    if schema.list_type != "map" or not isinstance(old, list):
        return {}
    return {list_element(schema, item): item for item in old if isinstance(item, dict)}


def _old_item(schema: Schema, olds: dict[str, Any], item: Any) -> Any:
    if not olds or not isinstance(item, dict):
        return ABSENT
    return olds.get(list_element(schema, item), ABSENT)


def _apply(rule: Rule, value: Any, old: Any, path: str) -> FieldError | None:
    env: dict[str, Any] = {"self": value}
    if _OLD.search(rule.rule):
        if old is ABSENT:
            return None
        env["oldSelf"] = old
    try:
        held = compiled(rule.rule)(env)
    except CelError as error:
        text = f"Invalid value: {_type(value)}: rule execution error: {error}: evaluating rule: {rule.rule}"
        return FieldError("Invalid", path, text)
    if held is True:
        return None
    kind = _KINDS.get(rule.reason, "Invalid")
    return FieldError(kind, _place(rule, path), f"{_WORDS[kind]}: {_message(rule, env)}")


def _type(value: Any) -> str:
    return '"object"' if isinstance(value, dict) else f'"{value}"'


def _place(rule: Rule, path: str) -> str:
    if not rule.field_path:
        return path
    return f"{path}{rule.field_path}" if path else rule.field_path.lstrip(".")


def _message(rule: Rule, env: dict[str, Any]) -> str:
    if rule.message_expression:
        try:
            text = compiled(rule.message_expression)(env)
        except CelError:
            text = ""
        if isinstance(text, str) and text.strip() and "\n" not in text:
            return text
    return rule.message or f"failed rule: {rule.rule.strip()}"
