"""JSON decoding as in Go's encoding/json into interface{}: numbers are float64, errors are Go's."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

from kymatui.helm.govalues.budget import charge, tick
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.text import is_valid, runes, to_bytes

_SPACE: Final = b" \t\n\r"
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_BEGINNING: Final = "looking for beginning of value"
_KEY: Final = "looking for beginning of object key string"
_WITHIN: Final = ("in numeric", "after decimal", "in exponent", "in literal", "in string escape", "in \\u")
_LITERALS: Final = {0x74: b"true", 0x66: b"false", 0x6E: b"null"}
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_DIGITS: Final = re.compile(rb"[0-9]*")
_GO_NAMES: Final = {dict: "object", list: "array", str: "string", bool: "bool", float: "number"}
_MAX_DEPTH: Final = 10_000
VALUE: Final = 100
"""Bytes that a value takes with its place in a list or object."""


class JsonSyntaxError(ValueError):
    """Invalid or unsuitable JSON; the message is Go's."""


class NumberRangeError(JsonSyntaxError):
    """A number out of float64's range."""


def decode_json(text: str) -> Any:
    """Return json.Unmarshal into interface{}."""
    text = runes(text)
    charge(VALUE * sum(map(text.count, "[{,")))
    try:
        value = _DECODER.decode(text.strip(" \t\n\r"))
    except (ValueError, RecursionError):
        _Scanner(to_bytes(text)).complain()
    return without_surrogates(value) if _SURROGATE_ESCAPE.search(text) else value


def decode_json_object(text: str) -> dict[str, Any] | None:
    """Return json.Unmarshal into map[string]interface{}; None is a nil map."""
    value = _decode_for(text, dict, "map[string]interface {}")
    return value if isinstance(value, dict) else None


def decode_json_array(text: str) -> list[Any] | None:
    """Return json.Unmarshal into []interface{}; None is a nil slice."""
    value = _decode_for(text, list, "[]interface {}")
    return value if isinstance(value, list) else None


def _decode_for(text: str, kind: type, expected: str) -> Any:
    try:
        value = decode_json(text)
    except NumberRangeError:
        if text.lstrip(" \t\n\r")[:1] in ("{", "["):
            raise
        value = 0.0  # the wrong type is reported first
    if value is not None and not isinstance(value, kind):
        raise mistyped(value, expected)
    return value


def mistyped(value: Any, expected: str) -> JsonSyntaxError:
    """Return Go's error for a value that does not fit the variable."""
    return JsonSyntaxError(f"json: cannot unmarshal {_GO_NAMES[type(value)]} into Go value of type {expected}")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonSyntaxError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _no_constant(text: str) -> NoReturn:
    raise ValueError(text)


class _Decoder(json.JSONDecoder):
    """Python's decoder, restricted to strict JSON."""


_DECODER: Final = _Decoder(parse_float=_number, parse_int=_number, parse_constant=_no_constant)


def without_surrogates(value: Any) -> Any:
    """Replace unpaired surrogates from escapes by U+FFFD, as Go does."""
    if isinstance(value, str):
        return value if is_valid(value) else "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return [without_surrogates(item) for item in value] if isinstance(value, list) else value


