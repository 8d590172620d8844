"""Bodies in Kubernetes' protobuf, the only format of kubectl's typed commands (`create deployment`).

Only requests are decoded; answers are JSON, which the same clients accept. The table beside this module names the
fields of the types by their numbers on the wire: `package.Type number:name:kind …`, where a kind is a scalar, another
type, `*` of a repeated one or `%` of a map's values; a field without a name is inlined.
"""

from __future__ import annotations

import base64
import functools
import importlib.resources
import struct
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from kymatui.sandbox.apimachinery.clock import micro_timestamp, timestamp

PROTOBUF = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DEEPEST = 64

Field = tuple[int, int, Any]
"""(number, wire type, value)."""


class ProtobufError(ValueError):
    """A body that is no protobuf of a known kind."""


def decode_protobuf(data: bytes) -> dict[str, Any]:
    """Return the object of a body with `kind` and `apiVersion`. Raise `ProtobufError`."""
    if not data.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix 6b387300")
    type_meta, raw = b"", b""
    for number, wire, value in _fields(data[len(MAGIC) :]):
        if wire == _BYTES and number == 1:
            type_meta = value
        elif wire == _BYTES and number == 2:
            raw = value
    texts = {number: _text(value) for number, wire, value in _fields(type_meta) if wire == _BYTES}
    api_version, kind = texts.get(1, ""), texts.get(2, "")
    try:
        obj = _message(_type_of(api_version, kind), raw, 0)
    except (TypeError, AttributeError, OverflowError, OSError, struct.error) as error:
        # The wire type does not match the table: a number for a message, or the reverse.
        raise ProtobufError("proto: wrong wireType") from error
    return {"kind": kind, "apiVersion": api_version, **obj}


def _type_of(api_version: str, kind: str) -> str:
    if kind == "DeleteOptions":
        return "meta.DeleteOptions"
    group = api_version.rpartition("/")[0].split(".")[0] or "core"
    name = f"{group}.{kind}"
    if name not in _table():
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    return name


@functools.cache
def _table() -> dict[str, dict[int, tuple[str, str]]]:
    table: dict[str, dict[int, tuple[str, str]]] = {}
    text = importlib.resources.files(__package__).joinpath("protobuf_fields.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        name, *fields = line.split()
        table[name] = {}
        for field in fields:
            number, json_name, kind = field.split(":")
            table[name][int(number)] = (json_name, kind)
    return table


def _fields(data: bytes) -> Iterator[Field]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        value: Any
        if wire == _VARINT:
            value, at = _varint(data, at)
        elif wire == _BYTES:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
            if at > len(data):
                raise ProtobufError("unexpected EOF")
        elif wire == _FIXED64:
            value, at = data[at : at + 8], at + 8
        elif wire == _FIXED32:
            value, at = data[at : at + 4], at + 4
        else:
            raise ProtobufError(f"proto: illegal wireType {wire}")
        yield number, wire, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ProtobufError("unexpected EOF")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _message(name: str, data: bytes, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise ProtobufError("the message is nested too deeply")
    known = _table()[name]
    out: dict[str, Any] = {}
    for number, _, value in _fields(data):
        if number not in known:
            continue
        json_name, kind = known[number]
        if not json_name:
            out.update(_message(kind, value, depth + 1))
        elif kind[0] == "*":
            out.setdefault(json_name, []).append(_value(kind[1:], value, depth))
        elif kind[0] == "%":
            key, item = _entry(kind[1:], value, depth)
            out.setdefault(json_name, {})[key] = item
        else:
            decoded = _value(kind, value, depth)
            if decoded is not None:
                out[json_name] = decoded
    return out


def _entry(kind: str, data: bytes, depth: int) -> tuple[str, Any]:
    """Return one entry of a map; a list value of a map is a message of its own."""
    key, value = "", b""
    for number, _, part in _fields(data):
        if number == 1:
            key = _text(part)
        elif number == 2:
            value = part
    if kind[0] == "*":
        return key, [_value(kind[1:], item, depth) for number, _, item in _fields(value) if number == 1]
    return key, _value(kind, value, depth)


def _value(kind: str, value: Any, depth: int) -> Any:
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar(value)
    return _message(kind, value, depth + 1)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except (UnicodeDecodeError, AttributeError) as error:
        raise ProtobufError("a string is no UTF-8") from error


def _integer(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _moment(value: bytes) -> tuple[int, int] | None:
    """Return seconds and nanoseconds, None for the empty time."""
    parts = {number: _integer(part) for number, _, part in _fields(value)}
    return (parts.get(1, 0), parts.get(2, 0)) if parts else None


def _time(value: bytes) -> str | None:
    moment = _moment(value)
    return timestamp(moment[0]) if moment else None


def _micro_time(value: bytes) -> str | None:
    moment = _moment(value)
    return micro_timestamp(moment[0] + moment[1] / 1e9) if moment else None


def _quantity(value: bytes) -> str:
    return next((_text(part) for number, _, part in _fields(value) if number == 1), "0")


def _int_or_string(value: bytes) -> int | str:
    parts = {number: part for number, _, part in _fields(value)}
    return _text(parts.get(3, b"")) if parts.get(1) else _integer(parts.get(2, 0))


def _json(value: bytes) -> Any:
    raw = next((part for number, _, part in _fields(value) if number == 1), b"")
    try:
        return msgspec.json.decode(raw) if raw else None
    except msgspec.DecodeError as error:
        raise ProtobufError("a raw value is no JSON") from error


def _double(value: bytes) -> float:
    double: float = struct.unpack("<d", value)[0]
    return double


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "int": _integer,
    "bool": bool,
    "bytes": lambda value: base64.b64encode(value).decode(),
    "double": _double,
    "time": _time,
    "micro": _micro_time,
    "quantity": _quantity,
    "intstr": _int_or_string,
    "fields": _json,
    "raw": _json,
}
