"""Number constants in every type that can hold them (parse.NumberNode)."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import Final

from kymatui.helm.govalues.floats import parse_float, parse_int, parse_uint
from kymatui.helm.govalues.quoting import quote, unquote_char
from kymatui.helm.language.nodes import Number


class NumberError(Exception):
    """An invalid number; the message is Go's."""


_COMPLEX: Final = re.compile(r"(?P<real>.*[^eEpP+-])(?P<imaginary>[+-].*)i\Z", re.DOTALL)


def parse_number(position: int, text: str, kind: str) -> Number:
    """Return the number of a "number", "character" or "complex" token. Raise NumberError."""
    number = Number(position, text)
    if kind == "character":
        return _character(number, text)
    if kind == "complex":
        number.imaginary = _complex(text)
        return _simplified(number, number.imaginary)
    if text.endswith("i") and (imaginary := _float_or_none(text[:-1])) is not None:
        number.imaginary = complex(0, imaginary)
        return _simplified(number, number.imaginary)
    _whole(number, text)
    if number.integer is None and number.unsigned is None:
        _real(number, text)
    else:
        number.real = float(number.integer if number.integer is not None else number.unsigned or 0)
    return number


def _character(number: Number, text: str) -> Number:
    try:
        code, _, position = unquote_char(text, 1, "'")
    except ValueError as error:
        raise NumberError(str(error)) from None
    if text[position:] != "'":
        raise NumberError(f"malformed character constant: {text}")
    number.integer = number.unsigned = 0xFFFD if 0xDC80 <= code <= 0xDCFF else code
    number.real = float(number.integer)
    return number


def _float_or_none(text: str) -> float | None:
    try:
        return parse_float(text)
    except ValueError:
        return None


def _complex(text: str) -> complex:
    match = _COMPLEX.match(text)
    real = _float_or_none(match["real"]) if match else None
    imaginary = _float_or_none(match["imaginary"]) if match else None
    if real is None or imaginary is None:
        raise NumberError("syntax error scanning complex number")
    return complex(real, imaginary)


def _simplified(number: Number, value: complex) -> Number:
    if value.imag == 0:
        number.real = value.real
        number.integer, number.unsigned = _integers(value.real)
    return number


def _whole(number: Number, text: str) -> None:
    with suppress(ValueError):
        number.unsigned = parse_uint(text, 0)
    try:
        number.integer = parse_int(text, 0)
    except ValueError:
        return
    if number.integer == 0:
        number.unsigned = 0


def _real(number: Number, text: str) -> None:
    real = _float_or_none(text)
    if real is None:
        raise NumberError(f"illegal number syntax: {quote(text)}")
    if not any(mark in text for mark in ".eEpP"):
        raise NumberError(f"integer overflow: {quote(text)}")
    number.real = real
    number.integer, number.unsigned = _integers(real)


def _integers(real: float) -> tuple[int | None, int | None]:
    if not math.isfinite(real) or real != int(real):
        return None, None
    number = int(real)
    integer = number if -(1 << 63) <= number < 1 << 63 else None
    return integer, number if 0 <= number < 1 << 64 else None


def ideal(number: Number) -> int | float | complex | None:
    """Return the untyped value: a float if written as one, else an int; None if it overflows int."""
    if number.imaginary is not None:
        return number.imaginary
    text = number.source
    is_hex = text[:2] in ("0x", "0X") and len(text) > 2 and not ("p" in text or "P" in text)
    if number.real is not None and not is_hex and text[0] != "'" and any(mark in text for mark in ".eEpP"):
        return number.real
    return number.integer
