"""Functions on numbers: integers wrap around at 64 bits, the "f" functions use decimals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any, Final

from kymatui.helm.functions.casting import cast_float, cast_int64, cast_integer
from kymatui.helm.functions.declaring import declare, hold_list, table
from kymatui.helm.govalues.budget import ELEMENT, charge
from kymatui.helm.govalues.floats import format_float, parse_int
from kymatui.helm.govalues.printing import sprint
from kymatui.helm.govalues.types import Int64, Panic, TypedList, wrap_integer

_OCTAL: Final = re.compile(r"[+-]?[0-7]+")
_DIVISION_PLACES: Final = 10**16


def add(*values: Any) -> Int64:
    return Int64(wrap_integer(sum(map(cast_integer, values))))


def add1(value: Any) -> Int64:
    return add(value, 1)


def sub(left: Any, right: Any) -> Int64:
    return Int64(wrap_integer(cast_integer(left) - cast_integer(right)))


def mul(first: Any, *others: Any) -> Int64:
    return Int64(
        reduce(lambda product, value: wrap_integer(product * cast_integer(value)), others, cast_integer(first))
    )


def div(left: Any, right: Any) -> Int64:
    """Divide, rounding towards zero."""
    return Int64(wrap_integer(_quotient(cast_integer(left), cast_integer(right))))


def mod(left: Any, right: Any) -> Int64:
    """Return the remainder, with the sign of `left`."""
    dividend, divisor = cast_integer(left), cast_integer(right)
    return Int64(dividend - _quotient(dividend, divisor) * divisor)


def _quotient(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise Panic("runtime error: integer divide by zero")
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def biggest(first: Any, *others: Any) -> Int64:
    return Int64(max(map(cast_integer, (first, *others))))


def smallest(first: Any, *others: Any) -> Int64:
    return Int64(min(map(cast_integer, (first, *others))))


def maxf(first: Any, *others: Any) -> float:
    return _extreme(max, first, others)


def minf(first: Any, *others: Any) -> float:
    return _extreme(min, first, others)


def _extreme(choose: Callable[..., float], first: Any, others: tuple[Any, ...]) -> float:
    numbers = [cast_float(value) for value in (first, *others)]
    # An infinity wins over NaN, as in Go.
    infinity = choose(math.inf, -math.inf)
    if len(numbers) > 1 and infinity in numbers:
        return infinity
    if any(map(math.isnan, numbers)):
        return math.nan
    return float(choose(numbers, key=lambda number: (number, math.copysign(1.0, number))))


def _decimal(value: Any) -> Fraction:
    """Return the decimal number of a float's shortest text."""
    number = cast_float(value)
    if not math.isfinite(number):
        raise Panic(f"Cannot create a Decimal from {format_float(number)}")
    return Fraction(repr(number))


def _as_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def addf(*values: Any) -> float:
    return _as_float(sum(map(_decimal, values), Fraction()))


def add1f(value: Any) -> float:
    return addf(value, 1)


def subf(first: Any, *others: Any) -> float:
    return _as_float(reduce(lambda total, value: total - _decimal(value), others, _decimal(first)))


def mulf(first: Any, *others: Any) -> float:
    return _as_float(reduce(lambda total, value: total * _decimal(value), others, _decimal(first)))


def divf(first: Any, *others: Any) -> float:
    """Divide in order; every quotient is rounded to 16 decimal places."""
    return _as_float(reduce(lambda total, value: _divide(total, _decimal(value)), others, _decimal(first)))


def _divide(dividend: Fraction, divisor: Fraction) -> Fraction:
    if divisor == 0:
        raise Panic("decimal division by 0")
    quotient = dividend / divisor
    rounded = Fraction(math.floor(abs(quotient) * _DIVISION_PLACES + Fraction(1, 2)), _DIVISION_PLACES)
    return rounded if quotient >= 0 else -rounded


def floor(value: Any) -> float:
    return _whole(cast_float(value), math.floor)


def ceil(value: Any) -> float:
    return _whole(cast_float(value), math.ceil)


def _whole(number: float, to_integer: Callable[[float], int]) -> float:
    return math.copysign(float(to_integer(number)), number) if math.isfinite(number) else number


