"""The OpenAPI document of version 2 in protobuf, the only form in which kubectl asks for it.

The field numbers are those of gnostic's `openapi.v2`; fields that the sandbox's documents do not have are left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final

import msgspec

PROTOBUF_V2: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
ANSWERED_V2: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_VARINT, _FIXED64, _BYTES = 0, 1, 2
_EXTENSION: Final = "x-"
_MESSAGES: Final[dict[str, dict[str, tuple[int, str]]]] = {
    "Document": {"swagger": (1, "text"), "info": (2, "Info"), "paths": (8, "Paths"), "definitions": (9, "Schemas")},
    "Info": {"title": (1, "text"), "version": (2, "text")},
    "PathItem": {
        method: (number, "Operation")
        for method, number in zip(("get", "put", "post", "delete", "patch"), (2, 3, 4, 5, 8), strict=True)
    },
    "Operation": {
        "operationId": (5, "text"),
        "produces": (6, "*text"),
        "consumes": (7, "*text"),
        "parameters": (8, "*Parameter"),
        "responses": (9, "Responses"),
        _EXTENSION: (13, "extension"),
    },
    "BodyParameter": {"name": (2, "text"), "in": (3, "text"), "required": (4, "flag"), "schema": (5, "Schema")},
    "QueryParameter": {"in": (2, "text"), "name": (4, "text"), "type": (6, "text")},
    "Response": {"description": (1, "text"), "schema": (2, "SchemaItem")},
    "Schema": {
        "$ref": (1, "text"),
        "format": (2, "text"),
        "description": (4, "text"),
        "default": (5, "any"),
        "multipleOf": (6, "number"),
        "maximum": (7, "number"),
        "exclusiveMaximum": (8, "flag"),
        "minimum": (9, "number"),
        "exclusiveMinimum": (10, "flag"),
        "maxLength": (11, "count"),
        "minLength": (12, "count"),
        "pattern": (13, "text"),
        "maxItems": (14, "count"),
        "minItems": (15, "count"),
        "uniqueItems": (16, "flag"),
        "maxProperties": (17, "count"),
        "minProperties": (18, "count"),
        "required": (19, "*text"),
        "enum": (20, "*any"),
        "additionalProperties": (21, "SchemaItem"),
        "type": (22, "Wrapped"),
        "items": (23, "SchemaItem"),
        "allOf": (24, "*Schema"),
        "properties": (25, "Schemas"),
        _EXTENSION: (31, "extension"),
    },
}
_MAPS: Final = {"Paths": (2, "PathItem"), "Schemas": (1, "Schema"), "Responses": (1, "ResponseItem")}
_WRAPPERS: Final = {"SchemaItem": "Schema", "ResponseItem": "Response", "Wrapped": "text"}
"""Messages with one of several fields, of which the first is used."""


def encode_document(document: dict[str, Any]) -> bytes:
    """Return a document of version 2 as protobuf."""
    return _message("Document", document)


def _message(kind: str, value: Any) -> bytes:
    if kind in _MAPS:
        number, item = _MAPS[kind]
        return b"".join(_field(number, b"".join(_named(name, item, part))) for name, part in value.items())
    if kind in _WRAPPERS:
        return _encoded(1, _WRAPPERS[kind], value)
    if kind == "Parameter":
        if value["in"] == "body":
            return _field(1, _encoded(1, "BodyParameter", value))
        return _field(1, _field(2, _encoded(3, "QueryParameter", value)))
    fields = _MESSAGES[kind]
    return b"".join(
        _encoded(*fields[name], part) if name in fields else _extension(fields, name, part)
        for name, part in value.items()
    )


def _named(name: str, kind: str, value: Any) -> Iterable[bytes]:
    yield _encoded(1, "text", name)
    yield _encoded(2, kind, value)


def _extension(fields: dict[str, tuple[int, str]], name: str, value: Any) -> bytes:
    """Return a vendor extension; other fields that version 2 does not have, such as `nullable`, are left out."""
    if _EXTENSION not in fields or not name.startswith(_EXTENSION):
        return b""
    return _field(fields[_EXTENSION][0], b"".join(_named(name, "any", value)))


def _encoded(number: int, kind: str, value: Any) -> bytes:
    if kind[0] == "*":
        return b"".join(_encoded(number, kind[1:], item) for item in value)
    match kind:
        case "text":
            return _field(number, str(value).encode())
        case "flag" | "count":
            return _varint(number << 3 | _VARINT) + _varint(int(value))
        case "number":
            return _varint(number << 3 | _FIXED64) + struct.pack("<d", value)
        case "any":
            return _field(number, _field(2, msgspec.json.encode(value)))
    return _field(number, _message(kind, value))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
