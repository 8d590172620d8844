"""Go's strconv for numbers: FormatFloat, ParseFloat, ParseInt, ParseUint."""

from __future__ import annotations

import math
import re
import struct
from typing import Final

from kymatui.helm.govalues.budget import watched
from kymatui.helm.govalues.quoting import quote
from kymatui.patterns import deferred

INVALID_SYNTAX: Final = "invalid syntax"
OUT_OF_RANGE: Final = "value out of range"


def format_float(number: float, verb: str = "g", precision: int = -1, bits: int = 64) -> str:
    """Return strconv.FormatFloat; precision -1 means the fewest digits that parse to the same number."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    if verb == "b":
        return _binary(number, bits)
    if verb in "xX":
        text = _hexadecimal(number, precision)
        return text.upper() if verb == "X" else text
    if precision >= 0:
        return f"{number:.{precision}{verb}}"
    digits, exponent = shortest_digits(number, bits)
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if verb in "eE" or (verb in "gG" and not -4 <= exponent < 6):
        return sign + _scientific(digits, exponent, "E" if verb in "EG" else "e")
    return sign + _positional(digits, exponent)


def shortest_digits(number: float, bits: int = 64) -> tuple[str, int]:
    """Return the fewest decimal digits that parse to this number, and the exponent of the first."""
    if number == 0:
        return "0", 0
    text = repr(abs(number)) if bits == 64 else _shortest32(abs(number))
    mantissa, _, exponent = text.partition("e")
    integer, _, fraction = mantissa.partition(".")
    digits = (integer + fraction).lstrip("0")
    first = len(integer) - 1 if integer.strip("0") else -1 - (len(fraction) - len(fraction.lstrip("0")))
    return digits.rstrip("0") or "0", first + int(exponent or 0)


def _shortest32(number: float) -> str:
    for precision in range(10):
        text = f"{number:.{precision}e}"
        try:
            if struct.unpack("f", struct.pack("f", float(text)))[0] == number:
                return text
        except OverflowError:
            continue
    return repr(number)


def _scientific(digits: str, exponent: int, mark: str) -> str:
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{mantissa}{mark}{exponent:+03d}"


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    integer = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{integer}.{fraction}" if fraction else integer


def _binary(number: float, bits: int) -> str:
    width = 52 if bits == 64 else 23
    mantissa, exponent = math.frexp(abs(number))
    lowest = -1074 if bits == 64 else -149
    scaled = exponent - (width + 1) if number else lowest
    scaled = max(scaled, lowest)
    integer = int(math.ldexp(mantissa, exponent - scaled)) if number else 0
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    return f"{sign}{integer}p{scaled:+d}"


def _hexadecimal(number: float, precision: int) -> str:
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if number == 0:
        return f"{sign}0x0{'.' + '0' * precision if precision > 0 else ''}p+00"
    mantissa, exponent = math.frexp(abs(number))
    bits, exponent = int(math.ldexp(mantissa, 53)), exponent - 1
    if precision < 0:
        fraction = f"{bits & ((1 << 52) - 1):013x}".rstrip("0")
        lead = bits >> 52
    else:
        bits, exponent = _rounded(bits, exponent, min(precision, 13))
        fraction = f"{bits & ((1 << 52) - 1):013x}"[:precision].ljust(precision, "0")
        lead = bits >> 52
    return f"{sign}0x{lead:x}{'.' + fraction if fraction else ''}p{exponent:+03d}"


def _rounded(bits: int, exponent: int, precision: int) -> tuple[int, int]:
    """Round 53 bits, half to even, to a leading 1 and `precision` hexadecimal digits."""
    shift = 52 - 4 * precision
    if shift == 0:
        return bits, exponent
    kept, rest = bits >> shift, bits & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    if rest > half or (rest == half and kept & 1):
        kept += 1
    bits = kept << shift
    return (bits >> 1, exponent + 1) if bits >> 53 else (bits, exponent)


_DECIMAL: Final = deferred(r"[+-]?(?:[0-9_]+\.?[0-9_]*|\.[0-9_]+)(?:[eE][+-]?[0-9_]+)?\Z")
_HEX: Final = deferred(r"([+-]?)0[xX]([0-9a-fA-F_]*)\.?([0-9a-fA-F_]*)[pP]([+-]?[0-9_]+)\Z")
_SPECIAL: Final = deferred(r"[+-]?(?:inf|infinity)\Z|nan\Z", re.IGNORECASE)


def underscores_ok(text: str) -> bool:
    """Return whether all underscores are between digits, or between a base prefix and a digit."""
    previous, rest = "^", text[1:] if text[:1] in ("+", "-") else text
    hexadecimal = False
    if len(rest) >= 2 and rest[0] == "0" and rest[1].lower() in "box":
        previous, hexadecimal, rest = "0", rest[1].lower() == "x", rest[2:]
    for char in watched(rest):
        if char.isdigit() or (hexadecimal and char.lower() in "abcdef"):
            previous = "0"
        elif char == "_":
            if previous != "0":
                return False
            previous = "_"
        else:
            if previous == "_":
                return False
            previous = "!"
    return previous != "_"


def parse_float(text: str) -> float:
    """Return strconv.ParseFloat(text, 64). Raise ValueError with Go's message."""
    if text.isascii() and ("_" not in text or underscores_ok(text)):
        bare = text.replace("_", "")
        if _DECIMAL.match(text):
            number = float(bare)
            if math.isinf(number):
                raise ValueError(f"strconv.ParseFloat: parsing {_quoted(text)}: {OUT_OF_RANGE}")
            return number
        if (match := _HEX.match(bare)) and (match[2] or match[3]):
            try:
                return float.fromhex(bare)
            except OverflowError:
                raise ValueError(f"strconv.ParseFloat: parsing {_quoted(text)}: {OUT_OF_RANGE}") from None
        if _SPECIAL.match(text):
            return float(text)
    raise ValueError(f"strconv.ParseFloat: parsing {_quoted(text)}: {INVALID_SYNTAX}")


