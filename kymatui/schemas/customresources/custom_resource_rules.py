"""Validation of custom resources beyond metadata, in a real API server's order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kymatui.schemas.cel.validation_rules import has_rules, validate_rules
from kymatui.schemas.objects.schema_constraints import NOWHERE, UNCHECKED, blocks_rules, validate_lists, validate_schema
from kymatui.schemas.objects.typed_values import ABSENT, same_value
from kymatui.schemas.types.schema_node import Object, Schema
from kymatui.schemas.values.field_errors import ApiFieldError, go_text, invalid_value

_MOST = (1 << 31) - 1
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def custom_errors(
    schema: Schema, obj: Object, old: Object | None, *, scale: Mapping[str, str] | None = None, subresource: str = ""
) -> list[ApiFieldError]:
    """Return the errors of schema, list keys and CEL rules; unchanged old errors are tolerated.

    Metadata is validated elsewhere. `scale` are the paths of the scale subresource. An update of the status validates
    only the status, except for CEL rules.
    """
    errors = _schema_errors(schema, obj, subresource)
    if old is not None and errors:
        errors = [error for error in errors if _changed(error, obj, old)]
    lists = validate_lists(schema, obj)
    if old is not None and lists:
        lists = [error for error in lists if _changed(error, obj, old)]
    errors += _scale_errors(obj, scale, subresource) + lists if scale else lists
    if not has_rules(schema):
        return errors
    if blocks_rules(errors):
        return [*errors, UNCHECKED]
    return errors + validate_rules(schema, obj, ABSENT if old is None else old)


def _schema_errors(schema: Schema, obj: Object, subresource: str) -> list[ApiFieldError]:
    if subresource != "status":
        return validate_schema(schema, obj)
    below = schema.properties.get("status")
    return validate_schema(below, obj["status"], "status") if below is not None and "status" in obj else []


def _scale_errors(obj: Object, scale: Mapping[str, str], subresource: str) -> list[ApiFieldError]:
    """Return the errors of non-numbers at the paths of the scale subresource."""
    errors: list[ApiFieldError] = []
    if subresource != "status":
        errors += _replicas_error(obj, scale.get("specReplicasPath") or "")
        errors += _selector_error(obj, scale.get("labelSelectorPath") or "")
    return errors + _replicas_error(obj, scale.get("statusReplicasPath") or "")


def _replicas_error(obj: Object, path: str) -> list[ApiFieldError]:
    value, problem = _nested(obj, path)
    if problem:
        return [invalid_value(path, 0, problem)]
    if value is None:
        return []
    if isinstance(value, bool) or not isinstance(value, int):
        what = f"{go_text(value)} is of the type {_go_type(value)}, expected int64"
        return [invalid_value(path, 0, f"{path} accessor error: {what}")]
    if value < 0:
        return [invalid_value(path, value, "should be a non-negative integer")]
    if value > _MOST:
        return [invalid_value(path, value, f"should be less than or equal to {_MOST}")]
    return []


def _selector_error(obj: Object, path: str) -> list[ApiFieldError]:
    if not path:
        return []
    value, problem = _nested(obj, path)
    if not problem and value is not None and not isinstance(value, str):
        problem = f"{path} accessor error: {go_text(value)} is of the type {_go_type(value)}, expected string"
    return [invalid_value(path, path, problem)] if problem else []


def _nested(obj: Object, path: str) -> tuple[Any, str]:
    """Return (the value at a path or None, the error on the way to it)."""
    value: Any = obj
    for name in filter(None, path.split(".")):
        if not isinstance(value, dict):
            what = f"{go_text(value)} is of the type {_go_type(value)}, expected map[string]interface{{}}"
            return None, f"{path} accessor error: {what}"
        if name not in value:
            return None, ""
        value = value[name]
    return value, ""


def _go_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    names = {str: "string", int: "int64", float: "float64", list: "[]interface {}", dict: "map[string]interface {}"}
    return names.get(type(value), "<nil>")


def _changed(error: ApiFieldError, obj: Object, old: Object) -> bool:
    """Return whether the field of an error changed (its parent, if it is missing)."""
    if error.field in (NOWHERE, ""):
        return True
    new, before = _at(obj, error.field), _at(old, error.field)
    if new is ABSENT:
        parent = error.field.rpartition(".")[0]
        new, before = _at(obj, parent), _at(old, parent)
    return before is ABSENT or not same_value(new, before)


def _at(obj: Any, path: str) -> Any:
    value = obj
    for index, name in _STEP.findall(path):
        if index and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        elif name and isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return ABSENT
    return value
