"""Typed decoding of built-in kinds: check types, drop unknown fields, normalise values.

The messages are those of Go's JSON decoder, and of sigs.k8s.io/json for unknown fields.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from kymatui.schemas.types.schema_node import Object, Schema
from kymatui.schemas.values.metav1_time import TimeError, show_micro_time, show_time
from kymatui.schemas.values.quantity import QuantityError, canonical

_DROP = object()
_RANGES = {"int32": 1 << 31, "int64": 1 << 63}


class DecodeError(ValueError):
    """The object cannot be decoded as its kind; the text is the decoder's."""


class _Run:
    """One decoding: it keeps the first error and collects unknown fields."""

    __slots__ = ("error", "unknown")

    def __init__(self) -> None:
        self.error = ""
        self.unknown: list[str] = []

    def fail(self, text: str) -> None:
        if not self.error:
            self.error = text


def decode(schema: Schema, obj: Object) -> tuple[Object, list[str]]:
    """Return the object as the server returns it, and the strict-decoding messages. Raise `DecodeError`.

    `kind` and `apiVersion` are copied. Lists keep their order, null means not set.
    """
    run = _Run()
    value = _struct(run, schema, obj, "", _GoPath(schema.go_type.partition(".")[2], ()))
    if run.error:
        raise DecodeError(run.error)
    for name in ("kind", "apiVersion"):
        if name in obj:
            value[name] = obj[name]
    return value, run.unknown


class _GoPath:
    """The decoder's path: the innermost struct and the fields that lead to it."""

    __slots__ = ("names", "struct")

    def __init__(self, struct: str, names: tuple[str, ...]) -> None:
        self.struct = struct
        self.names = names

    def __str__(self) -> str:
        return f"{self.struct}.{'.'.join(self.names)}"


def _mismatch(run: _Run, value: Any, go_type: str, at: _GoPath) -> None:
    what = json_type(value)
    if what == "number" and go_type in _RANGES:
        what = f"number {value}"
    run.fail(f"json: cannot unmarshal {what} into Go struct field {at} of type {go_type}")


def json_type(value: Any) -> str:
    """Return the decoder's name of a JSON type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _struct(run: _Run, schema: Schema, obj: Object, where: str, at: _GoPath) -> Object:
    out: Object = {}
    properties = schema.properties
    for name, value in obj.items():
        known = properties.get(name)
        if known is None:
            run.unknown.append(f'unknown field "{where}{name}"')
            continue
        if value is None:
            continue
        decoded = _value(run, known, value, f"{where}{name}", _GoPath(at.struct, (*at.names, name)))
        if decoded is not _DROP:
            out[name] = decoded
    for name, known in _shown(schema):
        if name not in out:
            out[name] = empty(known)
    return out


def _shown(schema: Schema) -> tuple[tuple[str, Schema], ...]:
    """Return the fields that are always encoded, even if not set."""
    shown_fields: tuple[tuple[str, Schema], ...] | None = schema.compiled.get("shown")
    if shown_fields is None:
        skipped = ("kind", "apiVersion") if "metadata" in schema.properties else ()
        shown_fields = tuple(
            (n, c) for n, c in schema.properties.items() if c.zero in ("show", "null") and n not in skipped
        )
        schema.compiled["shown"] = shown_fields
    return shown_fields


def empty(schema: Schema) -> Any:
    """Return the encoding of a field that was never set and is not omitted."""
    if schema.zero == "null":
        return None
    if schema.type == "string" and not schema.format:
        return ""
    if schema.type == "integer" or schema.int_or_string:
        return 0
    if schema.type == "boolean":
        return False
    if schema.format == "quantity":
        return "0"
    return {name: empty(known) for name, known in _shown(schema)} if schema.properties else None


def _value(run: _Run, schema: Schema, value: Any, where: str, at: _GoPath) -> Any:
    if schema.properties:
        if not isinstance(value, dict):
            if schema.go_type == "v1.JSONSchemaProps":
                return _schema_or(run, schema, value, where, at)
            _mismatch(run, value, schema.go_type, at)
            return _DROP
        return _struct(run, schema, value, where + ".", _GoPath(schema.go_type.partition(".")[2], at.names))
    if schema.type == "array":
        return _array(run, schema, value, where, at)
    if schema.additional is not None:
        return _map(run, schema, schema.additional, value, where, at)
    return _scalar(run, schema, value, at)


def _schema_or(run: _Run, schema: Schema, value: Any, where: str, at: _GoPath) -> Any:
    """Decode JSONSchemaPropsOrBool and JSONSchemaPropsOrArray."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        return [_value(run, schema, item, f"{where}[{index}]", at) for index, item in enumerate(value)]
    _mismatch(run, value, schema.go_type, at)
    return _DROP


