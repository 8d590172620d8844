"""Go's default format (%v), Sprint and Sprintln."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kymatui.helm.govalues.bounding import hold_value
from kymatui.helm.govalues.floats import format_float
from kymatui.helm.govalues.ordering import sorted_keys
from kymatui.helm.govalues.text import join_bounded
from kymatui.helm.govalues.types import BYTES, INVALID, Float32, NilPointer, Object, TypedList, kind

_DECIMALS: Final = tuple(map(str, range(256)))


def format_value(value: Any, depth: int = 0) -> str:
    """Return %v: `map[a:1 b:[x y]]`, `<nil>`, `1e+06`; nested pointers print as addresses."""
    cls = value.__class__
    if cls is str:
        return str(value)
    if cls is bool:
        return "true" if value else "false"
    if cls is int:
        return str(value)
    if cls is float:
        return format_float(value)
    if depth == 0 and isinstance(value, (list, dict)):
        hold_value(value, "the text")
    if cls is list:
        return "[" + join_bounded([format_value(item, 1) for item in value], " ") + "]"
    if cls is dict:
        return format_map(value)
    return _format_other(value, depth)


def format_map(value: dict[Any, Any]) -> str:
    """Return a map with its keys in Go's order."""
    items = [f"{format_value(key, 1)}:{format_value(value[key], 1)}" for key in sorted_keys(value)]
    return "map[" + join_bounded(items, " ") + "]"


def _format_other(value: Any, depth: int) -> str:
    if value is None or value is INVALID or isinstance(value, NilPointer):
        return "<nil>"
    if (text := stringer(value)) is not None:
        return text
    if isinstance(value, dict):
        return format_map(value)
    if isinstance(value, TypedList):
        if value.go_type == BYTES:  # may be a file of several megabytes
            return "[" + join_bounded(list(map(_DECIMALS.__getitem__, value)), " ") + "]"
        return "[" + join_bounded([format_value(item, 1) for item in value], " ") + "]"
    if isinstance(value, Object):
        return format_struct(value, depth)
    if isinstance(value, Float32):
        return format_float(value, bits=32)
    if isinstance(value, complex):
        imaginary = format_float(value.imag)
        return f"({format_float(value.real)}{'' if imaginary[0] in '+-' else '+'}{imaginary}i)"
    if isinstance(value, int):
        return str(int(value))
    return str.__str__(value) if isinstance(value, str) else f"?{kind(value)}?"


def stringer(value: Any) -> str | None:
    """Return the text of a value whose Go type has String() or Error(), else None."""
    method = getattr(type(value), "go_string", None)
    return None if method is None else str(method(value))


def format_struct(value: Object, depth: int) -> str:
    """Return a struct's fields in braces, with & for a pointer."""
    if value.go_kind == "ptr" and depth:
        return "0xc000000000"
    fields = " ".join([format_value(value.read_field(name), 1) for name in value.go_fields])
    return ("&{" if value.go_kind == "ptr" else "{") + fields + "}"


def format_printable(value: Any) -> str:
    """Return what text/template prints: a pointer stands for its struct, except where it has String()."""
    if isinstance(value, Object) and value.go_kind == "ptr" and stringer(value) is None:
        return format_struct(value, 0).removeprefix("&")
    return format_value(value)


def sprint(*values: Any, write: Callable[[Any], str] = format_value) -> str:
    """Return fmt.Sprint: spaces between operands if neither is a string."""
    if len(values) == 1:
        return write(values[0])
    pieces: list[str] = []
    after_string = True
    for value in values:
        is_string = isinstance(value, str)
        if not (is_string or after_string):
            pieces.append(" ")
        pieces.append(write(value))
        after_string = is_string
    return join_bounded(pieces)


def sprintln(*values: Any) -> str:
    """Return fmt.Sprintln: spaces between all operands, and a newline."""
    return join_bounded([format_value(value) for value in values], " ") + "\n"
