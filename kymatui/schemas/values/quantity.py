"""Resource quantities (k8s.io/apimachinery/pkg/api/resource): parsing, canonical text, comparison."""

from __future__ import annotations

import functools
import re
from decimal import Decimal
from fractions import Fraction

MALFORMED = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
BAD_SUFFIX = "unable to parse quantity's suffix"
_PARTS = re.compile(r"^([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)$", re.DOTALL)
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_EXPONENT = re.compile(r"^[eE]([+-]?[0-9]+)$")
_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_NANO = Fraction(1, 10**9)


class QuantityError(ValueError):
    """A malformed quantity, with the server's message."""


@functools.lru_cache(maxsize=4096)
def _read(text: str) -> tuple[Fraction, str]:
    """Return (value, format); the format is "binary", "decimal" or "exponent"."""
    match = _PARTS.match(text)
    if not text or match is None or not ((match[2] or "") + (match[3] or "")):
        raise QuantityError(MALFORMED)
    sign, integer, part, suffix = match[1], match[2] or "0", match[3] or "", match[4]
    digits = Fraction(int(integer + part or "0"), 10 ** len(part))
    factor, style = _factor(suffix)
    value = digits * factor * (-1 if sign == "-" else 1)
    return _at_least_nano(value), style


def _factor(suffix: str) -> tuple[Fraction, str]:
    if suffix in _BINARY:
        return Fraction(2 ** _BINARY[suffix]), "binary"
    if suffix in _DECIMAL:
        return Fraction(10) ** _DECIMAL[suffix], "decimal"
    exponent = _EXPONENT.match(suffix)
    if exponent and abs(int(exponent[1])) < 400:
        return Fraction(10) ** int(exponent[1]), "exponent"
    raise QuantityError(MALFORMED if re.search(r"[^eEinumkKMGTP0-9+-]", suffix) else BAD_SUFFIX)


def _at_least_nano(value: Fraction) -> Fraction:
    """Round values finer than a billionth up, away from zero."""
    scaled = abs(value) / _NANO
    if scaled.denominator == 1:
        return value
    rounded = -(-scaled.numerator // scaled.denominator) * _NANO
    return rounded if value > 0 else -rounded


def canonical(value: str | float) -> str:
    """Return the server's canonical text of a quantity. Raise `QuantityError`."""
    text = value.strip() if isinstance(value, str) else _number(value)
    amount, style = _read(text)
    if amount == 0:
        return "0"
    if style == "binary" and abs(amount) >= 1024 and amount.denominator == 1:
        return _binary(int(amount))
    return _decimal(amount, "decimal" if style == "binary" else style)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else format(Decimal(repr(value)), "f")


def _binary(amount: int) -> str:
    sign, remainder = ("-" if amount < 0 else ""), abs(amount)
    best = ""
    for suffix, shift in _BINARY.items():
        if remainder % (1 << shift):
            break
        best = f"{sign}{remainder >> shift}{suffix}"
    return best or f"{amount}"


def _decimal(amount: Fraction, style: str) -> str:
    exponent = -9
    scaled = amount * 10**9
    integer = int(scaled)
    while integer % 1000 == 0 and exponent < 18:
        integer //= 1000
        exponent += 3
    if style == "exponent":
        return f"{integer}e{exponent}" if exponent else f"{integer}"
    return f"{integer}{_SUFFIXES[exponent]}"


def amount(value: str | float) -> Fraction:
    """Return the quantity as an exact number. Raise `QuantityError`."""
    return _read(value.strip() if isinstance(value, str) else _number(value))[0]
