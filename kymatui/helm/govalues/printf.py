"""Go's Sprintf: verbs, flags, widths, argument indexes, and error notations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kymatui.helm.govalues.bounding import hold_value
from kymatui.helm.govalues.budget import charge, tick
from kymatui.helm.govalues.floats import format_float
from kymatui.helm.govalues.naming import elem_type
from kymatui.helm.govalues.ordering import sorted_keys
from kymatui.helm.govalues.printing import format_value, stringer
from kymatui.helm.govalues.quoting import can_backquote, is_print, quote, quote_rune
from kymatui.helm.govalues.text import from_bytes, join_bounded, normalize, runes, to_bytes
from kymatui.helm.govalues.types import (
    BYTES,
    INVALID,
    Float32,
    Int,
    NilPointer,
    Object,
    TypedList,
    TypedMap,
    go_type,
    kind,
)

# Go's fmt for single values under flags: padding, integers, floats, strings, characters.


_DIGITS: Final = {2: "b", 8: "o", 10: "d", 16: "x"}


class Flags:
    """The flags between % and the verb; width and precision are None if not given."""

    __slots__ = ("minus", "plus", "plus_v", "precision", "sharp", "sharp_v", "space", "width", "zero")

    def __init__(self) -> None:
        self.width: int | None = None
        self.precision: int | None = None
        self.minus = self.plus = self.sharp = self.space = self.zero = False
        self.plus_v = self.sharp_v = False

    def padding(self, count: int) -> str:
        return ("0" if self.zero and not self.minus else " ") * count

    def pad(self, text: str) -> str:
        """Pad the text to the width, counted in runes."""
        if not self.width:
            return text
        fill = self.padding(max(0, self.width - len(normalize(text))))
        return text + fill if self.minus else fill + text

    def pad_spaces(self, text: str) -> str:
        """Pad the text as `pad`, but never with zeros."""
        if not self.width:
            return text
        fill = " " * max(0, self.width - len(text))
        return text + fill if self.minus else fill + text


def format_integer(flags: Flags, number: int, verb: str, base: int, *, upper: bool = False) -> str:
    """Return %d %b %o %O %x %X."""
    if flags.precision == 0 and number == 0:
        return " " * (flags.width or 0)
    width = flags.precision or 0
    if flags.precision is None and flags.zero and not flags.minus and flags.width:
        width = flags.width - (1 if number < 0 or flags.plus or flags.space else 0)
    digits = format(abs(number), _DIGITS[base]).rjust(width, "0")
    if flags.sharp:
        digits = _marked(digits, base)
    if verb == "O":
        digits = "0o" + digits
    sign = "-" if number < 0 else "+" if flags.plus else " " if flags.space else ""
    return flags.pad_spaces(sign + (digits.upper() if upper else digits))


def _marked(digits: str, base: int) -> str:
    if base == 8:
        return digits if digits[0] == "0" else "0" + digits
    return {2: "0b", 16: "0x"}.get(base, "") + digits


def format_unicode(flags: Flags, code: int) -> str:
    """Return %U: U+0078, with # also the character."""
    code &= (1 << 64) - 1
    text = "U+" + f"{code:X}".rjust(max(4, flags.precision or 0), "0")
    if flags.sharp and code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF and is_print(chr(code)):
        text += f" '{chr(code)}'"
    return flags.pad_spaces(text)


def format_character(flags: Flags, code: int) -> str:
    """Return %c."""
    valid = 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    return flags.pad(chr(code) if valid else "\ufffd")


def format_quoted_character(flags: Flags, code: int) -> str:
    """Return %q of a number."""
    return flags.pad(quote_rune(code, ascii_only=flags.plus))


