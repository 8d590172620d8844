"""Go's fmt for single values under flags: padding, integers, floats, strings, characters."""

from __future__ import annotations

from typing import Final

from kymatui.helm.govalues.floats import format_float
from kymatui.helm.govalues.quoting import can_backquote, is_print, quote, quote_rune
from kymatui.helm.govalues.text import normalize

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
