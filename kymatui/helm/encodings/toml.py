"""TOML as Helm's fromToml and toToml: read by `tomllib`, written as BurntSushi/toml 1.6 does.

Written: plain values before tables, sorted keys, two spaces per level.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from typing import Any, Final

from kymatui.helm.encodings.json_encoder import JsonError, plain_value
from kymatui.helm.gotime.calendar import UTC_LOCATION, Location, fixed_location
from kymatui.helm.gotime.durations import Duration
from kymatui.helm.gotime.times import Time
from kymatui.helm.govalues.budget import charge, watched, within_deadline
from kymatui.helm.govalues.comparing import is_nil
from kymatui.helm.govalues.floats import format_float
from kymatui.helm.govalues.naming import key_type, type_kind
from kymatui.helm.govalues.ordering import sorted_keys
from kymatui.helm.govalues.quoting import quote, quote_rune
from kymatui.helm.govalues.types import Int64, Object, TypedList, go_type

VALUE: Final = 200
"""Bytes of a value with its key."""
TABLE: Final = 1000
"""Bytes that tomllib takes for each table that a key with dots or brackets names."""
_DEEPEST_READ: Final = 100
_DEEPEST: Final = 300
_TABLES: Final = "[]map[string]interface {}"
_INT64: Final = range(-(2**63), 2**63)
_LOCAL_DATETIME: Final = Location("datetime-local")
_LOCAL_DATE: Final = Location("date-local")
_LOCAL_TIME: Final = Location("time-local")
_LAYOUTS: Final = {
    _LOCAL_DATETIME: "2006-01-02T15:04:05.999999999",
    _LOCAL_DATE: "2006-01-02",
    _LOCAL_TIME: "15:04:05.999999999",
}
_UNREADABLE: Final = re.compile("[\ud800-\udfff]")
_LONG_KEY: Final = re.compile(  # tomllib takes the square of its parts in time and memory
    r"(?:^|[\[{,])[ \t]*+(?:(?:[A-Za-z0-9_-]++|\"(?:\\.|[^\"\\\n])*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}", re.MULTILINE
)
_POSITION: Final = re.compile(
    r"(?P<complaint>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)"
)
_NO_KEY: Final = ("Expected '=' after a key in a key/value pair", "Invalid statement")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SHORT: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f"}
_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\\x7f]')


class TomlSyntaxError(ValueError):
    """A text that is not TOML."""


def decode_toml(text: str) -> dict[str, Any]:
    """Return the document. Raise TomlSyntaxError, and LimitError beyond the rendering's time and memory.

    Integers are int64, times time.Time, lists of tables []map[string]interface{}.
    """
    if _LONG_KEY.search(text):
        raise TomlSyntaxError("toml: a key has more than 100 parts")
    if _UNREADABLE.search(text):
        raise TomlSyntaxError("toml: the text is not UTF-8")
    charge(TABLE * (text.count(".") + text.count("[")))
    try:
        return _go_table(within_deadline(_load, text.removeprefix("\ufeff")), 0)
    except RecursionError:
        raise TomlSyntaxError(f"toml: a value is nested more than {_DEEPEST_READ} deep") from None
    except ValueError as error:
        raise TomlSyntaxError(f"toml: {_go_message(str(error), text)}") from None


def _go_message(message: str, text: str) -> str:
    """Return the message of BurntSushi/toml for the errors that a text of another kind causes, else tomllib's."""
    if not (match := _POSITION.fullmatch(message)):
        return message
    lines = text.split("\n")
    line = int(match["line"] or len(lines))
    content = lines[line - 1]
    character = content[int(match["column"]) - 1 :][:1] if match["column"] else ""
    if match["complaint"] in _NO_KEY and character not in ("=", "."):
        return f"line {line}: " + (
            f"expected '.' or '=', but got {quote_rune(ord(character))} instead"
            if character
            else "unexpected EOF; expected key separator '='"
        )
    if match["complaint"] == "Invalid value" and not character:
        return f"line {line} (last key {quote(content.partition('=')[0].strip())}): unexpected EOF; expected value"
    return message


def _load(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=_parse_float)


def _parse_float(text: str) -> float:
    number = float(text)
    if math.isinf(number) and not text.endswith("inf"):
        raise TomlSyntaxError(f"{text} is out of range for float64")
    return number


def _go_table(table: dict[str, Any], depth: int) -> dict[str, Any]:
    charge(VALUE * len(table))
    return {key: _go_value(value, depth + 1) for key, value in table.items()}


def _go_value(value: Any, depth: int) -> Any:
    """Return a value of tomllib as Go's type."""
    if depth > _DEEPEST_READ:
        raise RecursionError
    match value:
        case bool() | float() | str():
            return value
        case int():
            if value not in _INT64:
                raise TomlSyntaxError("an integer is out of range for int64")
            return Int64(value)
        case dict():
            return _go_table(value, depth)
        case list():
            charge(VALUE * len(value))
            items = [_go_value(item, depth + 1) for item in watched(value)]
            return TypedList(_TABLES, items) if items and all(type(item) is dict for item in items) else items
        case _:
            return _go_time(value)


