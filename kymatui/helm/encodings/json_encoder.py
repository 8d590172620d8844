"""JSON encoding as in Go's encoding/json."""

from __future__ import annotations

import base64
import math
import re
from typing import Any, Final

from kymatui.helm.govalues.bounding import TEXT_LIMIT
from kymatui.helm.govalues.budget import charge, watched
from kymatui.helm.govalues.comparing import is_nil
from kymatui.helm.govalues.floats import format_float
from kymatui.helm.govalues.naming import key_type, type_kind
from kymatui.helm.govalues.ordering import sorted_keys
from kymatui.helm.govalues.text import join_bounded, substituted
from kymatui.helm.govalues.types import BYTES, FunctionError, NilPointer, Object, go_type
from kymatui.helm.yaml.ordering import Fields
from kymatui.helm.yaml.scalars import Timestamp
from kymatui.patterns import deferred

_DEEPEST: Final = 400
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_ESCAPED: Final = deferred('["\\\\\x00-\x1f\u2028\u2029\udc80-\udcff]')
_ESCAPED_FOR_HTML: Final = deferred('["\\\\\x00-\x1f<>&\u2028\u2029\udc80-\udcff]')


COPY: Final = 10
"""Bytes in a copy for each character that an entry counts for, which are eight at least."""


class JsonError(ValueError):
    """A value that JSON cannot represent; the message is Go's."""


def encode_json(value: Any, *, html: bool = True, indent: str = "") -> str:
    """Return json.Marshal, MarshalIndent or an Encoder without HTML escapes. Raise JsonError."""
    return _Writer(html, indent).written(value)


def plain_value(value: Any, *, nil_is_empty: bool = False) -> Any:
    """Return the value as None, bool, int, float, str, list, dict with str keys. Raise JsonError.

    With `nil_is_empty`, a nil map or list becomes an empty one, as in go-yaml, instead of null.
    """
    unfolding = _Unfolding(nil_is_empty)
    try:
        plain = unfolding.plain(value, 0)
    except RecursionError as error:
        raise JsonError(f"json: unsupported value: encountered a cycle via {go_type(value)}") from error
    charge((TEXT_LIMIT - unfolding.left) * COPY)
    return plain


class _Unfolding:
    """Copies shared parts of a value at every occurrence, up to a limit."""

    __slots__ = ("left", "nil_is_empty")

    def __init__(self, nil_is_empty: bool) -> None:
        self.left = TEXT_LIMIT
        self.nil_is_empty = nil_is_empty

    def plain(self, value: Any, depth: int) -> Any:
        kind = type(value)
        self.left -= len(value) + 8 if kind is str else 8
        if self.left < 0:
            raise FunctionError(f"the value would be more than {TEXT_LIMIT} characters long, which is the limit")
        if kind in _AS_IT_IS:
            return value
        if depth > _DEEPEST:
            raise JsonError(f"json: unsupported value: encountered a cycle via {go_type(value)}")
        if isinstance(value, dict):
            return self.plain_map(value, depth)
        if isinstance(value, list):
            return self.plain_list(value, depth)
        if isinstance(value, Object):
            return self.plain(_yaml_fields(value) if self.nil_is_empty else _fields(value), depth + 1)
        if isinstance(value, (int, float)):
            return value
        if isinstance(value, NilPointer):
            return None
        raise JsonError(f"json: unsupported type: {go_type(value)}")

    def plain_map(self, value: dict[Any, Any], depth: int) -> Any:
        if type(value) is dict:
            depth += 1
            return {
                key if type(key) is str else _key_text(key, value): self.plain(item, depth)
                for key, item in value.items()
            }
        if not self.nil_is_empty and is_nil(value):
            return None
        mapping_type = Fields if isinstance(value, Fields) else dict
        return mapping_type({_key_text(key, value): self.plain(item, depth + 1) for key, item in value.items()})

    def plain_list(self, value: list[Any], depth: int) -> Any:
        if type(value) is list:
            depth += 1
            return [self.plain(item, depth) for item in watched(value)]
        if not self.nil_is_empty and is_nil(value):
            return None
        if go_type(value) == BYTES:
            return list(map(int, value)) if self.nil_is_empty else base64.b64encode(bytes(value)).decode()
        return [self.plain(item, depth + 1) for item in value]