def parse_int(text: str, base: int = 10, bits: int = 64) -> int:
    """Return strconv.ParseInt. Raise ValueError with Go's message."""
    number = _whole(text, base, "ParseInt", text[:1] in ("+", "-"))
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"strconv.ParseInt: parsing {_quoted(text)}: {OUT_OF_RANGE}")
    return number


def parse_uint(text: str, base: int = 10, bits: int = 64) -> int:
    """Return strconv.ParseUint. Raise ValueError with Go's message."""
    number = _whole(text, base, "ParseUint", False)
    if number >> bits:
        raise ValueError(f"strconv.ParseUint: parsing {_quoted(text)}: {OUT_OF_RANGE}")
    return number


_BASES: Final = {"b": 2, "o": 8, "x": 16}


def _whole(text: str, base: int, function: str, signed: bool) -> int:
    failure = ValueError(f"strconv.{function}: parsing {_quoted(text)}: {INVALID_SYNTAX}")
    digits = text[1:] if signed else text
    if "_" in digits and (base != 0 or not underscores_ok(text)):
        raise failure
    if base == 0:
        base, digits = _prefixed(digits)
    digits = digits.replace("_", "")
    if not digits.isascii() or not digits.isalnum():
        raise failure
    try:
        number = int(digits, base)
    except ValueError:
        raise failure from None
    return -number if signed and text[0] == "-" else number


def _prefixed(digits: str) -> tuple[int, str]:
    if digits[:1] != "0" or len(digits) < 2:
        return 10, digits
    base = _BASES.get(digits[1].lower())
    return (base, digits[2:]) if base and len(digits) > 2 else (8, digits[1:])


def _quoted(text: str) -> str:
    return quote(text)