def format_real(flags: Flags, number: float, bits: int, verb: str, precision: int) -> str:
    """Return %e %f %g and similar; an explicit precision overrides the verb's `precision`."""
    if flags.precision is not None:
        precision = flags.precision
    text = format_float(number, verb, precision, bits)
    if text[0] not in "+-":
        text = "+" + text
    if flags.space and text[0] == "+" and not flags.plus:
        text = " " + text[1:]
    if text[1] in "IN":
        signed = flags.space or flags.plus or text[1] == "I"
        return flags.pad_spaces(text if signed else text[1:])
    if flags.sharp and verb != "b":
        text = _with_point(text, verb, precision)
    if flags.plus or text[0] != "+":
        if flags.zero and not flags.minus and flags.width and flags.width > len(text):
            return text[0] + "0" * (flags.width - len(text)) + text[1:]
        return flags.pad(text)
    return flags.pad(text[1:])


def _with_point(text: str, verb: str, precision: int) -> str:
    """Apply the # flag: always a decimal point, and the zeros that %g drops."""
    digits = (6 if precision == -1 else precision) if verb in "vgGx" else 0
    marks = "pP" if verb in "xX" else "eEpP"
    end = next((i for i, c in enumerate(text) if i and c in marks), len(text))
    body, tail = text[:end], text[end:]
    significant = body[1:].replace(".", "").lstrip("0")
    digits -= len(significant)
    if "." not in body:
        if body[1:] == "0":
            digits -= 1
        body += "."
    return body + "0" * max(0, digits) + tail


def truncate(flags: Flags, text: str) -> str:
    """Return as many runes as the precision allows."""
    if flags.precision is None or flags.precision >= len(text):
        return text
    return normalize(text)[: flags.precision]


def format_string(flags: Flags, text: str) -> str:
    """Return %s."""
    return flags.pad(truncate(flags, text))


def format_quoted(flags: Flags, text: str) -> str:
    """Return %q: with # a raw string if possible, with + only ASCII."""
    text = truncate(flags, text)
    if flags.sharp and can_backquote(text):
        return flags.pad("`" + text + "`")
    return flags.pad(quote(text, ascii_only=flags.plus))


def format_hexadecimal(flags: Flags, data: bytes, *, upper: bool) -> str:
    """Return %x and %X of a string or bytes."""
    if flags.precision is not None:
        data = data[: flags.precision]
    if not data:
        return flags.padding(flags.width or 0)
    mark = "0x" if flags.sharp else ""
    text = " ".join(f"{mark}{byte:02x}" for byte in data) if flags.space else mark + data.hex()
    fill = flags.padding(max(0, (flags.width or 0) - len(text)))
    text = text.upper() if upper else text
    return text + fill if flags.minus else fill + text


_LIMIT: Final = 1_000_000
MANY: Final = 64
"""Pieces of output from which on the work is counted."""
LONG: Final = 1_000
"""Characters of an argument's text that are counted before all are joined."""


def sprintf(template: str, *args: Any) -> str:
    """Return fmt.Sprintf."""
    return _Formatter(template, args).run()