class _Scanner:
    """Finds the position of a syntax error, without recursion so that deep nesting is harmless."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def complain(self) -> NoReturn:
        open_brackets: list[int] = []
        self.value(open_brackets)
        while open_brackets:
            tick()
            self.after_value(open_brackets)
        self.skip_space()
        if self.position < len(self.data):
            self.fail("after top-level value")
        overflow = re.search(rb"-?[0-9][0-9.eE+-]*", self.data)
        for number in re.finditer(rb'"(?:[^"\\]|\\.)*"|(-?[0-9][0-9.eE+-]*)', self.data):
            if number.group(1) and math.isinf(float(number.group(1))):
                overflow = number
                break
        digits = overflow.group().decode() if overflow else ""
        raise NumberRangeError(f"json: cannot unmarshal number {digits} into Go value of type float64")

    def fail(self, context: str) -> NoReturn:
        # At the end of input, Go checks whether a space would be valid.
        if self.position >= len(self.data) and not context.startswith(_WITHIN):
            raise JsonSyntaxError("unexpected end of JSON input")
        character = chr(self.data[self.position]) if self.position < len(self.data) else " "
        quoted = {"'": "'\\''", '"': "'\"'"}.get(character) or f"'{quote(character)[1:-1]}'"
        raise JsonSyntaxError(f"invalid character {quoted} {context}")

    def peek(self) -> int:
        return self.data[self.position] if self.position < len(self.data) else -1

    def skip_space(self) -> int:
        while self.position < len(self.data) and self.data[self.position] in _SPACE:
            self.position += 1
        return self.peek()

    def value(self, open_brackets: list[int]) -> None:
        """Read a scalar, or the start of a list or an object, up to its first scalar."""
        byte = self.skip_space()
        while byte in (0x5B, 0x7B):
            self.position += 1
            if len(open_brackets) >= _MAX_DEPTH:
                raise JsonSyntaxError("exceeded max depth")
            if self.skip_space() == byte + 2:
                self.position += 1
                return
            open_brackets.append(byte)
            if byte == 0x7B:
                self.key(_KEY)
            byte = self.skip_space()
        if byte == 0x22:
            self.string()
        elif byte == 0x2D or 0x30 <= byte <= 0x39:
            self.number()
        elif byte in _LITERALS:
            self.literal(_LITERALS[byte])
        else:
            self.fail(_BEGINNING)

    def key(self, context: str) -> None:
        if self.skip_space() != 0x22:
            self.fail(context)
        self.string()
        if self.skip_space() != 0x3A:
            self.fail("after object key")
        self.position += 1

    def after_value(self, open_brackets: list[int]) -> None:
        byte = self.skip_space()
        opening = open_brackets[-1]
        if byte == opening + 2:
            self.position += 1
            open_brackets.pop()
        elif byte == 0x2C:
            self.position += 1
            if opening == 0x7B:
                self.key(_KEY)
            self.value(open_brackets)
        else:
            self.fail("after array element" if opening == 0x5B else "after object key:value pair")

    def string(self) -> None:
        self.position += 1
        while True:
            plain = _PLAIN.match(self.data, self.position)
            self.position = plain.end() if plain else self.position
            byte = self.peek()
            if byte == 0x22:
                self.position += 1
                return
            if byte != 0x5C:
                self.fail("in string literal")
            self.position += 1
            self.escape()

    def escape(self) -> None:
        byte = self.peek()
        if byte == 0x75:
            for _ in range(4):
                self.position += 1
                if self.peek() not in _HEX:
                    self.fail("in \\u hexadecimal character escape")
        elif byte < 0 or byte not in b'"\\/bfnrt':
            self.fail("in string escape code")
        self.position += 1

    def number(self) -> None:
        if self.peek() == 0x2D:
            self.position += 1
        if self.peek() == 0x30:
            self.position += 1
        else:
            self.digits("in numeric literal")
        if self.peek() == 0x2E:
            self.position += 1
            self.digits("after decimal point in numeric literal")
        if self.peek() in (0x65, 0x45):
            self.position += 1
            if self.peek() in (0x2B, 0x2D):
                self.position += 1
            self.digits("in exponent of numeric literal")

    def digits(self, context: str) -> None:
        match = _DIGITS.match(self.data, self.position)
        if match is None or not match.group():
            self.fail(context)
        self.position = match.end()

    def literal(self, word: bytes) -> None:
        for expected in word:
            if self.peek() != expected:
                self.fail(f"in literal {word.decode()} (expecting {quote(chr(expected))!s})".replace('"', "'"))
            self.position += 1
