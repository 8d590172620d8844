"""TOML decoding as BurntSushi/toml 1.6 into map[string]interface{}, with its messages."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Final, NoReturn

from kymatui.helm.encodings.toml_scanner import TomlScanner, quoted_key
from kymatui.helm.gotime.calendar import UTC_LOCATION, Location
from kymatui.helm.gotime.time_parser import parse_time
from kymatui.helm.govalues.budget import charge
from kymatui.helm.govalues.floats import parse_float, parse_int
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.types import Int64, TypedList

__all__ = ["decode_toml"]

_TABLES: Final = "[]map[string]interface {}"
_DEEPEST: Final = 100
VALUE: Final = 200
"""Bytes that a value takes, with its key and what is remembered of both."""
_HEX: Final = frozenset("0123456789abcdefABCDEF")
LOCAL_DATETIME: Final = Location("datetime-local")
LOCAL_DATE: Final = Location("date-local")
LOCAL_TIME: Final = Location("time-local")
_DATES: Final = (
    ("2006-01-02T15:04:05.999999999Z07:00", UTC_LOCATION),
    ("2006-01-02T15:04:05.999999999", LOCAL_DATETIME),
    ("2006-01-02", LOCAL_DATE),
    ("15:04:05.999999999", LOCAL_TIME),
    ("2006-01-02T15:04Z07:00", UTC_LOCATION),
    ("2006-01-02T15:04", LOCAL_DATETIME),
    ("15:04", LOCAL_TIME),
)
_ESCAPES: Final = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
_CODES: Final = {"x": 2, "u": 4, "U": 8}

Key = tuple[str, ...]


def decode_toml(text: str) -> dict[str, Any]:
    """Return the document. Raise TomlSyntaxError with Go's message.

    Integers are int64, times time.Time, [[tables]] []map[string]interface{}.
    """
    return _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self.scan = TomlScanner(text)
        self.mapping: dict[str, Any] = {}
        self.context: Key = ()
        self.key = ""
        self.implicit: set[Key] = set()
        self.arrays: set[Key] = set()  # keys with a list in brackets as value
        self.scan.last_key = self.current

    def current(self) -> str:
        """Return the key for error messages."""
        context = ".".join(map(quoted_key, self.context))
        return f"{context}.{self.key}" if self.key and context else self.key or context

    def document(self) -> dict[str, Any]:
        while self.scan.to_next_statement():
            if self.scan.accept("["):
                self.table()
            else:
                self.pair()
            self.scan.end_of_statement()
        return self.mapping

    def table(self) -> None:
        is_array = self.scan.accept("[")
        key = self.scan.table_name(self.quoted_text)
        if is_array:
            self.scan.closing_bracket()
        self.add_context(key, array=is_array)
        self.note_type(key, is_list=False)

    def pair(self) -> None:
        outer = self.context
        self.value_of(self.scan.key(self.quoted_text))
        self.context, self.key = outer, ""

    def value_of(self, key: Key, depth: int = 0) -> Any:
        """Read the value of a key and store it."""
        self.key = key[-1]
        for part in key[:-1]:
            self.add_implicit((*self.context, part))
        value = self.value(depth)
        self.set_value(self.key, value)
        self.note_type((*self.context, self.key), is_list=isinstance(value, list))
        return value

    def note_type(self, key: Key, *, is_list: bool) -> None:
        if is_list:
            self.arrays.add(key)
        else:
            self.arrays.discard(key)

    def add_implicit(self, key: Key) -> None:
        self.implicit.add(key)
        self.add_context(key, array=False)

    def add_context(self, key: Key, *, array: bool) -> None:
        charge(VALUE * len(key))
        table = self.mapping
        for number, part in enumerate(key[:-1], 1):
            if part not in table:
                self.implicit.add(key[:number])
                table[part] = {}
            table = self.inner(table[part], key[:number], "was already created as a hash.")
        self.context = key[:-1]
        last = key[-1]
        if array:
            tables = table.setdefault(last, TypedList(_TABLES))
            if not _is_table_list(tables):
                self.scan.complain_of_key(f"Key '{_shown(key)}' was already created and cannot be used as an array.")
            tables.append({})
        else:
            self.set_value(last, {})
        self.context = key

    def inner(self, value: Any, key: Key, complaint: str) -> dict[str, Any]:
        if _is_table_list(value):
            value = value[-1]
        if not isinstance(value, dict):
            self.scan.complain_of_key(f"Key '{_shown(key)}' {complaint}")
        return value

    def set_value(self, name: str, value: Any) -> None:
        table = self.mapping
        for number, part in enumerate(self.context, 1):
            table = self.inner(table[part], self.context[:number], "has already been defined.")
        key = (*self.context, name)
        if name not in table:
            table[name] = value
        elif key not in self.implicit:
            self.scan.complain_of_key(f"Key '{_shown(key)}' has already been defined.")
        else:
            self.implicit.discard(key)
            if key in self.arrays:
                table[name] = value

    def value(self, depth: int, *, in_list: bool = False) -> Any:
        charge(VALUE)
        if depth > _DEEPEST:
            self.scan.complain(f"the value is nested more than {_DEEPEST} deep")
        kind, text = self.scan.value_start()
        if kind == "[":
            return self.array(depth)
        if kind == "{":
            return self.inline_table(depth, in_list=in_list)
        if kind == "bool":
            return text == "true"
        if kind == "integer":
            return self.integer(text)
        if kind == "float":
            return self.number(text)
        if kind == "datetime":
            return self.datetime(text)
        return self.text(kind, text)

    def array(self, depth: int) -> list[Any]:
        self.arrays.add((*self.context, self.key))
        items: list[Any] = []
        while self.scan.to_next_element():
            items.append(self.value(depth + 1, in_list=True))
            if not self.scan.after_element():
                break
        return items

    def inline_table(self, depth: int, *, in_list: bool) -> dict[str, Any]:
        outer_context, outer_key = self.context, self.key
        self.context = context = (*outer_context, outer_key)
        self.key = ""
        self.implicit.add(context)
        self.add_context(context, array=in_list)
        table: dict[str, Any] = {}
        while self.scan.to_next_pair():
            key = self.scan.key(self.quoted_text)
            self._insert(table, key, self.value_of(key, depth + 1))
            self.context = context
            if not self.scan.after_pair():
                break
        self.context, self.key = outer_context, outer_key
        return table

    def _insert(self, table: dict[str, Any], key: Key, value: Any) -> None:
        for part in key[:-1]:
            found = table.setdefault(part, {})
            if not isinstance(found, dict):
                self.scan.complain_of_key(f"{quote(_shown(self.context))} is not a table")
            table = found
        table[key[-1]] = value

    def text(self, kind: str, text: str) -> str:
        if kind.startswith('"""') or kind == "'''":
            text = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
        if kind == '"""':
            text = _join_lines(text)
        return self.unescaped(text) if kind in ('"', '"""') else text

    def quoted_text(self, kind: str, text: str) -> str:
        """Return a quoted key."""
        return self.text(kind, text)

    def unescaped(self, text: str) -> str:
        if "\\" not in text:
            return text
        pieces = []
        position = 0
        while position < len(text):
            character = text[position]
            position += 1
            if character != "\\":
                pieces.append(character)
                continue
            escape = text[position]
            position += 1
            if escape in " \t":
                self.scan.complain(f"invalid escape: '\\{escape}'")
            if escape in _ESCAPES:
                pieces.append(_ESCAPES[escape])
                continue
            digits = text[position : position + _CODES[escape]]
            position += _CODES[escape]
            code = int(digits, 16)
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                self.scan.complain(f"Escaped character '\\u{digits}' is not valid UTF-8.")
            pieces.append(chr(code))
        return "".join(pieces)

    def integer(self, text: str) -> Int64:
        self.check_number("integer", text, [text])
        try:
            return Int64(parse_int(text, 0, 64))
        except ValueError:
            self.scan.complain(f"{text} is out of range for int64")

    def number(self, text: str) -> float:
        if text.lstrip("+-") in ("nan", "inf"):
            return math.copysign(float(text.lstrip("+-")), -1.0 if text[0] == "-" else 1.0)
        parts = [part for part in text.replace("e", ".").replace("E", ".").split(".") if part]
        self.check_number("float", text, parts)
        if text.endswith(".") or any(before == "." and not after.isdigit() for before, after in pairwise(text)):
            self.scan.complain(f"Invalid float {quote(text)}: '.' must be followed by one or more digits")
        try:
            return parse_float(text.replace("_", ""))
        except ValueError as error:
            if str(error).endswith("out of range"):
                self.scan.complain(f"{text} is out of range for float64")
            self.scan.complain(f"Invalid float value: {quote(text)}")

    def check_number(self, kind: str, text: str, parts: list[str]) -> None:
        if not all(map(_underscores_ok, parts)):
            self.scan.complain(f"Invalid {kind} {quote(text)}: underscores must be surrounded by digits")
        first = parts[0] if parts else ""
        if (len(first) > 1 and first[0] == "0" and first[1] not in "box") or (
            len(first) > 2 and first[0] in "+-" and first[1] == "0"
        ):
            self.scan.complain(f"Invalid {kind} {quote(text)}: cannot have leading zeroes")

    def datetime(self, text: str) -> Any:
        text = text.replace("z", "Z").replace("t", "T").replace(" ", "T")
        for layout, location in _DATES:
            try:
                moment = parse_time(layout, text, location)
            except ValueError:
                continue
            if _lacks_zero(text, layout):
                break
            return moment
        return self.bad_date(text)

    def bad_date(self, text: str) -> NoReturn:
        self.scan.complain(f"invalid datetime: {quote(text)}")


def _is_table_list(value: Any) -> bool:
    return isinstance(value, TypedList) and value.go_type == _TABLES


def _shown(key: Key) -> str:
    return ".".join(map(quoted_key, key))


def _underscores_ok(text: str) -> bool:
    accept = False
    for character in text:
        if character == "_" and not accept:
            return False
        accept = character in _HEX
    return accept


def _lacks_zero(text: str, layout: str) -> bool:
    for number, character in enumerate(layout):
        if character in ".Z":
            return False
        if not character.isdigit() and text[number] != character:
            return True
    return False


def _join_lines(text: str) -> str:
    """Remove line breaks after a backslash, and the following space."""
    pieces: list[str] = []
    start = position = 0
    while (position := text.find("\\", position)) >= 0:
        if text.startswith("\\\\", position):
            position += 2
            continue
        end = position + 1
        while end < len(text) and text[end] in " \t\r\n":
            end += 1
        if "\n" in text[position:end]:
            pieces.append(text[start:position])
            start = position = end
        else:
            position += 1
    pieces.append(text[start:])
    return "".join(pieces)