class _Formatter:
    """One formatting run: its positions in the format and the arguments."""

    def __init__(self, template: str, args: Sequence[Any]) -> None:
        self.template = template
        self.args = args
        self.position = 0
        self.index = 0
        self.reordered = False
        self.good_index = True
        self.after_index = False
        self.out: list[str] = []

    def run(self) -> str:
        template, end = self.template, len(self.template)
        while self.position < end:
            start = template.find("%", self.position)
            if start != self.position:
                self.out.append(template[self.position : start if start >= 0 else end])
            if start < 0:
                break
            self.position = start + 1
            if len(self.out) > MANY:
                tick()
            if not self._directive():
                break
        if not self.reordered and self.index < len(self.args):
            self._extra()
        return join_bounded(self.out)

    def _directive(self) -> bool:
        """Format one verb with its flags; return False if the format ends within."""
        self.good_index = True
        flags = self._flags()
        self._argument_number()
        self._width(flags)
        self._precision(flags)
        if not self.after_index:
            self._argument_number()
        self.after_index = False
        if self.position >= len(self.template):
            self.out.append("%!(NOVERB)")
            return False
        verb = runes(self.template[self.position])
        self.position += 1
        self.out.append(self._verb(flags, verb))
        return True

    def _flags(self) -> Flags:
        flags = Flags()
        template = self.template
        while self.position < len(template):
            char = template[self.position]
            if char == "#":
                flags.sharp = True
            elif char == "0":
                flags.zero = True
            elif char == "+":
                flags.plus = True
            elif char == "-":
                flags.minus = True
            elif char == " ":
                flags.space = True
            else:
                break
            self.position += 1
        return flags

    def _argument_number(self) -> None:
        """Read [n] before a width, a precision or a verb."""
        if self.template[self.position : self.position + 1] != "[":
            self.after_index = False
            return
        self.reordered = True
        rest = self.template[self.position :]
        closing = rest.find("]")
        if len(rest) < 3 or closing < 0:
            self.good_index, self.after_index = False, False
            self.position += 1
            return
        self.position += closing + 1
        number = _decimal(rest[1:closing])
        if number is not None and 1 <= number <= len(self.args):
            self.index, self.after_index = number - 1, True
            return
        self.good_index, self.after_index = False, number is not None

    def _width(self, flags: Flags) -> None:
        if self.template[self.position : self.position + 1] == "*":
            self.position += 1
            flags.width = self._integer_argument()
            if flags.width is None:
                self.out.append("%!(BADWIDTH)")
            elif flags.width < 0:
                flags.width, flags.minus, flags.zero = -flags.width, True, False
            self.after_index = False
            return
        flags.width = self._number()
        if self.after_index and flags.width is not None:
            self.good_index = False

    def _precision(self, flags: Flags) -> None:
        if self.template[self.position : self.position + 1] != "." or self.position + 1 >= len(self.template):
            return
        self.position += 1
        if self.after_index:
            self.good_index = False
        self._argument_number()
        if self.template[self.position : self.position + 1] == "*":
            self.position += 1
            flags.precision = self._integer_argument()
            if flags.precision is None or flags.precision < 0:
                flags.precision = None
                self.out.append("%!(BADPREC)")
            self.after_index = False
            return
        number = self._number()
        flags.precision = 0 if number is None else number

    def _number(self) -> int | None:
        """Read digits; a number that is too large consumes the rest of the format."""
        start = self.position
        number = 0
        while self.position < len(self.template) and "0" <= self.template[self.position] <= "9":
            if number > _LIMIT:
                self.position = len(self.template)
                return None
            number = number * 10 + int(self.template[self.position])
            self.position += 1
        return number if self.position > start else None

    def _integer_argument(self) -> int | None:
        if self.index >= len(self.args):
            return None
        value = self.args[self.index]
        self.index += 1
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return int(value) if -_LIMIT <= value <= _LIMIT else None

    def _verb(self, flags: Flags, verb: str) -> str:
        if verb == "%":
            return "%"
        if not self.good_index:
            return f"%!{verb}(BADINDEX)"
        if self.index >= len(self.args):
            return f"%!{verb}(MISSING)"
        value = self.args[self.index]
        self.index += 1
        if verb in "vw":
            flags.sharp_v, flags.sharp = flags.sharp, False
            flags.plus_v, flags.plus = flags.plus, False
        text = format_argument(flags, value, verb)
        if len(text) > LONG:
            charge(len(text))
        return text

    def _extra(self) -> None:
        extras = [
            "<nil>" if value is None or value is INVALID else f"{go_type(value)}={format_value(value)}"
            for value in self.args[self.index :]
        ]
        self.out.append("%!(EXTRA " + ", ".join(extras) + ")")


def _decimal(text: str) -> int | None:
    if not text or not all("0" <= c <= "9" for c in text):
        return None
    number = int(text[:9])
    return number if len(text) < 9 and number <= 10 * _LIMIT + 9 else None


def format_argument(flags: Flags, value: Any, verb: str) -> str:
    """Return one argument under one verb, as printArg."""
    if value.__class__ is str and verb == "s" and flags.width is None and flags.precision is None:
        return str(value)
    if value is None or value is INVALID:
        return flags.pad("<nil>") if verb in "Tv" else bad_verb(flags, value, verb)
    if verb == "T":
        return format_string(flags, go_type(value))
    if verb == "p":
        return _pointer(flags, value, verb)
    if verb == "w" and go_type(value) != BYTES:
        return bad_verb(flags, value, verb)
    return format_part(flags, value, verb, 0)