_AS_IT_IS: Final = frozenset({str, int, bool, float, type(None), Timestamp})


def _fields(value: Object) -> Any:
    to_json = getattr(value, "go_json", None) or getattr(value, "go_tagged", None)
    try:
        exported = to_json() if to_json else _exported(value)
    except ValueError as error:
        raise JsonError(f"json: error calling MarshalJSON for type {go_type(value)}: {error}") from error
    return Fields(exported) if isinstance(exported, dict) else exported


def _yaml_fields(value: Object) -> Any:
    """Return the fields in lower case, as go-yaml does, or the text of a type that marshals itself."""
    if isinstance(fields := _fields(value), str) and getattr(value, "go_is_timestamp", False):
        return Timestamp(fields)
    return (
        Fields({name.lower(): item for name, item in _exported(value).items()}) if isinstance(fields, dict) else fields
    )


def _exported(value: Object) -> dict[str, Any]:
    return {name: value.read_field(name) for name in value.go_fields if name[0].isupper()}


def _key_text(key: Any, mapping: dict[Any, Any]) -> str:
    if type_kind(key_type(go_type(mapping))) == "string" or isinstance(key, str):
        return str(key)
    if isinstance(key, int) and not isinstance(key, bool):
        return str(int(key))
    raise JsonError(f"json: unsupported type: {go_type(mapping)}")


class _Writer:
    def __init__(self, html: bool, indent: str) -> None:
        self.escaped = _ESCAPED_FOR_HTML if html else _ESCAPED
        self.indent = indent
        self.pieces: list[str] = []

    def written(self, value: Any) -> str:
        self.write(plain_value(value), "\n")
        return join_bounded(self.pieces)

    def write(self, value: Any, line: str) -> None:
        if isinstance(value, str):
            self.pieces.append(self.text(value))
        elif isinstance(value, dict):
            self.write_items(value, line)
        elif isinstance(value, list):
            self.write_elements(value, line)
        else:
            self.pieces.append(scalar(value))

    def text(self, text: str) -> str:
        return f'"{substituted(self.escaped, _escape, text)}"' if self.escaped.search(text) else f'"{text}"'

    def write_items(self, mapping: dict[str, Any], line: str) -> None:
        if not mapping:
            self.pieces.append("{}")
            return
        inner = line + self.indent
        before = "{"
        for key in mapping if isinstance(mapping, Fields) else sorted_keys(mapping):
            self.pieces += [before, inner if self.indent else "", self.text(key), ": " if self.indent else ":"]
            self.write(mapping[key], inner)
            before = ","
        self.pieces += [line if self.indent else "", "}"]

    def write_elements(self, items: list[Any], line: str) -> None:
        if not items:
            self.pieces.append("[]")
            return
        inner = line + self.indent
        before = "["
        for item in watched(items):
            self.pieces += [before, inner if self.indent else ""]
            self.write(item, inner)
            before = ","
        self.pieces += [line if self.indent else "", "]"]


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if character >= "\udc80":  # a byte that is not UTF-8
        return "\\ufffd"
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def scalar(value: Any) -> str:
    """Return null, true, false and numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return json_number(value)
    return str(int(value))


def json_number(number: float) -> str:
    """Return a float as encoding/json: with an exponent below 1e-6 and from 1e21 on."""
    if not math.isfinite(number):
        raise JsonError(f"json: unsupported value: {format_float(number)}")
    magnitude = abs(number)
    if magnitude and not 1e-6 <= magnitude < 1e21:
        mantissa, _, exponent = format_float(number, "e").partition("e")
        return f"{mantissa}e{exponent.replace('-0', '-')}" if exponent.startswith("-0") else f"{mantissa}e{exponent}"
    return format_float(number, "f")
