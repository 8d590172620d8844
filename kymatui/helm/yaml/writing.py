"""YAML writer as in Helm's toYaml: sigs.k8s.io/yaml, that is JSON read and written by go-yaml v2.

`dump_yaml` is toYaml; `dump_yaml_pretty` is toYamlPretty: go-yaml v3, two spaces, sequences indented, no folding.
Both accept JSON values (None, bool, int, float, str, list, dict with str keys) and their subclasses; the caller
converts other Go values. Strings may hold bytes that are not UTF-8 (`surrogateescape`).
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from kymatui.helm.govalues.budget import charge, watched
from kymatui.helm.govalues.floats import format_float
from kymatui.helm.govalues.text import STEP, byte_length, is_valid, join_bounded, to_bytes
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.ordering import Fields, sort_keys, sort_keys_v3
from kymatui.helm.yaml.passing import pass_json, pass_json_key
from kymatui.helm.yaml.scalars import V2, V3, Dialect, ScalarStyle, Timestamp, is_multiline, scalar_style, write_scalar

LINE: Final = 100
"""Bytes that a line takes until all are joined."""
_NO_WIDTH: Final = 1 << 31
_SIMPLE_KEY: Final = 128
PLAIN: Final = ScalarStyle.PLAIN
_BREAKS: Final = ("\n", "\u2028", "\u2029")


class _Style(NamedTuple):
    dialect: Dialect
    width: int
    indented: bool
    sort: Callable[[Iterable[str]], list[str]]
    number: Callable[[float], str]
    pass_text: Callable[[str], str]
    pass_key: Callable[[str], str]


def dump_yaml(value: Any) -> str:
    """Return YAML with a trailing newline.

    Raise YamlError for values JSON lacks (NaN, control characters).
    """
    return _dump(value, _TO_YAML)


def dump_yaml_pretty(value: Any) -> str:
    """Return YAML as toYamlPretty."""
    return _dump(value, _PRETTY)


def _dump(value: Any, style: _Style) -> str:
    try:
        return _Writer(style).document(value)
    except RecursionError as error:
        raise YamlError("error marshaling into JSON: json: unsupported value: nested too deeply") from error


def _json_number(number: float) -> str:
    """Return a float after JSON: whole numbers below 1e21 that fit 64 bits are integers again."""
    if not math.isfinite(number):
        raise YamlError(f"error marshaling into JSON: json: unsupported value: {format_float(number)}")
    if number == int(number) and -9223372036854775808 <= number < 18446744073709551616:
        integer = int(format_float(number, "f"))
        if -9223372036854775808 <= integer <= 18446744073709551615:
            return str(integer)
    return format_float(number, "g")


def _plain_number(number: float) -> str:
    text = format_float(number, "g")
    return {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}.get(text, text)


_TO_YAML: Final = _Style(V2, 80, False, sort_keys, _json_number, pass_json, pass_json_key)
_PRETTY: Final = _Style(V3, _NO_WIDTH, True, sort_keys_v3, _plain_number, str, str)


class _Writer:
    """Writes block style, as go-yaml's emitter without hints; flow style only for empty collections."""

    def __init__(self, style: _Style) -> None:
        self.style = style
        self.out: list[str] = []
        self.size = 0

    def document(self, value: Any) -> str:
        if _is_filled(value):
            self.collection(value, 0)
        else:
            self.out.append(self.leaf(value, 2, 0))
        if not self.out[-1].endswith(_BREAKS):
            self.out.append("\n")
        return join_bounded(self.out)

    def collection(self, value: Any, indent: int) -> None:
        """Write a mapping or sequence whose first line continues the current one."""
        self.size += (LINE + indent) * len(value)
        if self.size > STEP:
            charge(self.size)
            self.size = 0
        if isinstance(value, dict):
            self.mapping(value, indent)
        else:
            self.sequence(value, indent)

    def line(self, indent: int) -> None:
        """Start the next line; a literal block may have done so already."""
        self.out.append(" " * indent if self.out[-1].endswith(_BREAKS) else "\n" + " " * indent)

    def mapping(self, value: dict[Any, Any], indent: int) -> None:
        style = self.style
        first = True
        for key, passed in watched(self.keys(value)):
            if not first:
                self.line(indent)
            first = False
            part = value[key]
            if passed.isascii() and len(passed) <= _SIMPLE_KEY and scalar_style(passed, style.dialect) is PLAIN:
                text = passed
            elif byte_length(passed) > _SIMPLE_KEY or is_multiline(passed):
                self.complex_entry(passed, part, indent)
                continue
            else:
                text = self.string(passed, indent, indent, _NO_WIDTH)
            if not _is_filled(part):
                column = indent + len(text) + 2
                self.out.append(f"{text}: {self.leaf(part, indent + 2, column)}")
                continue
            self.out.append(text + ":")
            inner = indent if isinstance(part, list) and not style.indented else indent + 2
            self.line(inner)
            self.collection(part, inner)

    def keys(self, value: dict[Any, Any]) -> list[tuple[Any, str]]:
        """Return the keys in order, each with its converted text."""
        names: dict[str, Any] = {}
        for key in value:
            if not isinstance(key, str):
                raise YamlError(f"error marshaling into JSON: json: unsupported type: key {type(key).__name__}")
            names[self.style.pass_key(key)] = key
        ordered = names if isinstance(value, Fields) and self.style is _PRETTY else self.style.sort(names)
        return [(names[name], name) for name in ordered]

    def complex_entry(self, key: str, value: Any, indent: int) -> None:
        """Write a long or multi-line key after a question mark."""
        self.out.append("? " + self.string(key, indent + 2, indent + 2, self.style.width))
        self.line(indent)
        self.item(": ", value, indent)

    def sequence(self, value: list[Any], indent: int) -> None:
        for index, part in enumerate(watched(value)):
            if index:
                self.line(indent)
            self.item("- ", part, indent)

    def item(self, mark: str, value: Any, indent: int) -> None:
        if _is_filled(value):
            self.out.append(mark)
            self.collection(value, indent + 2)
        else:
            self.out.append(mark + self.leaf(value, indent + 2, indent + 2))

    def leaf(self, value: Any, indent: int, column: int) -> str:
        """Return a scalar or empty collection as text that starts at a column."""
        if value.__class__ is str:
            return self.string(self.style.pass_text(value), indent, column, self.style.width)
        if isinstance(value, Timestamp):
            return str(value)
        if isinstance(value, str):
            return self.string(self.style.pass_text(value), indent, column, self.style.width)
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, float):
            return self.style.number(value)
        if isinstance(value, (dict, list)):
            nothing = getattr(value, "is_nil", False) and not self.style.indented
            return "null" if nothing else "{}" if isinstance(value, dict) else "[]"
        raise YamlError(f"error marshaling into JSON: json: unsupported type: {type(value).__name__}")

    def string(self, text: str, indent: int, column: int, width: int) -> str:
        if text.isascii():
            dialect = self.style.dialect
            if column + len(text) <= width and scalar_style(text, dialect) is PLAIN:
                return text
            return write_scalar(text, dialect, indent, column, width)
        if is_valid(text):
            return write_scalar(text, self.style.dialect, indent, column, width)
        encoded = base64.b64encode(to_bytes(text)).decode()
        lines = [encoded[start : start + 70] for start in range(0, len(encoded), 70)]
        body = encoded if len(lines) == 1 else "|\n" + "".join(f"{' ' * indent}{line}\n" for line in lines)
        return "!!binary " + body


def _is_filled(value: Any) -> bool:
    return isinstance(value, (dict, list)) and len(value) > 0