def bad_verb(flags: Flags, value: Any, verb: str) -> str:
    """Return the error notation, such as %!d(string=x)."""
    if value is None or value is INVALID:
        return f"%!{verb}(<nil>)"
    return f"%!{verb}({go_type(value)}={format_part(flags, value, 'v', 0, plain=True)})"


def format_part(flags: Flags, value: Any, verb: str, depth: int, *, plain: bool = False) -> str:
    """Return a value or a part of one; `plain` skips String() and Error(), as Go does within %!."""
    if flags.width or flags.precision:
        charge((flags.width or 0) + (flags.precision or 0))
    if value is None or value is INVALID:
        return _nil(flags, verb)
    if not plain and not flags.sharp_v and verb in "vsxXq" and (text := stringer(value)) is not None:
        return _string(flags, text, verb, value)
    if not plain and flags.sharp_v and (syntax := getattr(type(value), "go_syntax", None)) is not None:
        return format_string(flags, syntax(value))
    formatter = _BY_KIND.get(kind(value))
    if formatter is not None:
        return formatter(flags, value, verb)
    if isinstance(value, (list, dict)):
        if depth == 0:
            hold_value(value, "the text")
        return _map(flags, value, verb, depth) if isinstance(value, dict) else _slice(flags, value, verb, depth)
    if isinstance(value, Object):
        return _struct(flags, value, verb, depth)
    return _pointer(flags, value, verb)


def _nil(flags: Flags, verb: str) -> str:
    if flags.sharp_v:
        return "interface {}(nil)"
    # A nil inside an interface ignores verb and width.
    return "<nil>" if verb else ""


def _bool(flags: Flags, value: Any, verb: str) -> str:
    return flags.pad("true" if value else "false") if verb in "tv" else bad_verb(flags, value, verb)


_BASES: Final = {"d": 10, "v": 10, "b": 2, "o": 8, "O": 8, "x": 16, "X": 16}


def _integer(flags: Flags, value: Any, verb: str) -> str:
    number = int(value)
    if verb in _BASES:
        if verb == "v" and flags.sharp_v and isinstance(value, Int) and not value.signed:
            return _sharp_hexadecimal(flags, number)
        return format_integer(flags, number, verb, _BASES[verb], upper=verb == "X")
    if verb == "c":
        return format_character(flags, number)
    if verb == "q":
        return format_quoted_character(flags, number)
    if verb == "U":
        return format_unicode(flags, number)
    return bad_verb(flags, value, verb)


def _sharp_hexadecimal(flags: Flags, number: int) -> str:
    flags.sharp = True
    try:
        return format_integer(flags, number, "v", 16)
    finally:
        flags.sharp = False


_PRECISIONS: Final = {
    "v": ("g", -1),
    "b": ("b", -1),
    "g": ("g", -1),
    "G": ("G", -1),
    "x": ("x", -1),
    "X": ("X", -1),
    "f": ("f", 6),
    "e": ("e", 6),
    "E": ("E", 6),
    "F": ("f", 6),
}


def _float(flags: Flags, value: Any, verb: str) -> str:
    if verb not in _PRECISIONS:
        return bad_verb(flags, value, verb)
    letter, precision = _PRECISIONS[verb]
    return format_real(flags, float(value), 32 if isinstance(value, Float32) else 64, letter, precision)


def _complex(flags: Flags, value: Any, verb: str) -> str:
    if verb not in _PRECISIONS:
        return bad_verb(flags, value, verb)
    plus = flags.plus
    real = _float(flags, value.real, verb)
    flags.plus = True
    imaginary = _float(flags, value.imag, verb)
    flags.plus = plus
    return f"({real}{imaginary}i)"


def _string(flags: Flags, text: str, verb: str, value: Any = None) -> str:
    if verb == "v":
        return format_quoted(flags, text) if flags.sharp_v else format_string(flags, text)
    if verb == "s":
        return format_string(flags, text)
    if verb == "q":
        return format_quoted(flags, text)
    if verb in "xX":
        return format_hexadecimal(flags, to_bytes(text), upper=verb == "X")
    return bad_verb(flags, text if value is None else value, verb)


