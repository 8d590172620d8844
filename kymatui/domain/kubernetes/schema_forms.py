"""Forms from schemas: the editable fields of a module CR or of chart values, and their validation.

The schemas are openAPIV3Schema of CRDs and values.schema.json of charts. The form's validation is advisory: the
server or Helm checks the result again.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from kymatui.json_input import read_json

Json = dict[str, Any]
Path = tuple[str, ...]

_DEEPEST: Final = 4  # a deeper form is harder to read than the JSON of the field
_MOST: Final = 60  # fields of a form


class FieldKind(StrEnum):
    """The input kinds of a field; `DATA` needs more than one line and is entered as JSON."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    SWITCH = "true or false"
    DATA = "JSON"


class FormField(Struct, frozen=True):
    """One field of a form; `about` is the schema's description."""

    path: Path
    kind: FieldKind
    about: str = ""
    default: object = None
    choices: tuple[str, ...] = ()
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None

    @property
    def label(self) -> str:
        return ".".join(self.path)

    @property
    def hint(self) -> str:
        """Return the allowed values in a few words."""
        hints = [", ".join(self.choices)] if self.choices else [self.kind.value]
        hints += [f"at least {self.minimum:g}"] if self.minimum is not None else []
        hints += [f"at most {self.maximum:g}"] if self.maximum is not None else []
        hints += ["required"] if self.required else []
        hints += [f"default {format_value(self.default)}"] if self.default is not None else []
        return "; ".join(hints)


def form_fields(schema: Mapping[str, Any], root: Path = ()) -> tuple[FormField, ...]:
    """Return the fields of a schema in its order, limited in depth and number; () without properties."""
    if not isinstance(schema.get("properties"), Mapping):
        return ()
    return tuple(islice(_fields(schema, root, False, _DEEPEST), _MOST))


def _fields(schema: Mapping[str, Any], path: Path, required: bool, depth: int) -> Iterator[FormField]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and properties and depth:
        required_names = schema.get("required")
        needed = (
            set(map(str, required_names))
            if isinstance(required_names, Sequence) and not isinstance(required_names, str)
            else set()
        )
        for name, below in properties.items():
            if isinstance(below, Mapping):
                yield from _fields(below, (*path, str(name)), str(name) in needed, depth - 1)
    elif path:
        yield _field(schema, path, required)


def _field(schema: Mapping[str, Any], path: Path, required: bool) -> FormField:
    kinds = schema.get("type")
    first = next((name for name in kinds if name != "null"), "") if isinstance(kinds, list) else kinds
    kind = {
        "string": FieldKind.TEXT,
        "integer": FieldKind.INTEGER,
        "number": FieldKind.NUMBER,
        "boolean": FieldKind.SWITCH,
    }.get(str(first), FieldKind.DATA)
    if schema.get("x-kubernetes-int-or-string"):
        kind = FieldKind.TEXT
    choices = schema.get("enum")
    return FormField(
        path,
        kind,
        " ".join(str(schema.get("description") or "").split()),
        schema.get("default"),
        tuple(map(format_value, choices)) if isinstance(choices, list) else (),
        required,
        _number(schema.get("minimum")),
        _number(schema.get("maximum")),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def format_value(value: object) -> str:
    """Format a value for an input field."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def value_at(document: Mapping[str, Any], path: Path) -> object:
    """Return the value at a path, None if absent."""
    current: object = document
    for name in path:
        if not isinstance(current, Mapping) or name not in current:
            return None
        current = current[name]
    return current


def parse_value(field: FormField, text: str) -> object:
    """Parse the input of a field, None if empty. Raises ValueError with a message for the user."""
    if not text.strip():
        if field.required:
            raise ValueError(f"{field.label} is required")
        return None
    value = _read(field, text)
    if field.choices and format_value(value) not in field.choices:
        raise ValueError(f"{field.label} must be one of {', '.join(field.choices)}")
    _check_range(field, value)
    return value


def _read(field: FormField, text: str) -> object:
    stripped = text.strip()
    match field.kind:
        case FieldKind.TEXT:
            return text
        case FieldKind.SWITCH:
            if stripped.lower() not in ("true", "false"):
                raise ValueError(f"{field.label} must be true or false")
            return stripped.lower() == "true"
        case FieldKind.INTEGER | FieldKind.NUMBER:
            match = re.fullmatch(r"[+-]?[0-9]+", stripped)
            if match:
                return int(stripped)
            if field.kind is FieldKind.INTEGER:
                raise ValueError(f"{field.label} must be a whole number")
            try:
                return float(stripped)
            except ValueError:
                raise ValueError(f"{field.label} must be a number") from None
        case FieldKind.DATA:
            try:
                document: object = read_json(stripped)
            except ValueError as error:
                raise ValueError(f"{field.label} is not valid JSON: {error}") from None
            return document


def _check_range(field: FormField, value: object) -> None:
    number = _number(value)
    if number is None:
        return
    if field.minimum is not None and number < field.minimum:
        raise ValueError(f"{field.label} is at least {field.minimum:g}")
    if field.maximum is not None and number > field.maximum:
        raise ValueError(f"{field.label} is at most {field.maximum:g}")


def with_value(document: Mapping[str, Any], path: Path, value: object) -> Json:
    """Return a copy with another value at a path; None removes the value and parents that become empty."""
    changed: Json = copy.deepcopy(dict(document))
    _write(changed, path, value)
    return changed


def _write(document: Json, path: Path, value: object) -> None:
    first, *rest = path
    if not rest:
        if value is None:
            document.pop(first, None)
        else:
            document[first] = value
        return
    below = document.get(first)
    if not isinstance(below, dict):
        if value is None:
            return
        below = document[first] = {}
    _write(below, tuple(rest), value)
    if not below:
        document.pop(first, None)


def overrides(document: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs from the defaults; null marks a removed key.

    Only the differences are saved, so that unchanged values follow the defaults when these change.
    """
    overridden: dict[str, Any] = {}
    for key, value in document.items():
        before = defaults.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if below := overrides(value, before):
                overridden[key] = below
        elif key not in defaults or value != before or isinstance(value, bool) is not isinstance(before, bool):
            overridden[key] = value
    return overridden | {key: None for key, before in defaults.items() if key not in document and before is not None}