def _go_time(value: datetime.datetime | datetime.date | datetime.time) -> Time:
    if isinstance(value, datetime.datetime) and (offset := value.utcoffset()) is not None:
        location = fixed_location("", int(offset.total_seconds())) if offset else UTC_LOCATION
        return Time.of(value, location)
    date, time, location = (0, 1, 1), datetime.time(), _LOCAL_TIME
    if isinstance(value, datetime.date):
        date, location = (value.year, value.month, value.day), _LOCAL_DATE
    if isinstance(value, datetime.datetime):
        time, location = value.time(), _LOCAL_DATETIME
    elif isinstance(value, datetime.time):
        time = value
    seconds = time.hour * 3600 + time.minute * 60 + time.second
    return Time.civil(date, seconds, time.microsecond * 1000, location)


class TomlError(ValueError):
    """A value that TOML cannot represent; the message is Go's."""


def encode_toml(value: Any) -> str:
    """Return toml.Encoder.Encode. Raise TomlError with Go's message."""
    return _Writer().document(value)


def _is_marshaler(value: Any) -> bool:
    return isinstance(value, (Time, Duration)) or (isinstance(value, Object) and hasattr(value, "go_json"))


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, Object) and not _is_marshaler(value))


def _is_table_array(value: Any) -> bool:
    """Return whether a list has only tables; a nil in any list is an error."""
    if not isinstance(value, list) or not value:
        return False
    if any(is_nil(item) for item in value):
        raise TomlError("toml: cannot encode array with nil element")
    for item in value:
        _is_table_array(item)  # a nil in a nested list is an error too
    return all(map(_is_table, value))


def _entries(table: Any) -> dict[Any, Any]:
    if isinstance(table, Object):
        return {name: table.read_field(name) for name in table.go_fields if name[0].isupper()}
    entries: dict[Any, Any] = table
    if type_kind(key_type(go_type(entries))) != "string":
        raise TomlError("toml: cannot encode a map with non-string key type")
    return entries


class _Writer:
    def __init__(self) -> None:
        self.pieces: list[str] = []

    def document(self, value: Any) -> str:
        self.encode((), value)
        return "".join(self.pieces)

    def newline(self) -> None:
        if self.pieces:
            self.pieces.append("\n")

    def encode(self, key: tuple[str, ...], value: Any) -> None:
        if len(key) > _DEEPEST:
            raise TomlError(f"toml: the value is nested more than {_DEEPEST} deep")
        if is_nil(value) and not isinstance(value, list):
            return
        if _is_table(value):
            self.table(key, value)
        elif _is_table_array(value):
            self.tables(key, value)
        else:
            self.pair(key, value)

    def pair(self, key: tuple[str, ...], value: Any, *, inline: bool = False) -> None:
        if not key:
            self.pieces.append(self.element(value))
            return
        self.pieces.append(f"{_indent(key)}{_quoted_key(key[-1])} = {self.element(value)}")
        if not inline:
            self.newline()

    def table(self, key: tuple[str, ...], value: Any) -> None:
        if len(key) == 1:
            self.newline()
        if key:
            self.pieces.append(f"{_indent(key)}[{_joined(key)}]")
            self.newline()
        self.entries(key, value)

    def tables(self, key: tuple[str, ...], value: list[Any]) -> None:
        if not key:
            raise TomlError("toml: top-level values must be Go maps or structs")
        for item in value:
            self.newline()
            self.pieces.append(f"{_indent(key)}[[{_joined(key)}]]")
            self.newline()
            self.entries(key, item)

    def entries(self, key: tuple[str, ...], table: Any) -> None:
        for _, name, value in _ordered(table):
            if not is_nil(value):
                self.encode((*key, name), value)

    def element(self, value: Any, depth: int = 0) -> str:
        if depth > _DEEPEST:
            raise TomlError(f"toml: the value is nested more than {_DEEPEST} deep")
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, Time):
            return value.format(_LAYOUTS.get(value.location, "2006-01-02T15:04:05.999999999Z07:00"))
        if isinstance(value, Duration):
            return _quoted(value.go_string())
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, float):
            return _float(value)
        if isinstance(value, str):
            return _quoted(value)
        if isinstance(value, list):
            return "[" + ", ".join(self.element(item, depth + 1) for item in value) + "]"
        if _is_table(value):
            return self.inline_table(value, depth)
        return _marshaled(value)

    def inline_table(self, table: Any, depth: int) -> str:
        ordered = _ordered(table)
        subs = sum(is_sub for is_sub, _, _ in ordered)
        text = "{"
        for number, (is_sub, name, value) in enumerate(ordered):
            if is_nil(value):
                continue
            text += f"{_quoted_key(name)} = {self.element(value, depth + 1)}"
            last = number == len(ordered) - 1 if is_sub or not subs else False
            text += "" if last else ", "
        return text + "}"


def _ordered(table: Any) -> list[tuple[bool, str, Any]]:
    """Return (is a table, name, value) of the entries, plain values first."""
    entries = _entries(table)
    names = entries if isinstance(table, Object) else sorted_keys(entries)
    tables = [
        (_is_table(value) or _is_table_array(value), str(name), value)
        for name, value in ((name, entries[name]) for name in names)
    ]
    return [entry for entry in tables if not entry[0]] + [entry for entry in tables if entry[0]]


def _marshaled(value: Any) -> str:
    try:
        return _quoted(str(plain_value(value)))
    except JsonError as error:
        raise TomlError(f"unsupported type: {go_type(value)}") from error


def _indent(key: tuple[str, ...]) -> str:
    return "  " * (len(key) - 1)


def _quoted_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _joined(key: tuple[str, ...]) -> str:
    return ".".join(map(_quoted_key, key))


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _float(number: float) -> str:
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    text = format_float(number)
    return text if "e" in text or "." in text else f"{text}.0"