def _plain_string(flags: Flags, value: Any, verb: str) -> str:
    return _string(flags, str.__str__(value), verb, value)


def _bytes(flags: Flags, value: Any, verb: str) -> str | None:
    data = bytes(value)
    if verb in "xX":
        return format_hexadecimal(flags, data, upper=verb == "X")
    if verb == "s":
        return format_string(flags, from_bytes(data))
    return format_quoted(flags, from_bytes(data)) if verb == "q" else None


def _slice(flags: Flags, value: list[Any], verb: str, depth: int) -> str:
    name = go_type(value)
    if elem_type(name) == "uint8" and (text := _bytes(flags, value, verb)) is not None:
        return text
    if flags.sharp_v:
        name = "[]byte" if name == "[]uint8" and depth == 0 else name
        if isinstance(value, TypedList) and value.is_nil:
            return f"{name}(nil)"
        items = [_sharp_byte(flags, v) if elem_type(name) == "byte" else format_part(flags, v, verb, 1) for v in value]
        return f"{name}{{{', '.join(items)}}}"
    return "[" + join_bounded([format_part(flags, item, verb, depth + 1) for item in value], " ") + "]"


def _sharp_byte(flags: Flags, value: int) -> str:
    return _sharp_hexadecimal(flags, int(value))


def _map(flags: Flags, value: dict[Any, Any], verb: str, depth: int) -> str:
    if flags.sharp_v and isinstance(value, TypedMap) and value.is_nil:
        return f"{go_type(value)}(nil)"
    items = [
        format_part(flags, key, verb, depth + 1) + ":" + format_part(flags, value[key], verb, depth + 1)
        for key in sorted_keys(value)
    ]
    if flags.sharp_v:
        return f"{go_type(value)}{{{join_bounded(items, ', ')}}}"
    return "map[" + join_bounded(items, " ") + "]"


def _struct(flags: Flags, value: Object, verb: str, depth: int) -> str:
    if value.go_kind == "ptr" and depth:
        return _pointer(flags, value, verb)
    mark = "&" if value.go_kind == "ptr" else ""
    name = go_type(value).removeprefix("*") if flags.sharp_v else ""
    items = []
    for field in value.go_fields:
        text = format_part(flags, value.read_field(field), verb, depth + 1)
        items.append(f"{field}:{text}" if flags.sharp_v or flags.plus_v else text)
    return f"{mark}{name}{{{(', ' if flags.sharp_v else ' ').join(items)}}}"


# Go's addresses differ between runs; here they are constant, so that renderings are repeatable.
_ADDRESS: Final = 0xC000000000


def _pointer(flags: Flags, value: Any, verb: str) -> str:
    if kind(value) not in {"map", "slice", "ptr", "func"}:
        return bad_verb(flags, value, verb)
    address = 0 if isinstance(value, NilPointer) else _ADDRESS
    if verb == "v" and flags.sharp_v:
        return f"({go_type(value)})({f'{address:#x}' if address else 'nil'})"
    if verb == "v" and not address:
        return flags.pad("<nil>")
    if verb in "vp":
        sharp, flags.sharp = flags.sharp, not flags.sharp
        try:
            return format_integer(flags, address, "v", 16)
        finally:
            flags.sharp = sharp
    return _integer(flags, address, verb) if verb in "bodxX" else bad_verb(flags, value, verb)


_BY_KIND: Final[dict[str, Callable[[Flags, Any, str], str]]] = {
    "bool": _bool,
    "string": _plain_string,
    **dict.fromkeys(("int", "int8", "int16", "int32", "int64"), _integer),
    **dict.fromkeys(("uint", "uint8", "uint16", "uint32", "uint64", "uintptr"), _integer),
    **dict.fromkeys(("float32", "float64"), _float),
    **dict.fromkeys(("complex64", "complex128"), _complex),
}