def _array(run: _Run, schema: Schema, value: Any, where: str, at: _GoPath) -> Any:
    if not isinstance(value, list):
        _mismatch(run, value, schema.go_type, at)
        return _DROP
    if not value:
        return [] if schema.zero != "drop" else _DROP
    items = schema.items
    if items is None:
        return value
    out = []
    for index, item in enumerate(value):
        location = f"{where}[{index}]"
        decoded = empty_item(items) if item is None else _value(run, items, item, location, at)
        out.append(empty_item(items) if decoded is _DROP else decoded)
    return out


def empty_item(schema: Schema) -> Any:
    """Return the list item for null or an empty value."""
    if schema.properties:
        return {name: empty(known) for name, known in _shown(schema)}
    return {"string": "", "integer": 0, "boolean": False}.get(schema.type, {} if schema.additional else None)


def _map(run: _Run, schema: Schema, values: Schema, value: Any, where: str, at: _GoPath) -> Any:
    if not isinstance(value, dict):
        _mismatch(run, value, schema.go_type, at)
        return _DROP
    if not value:
        return {} if schema.zero != "drop" else _DROP
    if values.type == "string" and not values.format:
        return _texts(run, value, values, at)
    out = {}
    for name, item in value.items():
        decoded = empty_item(values) if item is None else _value(run, values, item, f"{where}.{name}", at)
        out[name] = empty_item(values) if decoded is _DROP else decoded
    return out


def _texts(run: _Run, value: Object, values: Schema, at: _GoPath) -> Object:
    for name, item in value.items():
        if not isinstance(item, str):
            if item is None:
                return _texts(run, {n: "" if v is None else v for n, v in value.items()}, values, at)
            _mismatch(run, item, values.go_type, at)
            return {n: v for n, v in value.items() if n != name}
    return dict(value)


def _scalar(run: _Run, schema: Schema, value: Any, at: _GoPath) -> Any:
    decode_as = _FORMATS.get(schema.format) or _TYPES.get(schema.type)
    if schema.int_or_string:
        return _int_or_string(run, value, at)
    if decode_as is None:
        return value
    decoded = decode_as(run, schema, value, at)
    if schema.zero == "drop" and decoded in ("", 0, False):
        return _DROP
    return decoded


def _text(run: _Run, schema: Schema, value: Any, at: _GoPath) -> Any:
    if isinstance(value, str):
        return value
    _mismatch(run, value, schema.go_type, at)
    return _DROP


def _boolean(run: _Run, schema: Schema, value: Any, at: _GoPath) -> Any:
    if isinstance(value, bool):
        return value
    _mismatch(run, value, schema.go_type, at)
    return _DROP


def _integer(run: _Run, schema: Schema, value: Any, at: _GoPath) -> Any:
    limit = _RANGES[schema.format]
    if isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit:
        return value
    _mismatch(run, value, schema.go_type, at)
    return _DROP


def _number(run: _Run, schema: Schema, value: Any, at: _GoPath) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    _mismatch(run, value, schema.go_type, at)
    return _DROP


def _int_or_string(run: _Run, value: Any, at: _GoPath) -> Any:
    if isinstance(value, str):
        return value
    limit = _RANGES["int32"]
    if isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit:
        return value
    _mismatch(run, value, "int32", at)
    return _DROP


def _time(run: _Run, schema: Schema, value: Any, at: _GoPath) -> Any:
    if not isinstance(value, str):
        run.fail(f"json: cannot unmarshal {json_type(value)} into Go value of type string")
        return _DROP
    try:
        return show_micro_time(value) if schema.format == "micro-time" else show_time(value)
    except TimeError as error:
        run.fail(str(error))
        return _DROP


def _quantity(run: _Run, schema: Schema, value: Any, at: _GoPath) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        value = str(value)
    try:
        return canonical(value)
    except QuantityError as error:
        run.fail(str(error))
        return _DROP


def _bytes(run: _Run, schema: Schema, value: Any, at: _GoPath) -> Any:
    if isinstance(value, list) and all(type(item) is int and 0 <= item < 256 for item in value):
        return base64.b64encode(bytes(value)).decode()
    if not isinstance(value, str):
        _mismatch(run, value, schema.go_type, at)
        return _DROP
    text = value.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        run.fail(f"illegal base64 data at input byte {illegal_byte(text)}")
        return _DROP
    return text


def illegal_byte(text: str) -> int:
    """Return the position where Go's base64 decoder stops."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for index, char in enumerate(text):
        if char in alphabet:
            continue
        if char == "=" and index % 4 >= 2 and text[index:] in ("=", "=="):
            break
        return index
    return len(text) - len(text) % 4 if len(text) % 4 else len(text)


_Decoder = Callable[[_Run, Schema, Any, _GoPath], Any]
_TYPES: dict[str, _Decoder] = {"string": _text, "boolean": _boolean, "integer": _integer, "number": _number}
_FORMATS: dict[str, _Decoder] = {"date-time": _time, "micro-time": _time, "quantity": _quantity, "byte": _bytes}
