r"""Parser of --set and related flags: Helm's strvals, character by character.

    a.b=1,c={x,y},d[0].e=z,f\.g=h

The flags differ in the type of a value: typed (true, null, whole numbers), a string, JSON, a file's content, or the
literal rest of the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.encodings.json_decoder import without_surrogates
from kymatui.helm.govalues.quoting import quote, quote_rune
from kymatui.helm.govalues.types import Int64, go_type
from kymatui.json_input import JsonInputError, require_few_values

MAX_INDEX: Final = 65536
MAX_NESTING: Final = 30

Values = dict[str, Any]
Convert = Callable[[str], Any]

_WHOLE: Final = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)
_INDEX: Final = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)
_FRAGMENT: Final = re.compile(r"-?[0-9]+\.|-?[0-9]+(?:\.[0-9]+)?[eE]")
_WORDS: Final = {"true": True, "false": False, "null": None}


class _EndError(Exception):
    """The end of the line (Go's io.EOF)."""


class _NotListError(Exception):
    """The value is no list in braces."""


class SetError(HelmError):
    """A --set line that Helm refuses."""


_JSON_HINT: Final = """Write --set-json 'name={"key": "text"}', with keys and texts in double quotes."""


def set_values(target: Values, line: str) -> None:
    """Apply --set: words and whole numbers are typed. Raise SetError."""
    _parse(_Parser(line, _typed), target, "--set")


def set_strings(target: Values, line: str) -> None:
    """Apply --set-string: every value is a string. Raise SetError."""
    _parse(_Parser(line, str), target, "--set-string")


def set_files(target: Values, line: str, read: Callable[[str], str]) -> None:
    """Apply --set-file: every value is the content of the named file. Raise HelmError."""
    _parse(_Parser(line, read), target, "--set-file")


def set_literal(target: Values, line: str) -> None:
    """Apply --set-literal: the value is the rest of the line. Raise SetError."""
    _parse(_LiteralParser(line, str), target, "--set-literal")


def set_json(base: Values, line: str, merge: Callable[[Values, Values], Values]) -> Values:
    """Apply --set-json: an object merged into all values, or name=JSON. Raise SetError."""
    try:
        require_few_values(line)
    except JsonInputError as error:
        raise SetError(f"failed parsing --set-json data: {error}") from None
    stripped = line.strip()
    if stripped.startswith("{"):
        try:
            value = loads(stripped)
        except ValueError as error:
            raise SetError(f"failed parsing --set-json data JSON: {line}", hint=_JSON_HINT) from error
        return merge(base, value)
    try:
        _parse(_JsonParser(line, str), base, "--set-json")
    except SetError as error:
        raise SetError(f"failed parsing --set-json data {line}", hint=_JSON_HINT) from error
    return base


def loads(text: str) -> Any:
    """Return JSON as Go decodes it: all numbers are floats, without NaN and infinities."""
    try:
        return without_surrogates(_DECODER.decode(text))
    except RecursionError as error:
        raise ValueError("exceeded max depth") from error


def _number(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number


def _no_constant(text: str) -> float:
    raise ValueError(f"invalid character {text[0]!r} looking for beginning of value")


_DECODER: Final = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_no_constant)


def _typed(text: str) -> Any:
    folded = text.casefold()
    if folded in _WORDS:
        return _WORDS[folded]
    if text == "0":
        return Int64(0)
    if _WHOLE.match(text) and text[0] != "0" and len(text) <= 20:
        number = int(text)
        if -(1 << 63) <= number < 1 << 63:
            return Int64(number)
    return text


def _parse(parser: _Parser, target: Values, flag: str) -> None:
    try:
        while True:
            parser.key(target, 0)
    except _EndError:
        return
    except SetError as error:
        raise SetError(f"failed parsing {flag} data: {error}", hint=f"Write {flag} name=value.") from error


def _as(kind: type, value: Any, name: str) -> Any:
    """Return the value if it has the type. Raise SetError with Go's panic message."""
    if isinstance(value, kind):
        return value
    type_name = "nil" if value is None else go_type(value)
    raise SetError(f"unable to parse key: interface conversion: interface {{}} is {type_name}, not {name}")


def _put(target: Values, key: str, value: Any) -> None:
    if key:
        target[key] = value


def _put_at(items: list[Any], index: int, value: Any) -> list[Any]:
    if index > MAX_INDEX:
        raise SetError(f"index of {index} is greater than maximum supported index of {MAX_INDEX}")
    items = items + [None] * (index + 1 - len(items))
    items[index] = value
    return items


class _Parser:
    """Parses a line; names end at `=`, `[`, `,` and `.`, and a backslash escapes."""

    key_stops: frozenset[str] = frozenset("=[,.")
    escapes = True

    def __init__(self, line: str, convert: Convert) -> None:
        self.line = line
        self.at = 0
        self.convert = convert

    def until(self, stops: frozenset[str]) -> tuple[str, str]:
        """Return the characters before the next stop, and the stop; "" at the end of the line."""
        chars: list[str] = []
        line = self.line
        while self.at < len(line):
            char = line[self.at]
            self.at += 1
            if char in stops:
                return "".join(chars), char
            if char == "\\" and self.escapes:
                if self.at >= len(line):
                    break
                char = line[self.at]
                self.at += 1
            chars.append(char)
        return "".join(chars), ""

    def key(self, target: Values, nesting: int) -> None:
        name, stop = self.until(self.key_stops)
        if not stop:
            if name:
                raise SetError(f"key {quote(name)} has no value")
            raise _EndError
        if stop == "[":
            self.indexed(target, name, nesting)
        elif stop == "=":
            self.assign(target, name)
        elif stop == ",":
            _put(target, name, "")
            raise SetError(f"key {quote(name)} has no value (cannot end with ,)")
        else:
            self.nested(target, name, nesting + 1)

    def indexed(self, target: Values, name: str, nesting: int) -> None:
        index = self.index()
        items = _as(list, target[name], "[]interface {}") if name in target else []
        filled, failure = self.item(items, index, nesting)
        _put(target, name, filled)
        if failure is not None:
            raise failure

    def nested(self, target: Values, name: str, nesting: int) -> None:
        if nesting > MAX_NESTING:
            raise SetError(f"value name nested level is greater than maximum supported nested level of {MAX_NESTING}")
        inner = _as(dict, target[name], "map[string]interface {}") if name in target else {}
        try:
            self.key(inner, nesting)
        except (_EndError, SetError):
            if inner:
                _put(target, name, inner)
            raise
        if not inner:
            raise SetError(f"key map {quote(name)} has no value")
        _put(target, name, inner)

    def assign(self, target: Values, name: str) -> None:
        try:
            _put(target, name, self.list_value())
        except _EndError:
            _put(target, name, "")
            raise
        except _NotListError:
            _put(target, name, self.convert(self.until(_COMMA)[0]))

    def list_value(self) -> list[Any]:
        """Read a list in braces and a comma after it."""
        if self.at >= len(self.line):
            raise _EndError
        if self.line[self.at] != "{":
            raise _NotListError
        self.at += 1
        items: list[Any] = []
        while True:
            text, stop = self.until(_LIST_STOPS)
            if not stop:
                raise SetError("list must terminate with '}'")
            items.append(self.convert(text))
            if stop == "}":
                self.at += self.line[self.at : self.at + 1] == ","
                return items

    def index(self) -> int:
        text, stop = self.until(_BRACKET)
        if not stop:
            raise SetError("error parsing index: EOF") if self.strict_end else _EndError
        if not _INDEX.match(text):
            raise SetError(f"error parsing index: strconv.Atoi: parsing {quote(text)}: invalid syntax")
        if len(text) > 19:
            raise SetError(f"error parsing index: strconv.Atoi: parsing {quote(text)}: value out of range")
        return int(text)

    strict_end = False

    def item(self, items: list[Any], index: int, nesting: int) -> tuple[list[Any], Exception | None]:
        """Return the list with the value at its index; a failure comes with the partial list."""
        try:
            return self.filled(items, index, nesting), None
        except (_EndError, SetError) as failure:
            return items, failure

    def filled(self, items: list[Any], index: int, nesting: int) -> list[Any]:
        if index < 0:
            raise SetError(f"negative {index} index not allowed")
        text, stop = self.until(_ITEM_STOPS)
        if text:
            runes = " ".join(quote_rune(ord(char)) for char in text)
            raise SetError(f"unexpected data at end of array index: [{runes}]")
        if not stop:
            raise _EndError
        if stop == "=":
            return _put_at(items, index, self.item_value())
        if stop == "[":
            return self.deeper(items, index, nesting)
        inner: Values = {}
        if len(items) > index:
            if not isinstance(items[index], dict):
                items[index] = {}
            inner = items[index]
        self.key(inner, nesting)
        return _put_at(items, index, inner)

    def deeper(self, items: list[Any], index: int, nesting: int) -> list[Any]:
        following = self.index()
        below: list[Any] = []
        if len(items) > index and items[index] is not None:
            below = _as(list, items[index], "[]interface {}")
        return _put_at(items, index, self.filled(below, following, nesting))

    def item_value(self) -> Any:
        try:
            return self.list_value()
        except _EndError:
            return ""
        except _NotListError:
            return self.convert(self.until(_COMMA)[0])


class _JsonParser(_Parser):
    """Parses name=JSON,name=JSON; an empty value is null."""

    def assign(self, target: Values, name: str) -> None:
        _put(target, name, self.item_value())

    def item_value(self) -> Any:
        if self.empty():
            return None
        try:
            value, end = _DECODER.raw_decode(self.line, self.at)
            value = without_surrogates(value)
        except (ValueError, RecursionError) as error:
            raise SetError(str(error)) from error
        # Python ends a number before a fraction or an exponent without digits; Go refuses it.
        if isinstance(value, float) and _FRAGMENT.fullmatch(self.line, self.at, end + 1):
            raise SetError(f"invalid number {self.line[self.at : end + 1]}")
        self.at = end
        self.empty()
        return value

    def empty(self) -> bool:
        """Skip spaces and one comma; return whether there was nothing else."""
        while self.at < len(self.line):
            char = self.line[self.at]
            if char == ",":
                self.at += 1
                return True
            if not char.isspace():
                return False
            self.at += 1
        return True


class _LiteralParser(_Parser):
    """Parses names without escapes; the value is the whole rest."""

    key_stops = frozenset("=[.")
    escapes = False

    def assign(self, target: Values, name: str) -> None:
        _put(target, name, self.item_value())

    def item_value(self) -> str:
        rest = self.line[self.at :]
        self.at = len(self.line)
        return rest


_COMMA: Final = frozenset(",")
_LIST_STOPS: Final = frozenset(",}")
_BRACKET: Final = frozenset("]")
_ITEM_STOPS: Final = frozenset("[.=")
