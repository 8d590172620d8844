"""Everything that a custom resource must satisfy beyond its metadata, in the order of a real API server."""

from __future__ import annotations

import re
from typing import Any

from kymatui.sandbox.apply.typedvalues import ABSENT, same
from kymatui.sandbox.cel.rules import has_rules, validate_rules
from kymatui.sandbox.schemas.constraints import (
    NOWHERE,
    UNCHECKED,
    blocks_rules,
    validate_lists,
    validate_schema,
)
from kymatui.sandbox.schemas.fielderrors import FieldError
from kymatui.sandbox.schemas.nodes import Object, Schema

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def custom_errors(schema: Schema, obj: Object, old: Object | None) -> list[FieldError]:
    """Schema, lists' keys and rules; metadata is checked apart. What was wrong before and is unchanged is let pass."""
    found = validate_schema(schema, obj) + validate_lists(schema, obj)
    if old is not None and found:
        found = [error for error in found if _changed(error, obj, old)]
    if not has_rules(schema):
        return found
    if blocks_rules(found):
        return [*found, UNCHECKED]
    return found + validate_rules(schema, obj, ABSENT if old is None else old)


def _changed(error: FieldError, obj: Object, old: Object) -> bool:
    """Whether the field that an error names has another value now (its parent, where it is missing)."""
    if error.field in (NOWHERE, ""):
        return True
    new, before = _at(obj, error.field), _at(old, error.field)
    if new is ABSENT:
        parent = error.field.rpartition(".")[0]
        new, before = _at(obj, parent), _at(old, parent)
    return before is ABSENT or not same(new, before)


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
