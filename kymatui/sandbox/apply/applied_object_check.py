"""Schema check of an applied object, with structured-merge-diff's messages."""

from __future__ import annotations

from typing import Any

from kymatui.schemas.objects.typed_values import ABSENT, TypedValueError, child_schema, form, list_element
from kymatui.schemas.types.schema_node import ANY, Schema
from kymatui.schemas.values.field_errors import go_float, quoted
from kymatui.schemas.values.field_sets import show_path

Problems = list[tuple[str, str]]
_WORDS = {"string": "string", "boolean": "boolean", "integer": "numeric", "number": "numeric"}


def check_applied_object(schema: Schema, value: Any) -> None:
    """Raise `TypedValueError` with every problem."""
    problems: Problems = []
    _check(schema, value, "", problems)
    if problems:
        raise TypedValueError(problems)


def _check(schema: Schema, value: Any, path: str, problems: Problems) -> None:
    shape = form(schema, value)
    if value is None:
        return
    if shape == "scalar":
        _check_scalar(schema, value, path, problems)
    elif shape == "list":
        _check_list(schema, value, path, problems)
    elif not isinstance(value, dict):
        problems.append((path, f"expected map, got {_shown(value)}"))
    else:
        for name, item in sorted(value.items()):
            below = f"{path}.{name}"
            if not _declared(schema, name):
                problems.append((below, "field not declared in schema"))
            else:
                _check(child_schema(schema, name), item, below, problems)


def _declared(schema: Schema, name: str) -> bool:
    if name in schema.properties or schema.additional is not None or schema.preserve:
        return True
    return not schema.properties


def _check_scalar(schema: Schema, value: Any, path: str, problems: Problems) -> None:
    word = _WORDS.get(schema.type)
    if schema.int_or_string or schema.format == "quantity" or word is None:
        if isinstance(value, (dict, list)):
            problems.append((path, f"expected scalar, got {_shown(value)}"))
        return
    fits = {
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "numeric": isinstance(value, (int, float)) and not isinstance(value, bool),
    }[word]
    if not fits:
        problems.append((path, _expected(word, value)))


def _expected(word: str, value: Any) -> str:
    if word == "numeric":
        return f"expected numeric (int or float), got {_go_type(value)}"
    if word == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    return f"expected {word}, got {_shown(value)}"


def _go_type(value: Any) -> str:
    names: tuple[tuple[type, str], ...] = ((bool, "bool"), (str, "string"), (dict, "map[string]interface {}"))
    return next((name for kind, name in names if isinstance(value, kind)), "[]interface {}")


def _go_syntax(value: Any) -> str:
    """Return Go's %#v."""
    if isinstance(value, dict):
        inner = ", ".join(f"{quoted(name)}:{_go_syntax(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(_go_syntax(item) for item in value)}}}"
    if value is None:
        return "interface {}(nil)"
    return quoted(value) if isinstance(value, str) else _format_go(value)


def _check_list(schema: Schema, value: Any, path: str, problems: Problems) -> None:
    if not isinstance(value, list):
        problems.append((path, f"expected list, got {_shown(value)}"))
        return
    keys: set[str] = set()
    for index, item in enumerate(value):
        where = f"{path}[{index}]"
        if schema.is_granular_list:
            try:
                element = list_element(schema, item)
            except ValueError as error:
                problems.append((path, f"element {index}: {error}"))
                continue
            where = path + show_path((element,))
            if element in keys:
                problems.append((path, f"duplicate entries for key {show_path((element,))}"))
            keys.add(element)
        _check(schema.items or ANY, item, where, problems)


def _shown(value: Any) -> str:
    """Return Go's %#v of an unstructured value, as far as clients see it."""
    return f"&{{{_format_go(value)}}}"


def _format_go(value: Any) -> str:
    if value is None or value is ABSENT:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{_format_go(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(_format_go(item) for item in value) + "]"
    return go_float(value) if isinstance(value, float) else str(value)
