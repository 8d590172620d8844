"""Canonical JSON: RFC 8785 (JCS), and Go's json.Marshal for the oldest normalisation.

Numbers are doubles, as in JSON: 1 and 1.0 are equal, and digits beyond a double's precision are lost, as in every
implementation of the model.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, Final

from kymatui.ocm.errors import DescriptorError

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HTML: Final = re.compile("[<>&\u2028\u2029]")


def canonical_json(value: Any) -> bytes:
    """Return JSON by RFC 8785: keys sorted by UTF-16, shortest numbers, no spaces. Raises DescriptorError."""
    return _written(value, by_utf16=True).encode()


def go_json(value: Any) -> bytes:
    """Return JSON as Go's json.Marshal: keys sorted by bytes; `<`, `>`, `&`, U+2028 and U+2029 escaped."""
    return _written(value, by_utf16=False).encode()


def _written(value: Any, *, by_utf16: bool) -> str:
    try:
        return _write(value, by_utf16)
    except RecursionError as error:
        raise DescriptorError("a component descriptor is nested too deeply") from error


def _write(value: Any, utf16: bool) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return _text(value, utf16)
    if isinstance(value, int | float):
        return _number(_double(value), utf16)
    if isinstance(value, list | tuple):
        return "[" + ",".join(_write(one, utf16) for one in value) + "]"
    if isinstance(value, dict):
        keys = sorted(value, key=_utf16_units if utf16 else None)
        return "{" + ",".join(f"{_text(key, utf16)}:{_write(value[key], utf16)}" for key in keys) + "}"
    raise DescriptorError(f"{type(value).__name__} is not a JSON value")


def _utf16_units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _text(text: str, utf16: bool) -> str:
    """Return a JSON string; Go reads half a surrogate pair as U+FFFD."""
    written = json.dumps(_SURROGATE.sub("\ufffd", text), ensure_ascii=False)
    return written if utf16 else _HTML.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _double(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise DescriptorError("a component descriptor has a number that is too large") from None


def _number(number: float, utf16: bool) -> str:
    """Return ECMAScript's Number::toString; Go differs only in negative zero."""
    if not math.isfinite(number):
        raise DescriptorError(f"{number} is not a JSON number")
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 and not utf16 else "0"
    sign, parts, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, parts))
    point = len(digits) + exponent
    return ("-" if sign else "") + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Return digits with the decimal point after the first `point` digits."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"