def round_places(value: Any, decimals: int, *round_on: float) -> float:
    """Round to decimal places, up from a fraction of `round_on` (.5).

    Negative numbers are always rounded down, as in Sprig.
    """
    power = power_of_ten(float(decimals))
    digits = power * cast_float(value)
    part = math.modf(digits)[0] if math.isfinite(digits) else math.nan
    up = part >= (round_on[0] if round_on else 0.5)
    return _go_divide(_whole(digits, math.ceil if up else math.floor), power)


def _go_divide(dividend: float, divisor: float) -> float:
    if divisor:
        return dividend / divisor
    if not dividend or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def power_of_ten(exponent: float) -> float:
    """Return Go's math.Pow(10, n) by its own squaring, whose last bits differ from C's."""
    if abs(exponent) > 1 << 20:
        return math.inf if exponent > 0 else 0.0
    mantissa, power = 1.0, 0
    factor, factor_power = math.frexp(10.0)
    remaining = int(abs(exponent))
    while remaining:
        if remaining & 1:
            mantissa *= factor
            power += factor_power
        factor *= factor
        factor_power <<= 1
        if factor < 0.5:
            factor += factor
            factor_power -= 1
        remaining >>= 1
    if exponent < 0:
        mantissa, power = 1 / mantissa, -power
    try:
        return math.ldexp(mantissa, power)
    except OverflowError:
        return math.inf


def atoi(text: str) -> int:
    """Return 0 for invalid text, and the nearest int64 for a number out of range."""
    try:
        return parse_int(text, 10, 64)
    except ValueError as error:
        if str(error).endswith("value out of range"):
            return -(1 << 63) if text.startswith("-") else (1 << 63) - 1
        return 0


def to_decimal(value: Any) -> Int64:
    """Return an octal number: "0755" → 493."""
    text = sprint(value)
    try:
        return Int64(parse_int(text, 8, 64) if _OCTAL.fullmatch(text) else 0)
    except ValueError:
        return Int64(0)


def until(count: int) -> TypedList:
    return until_step(0, count, -1 if count < 0 else 1)


def until_step(start: int, stop: int, step: int) -> TypedList:
    """Return [start, start+step, …) below stop; empty if the step leads away from it."""
    # The length of the range may be more than Python's len() can return.
    hold_list(-((start - stop) // step) if step else 0, "untilStep: the list")
    numbers = range(start, stop, step) if step else ()
    charge(ELEMENT * len(numbers))
    return TypedList("[]int", numbers)


def seq(*params: int) -> str:
    """Return numbers like the command seq: (end), (start, end), (start, step, end), both ends included."""
    if not 1 <= len(params) <= 3:
        return ""
    start, end = (1, params[0]) if len(params) == 1 else (params[0], params[-1])
    direction = -1 if end < start else 1
    step = params[1] if len(params) == 3 else direction
    if len(params) == 3 and direction < 0 < step:
        return ""
    return " ".join(map(str, until_step(start, wrap_integer(end + direction), step)))


FUNCTIONS: Final = table(
    (
        declare("add(...any)", add),
        declare("add1(any)", add1),
        declare("sub(any, any)", sub),
        declare("mul(any, ...any)", mul),
        declare("div(any, any)", div),
        declare("mod(any, any)", mod),
        declare("max(any, ...any)", biggest),
        declare("biggest(any, ...any)", biggest),
        declare("min(any, ...any)", smallest),
        declare("maxf(any, ...any)", maxf),
        declare("minf(any, ...any)", minf),
        declare("addf(...any)", addf),
        declare("add1f(any)", add1f),
        declare("subf(any, ...any)", subf),
        declare("mulf(any, ...any)", mulf),
        declare("divf(any, ...any)", divf),
        declare("floor(any)", floor),
        declare("ceil(any)", ceil),
        declare("round(any, int, ...float64)", round_places),
        declare("atoi(string)", atoi),
        declare("int(any)", cast_integer),
        declare("int64(any)", cast_int64),
        declare("float64(any)", cast_float),
        declare("toDecimal(any)", to_decimal),
        declare("until(int)", until),
        declare("untilStep(int, int, int)", until_step),
        declare("seq(...int)", seq),
    )
)
