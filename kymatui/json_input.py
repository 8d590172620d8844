"""The reading of JSON from outside, within limits that are checked before a value takes memory.

Errors name position and kind of a problem and nothing of the text, which may be secret.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn

MOST_VALUES: Final = 1_000_000
"""Objects, lists and scalars of a text: about 100 MB. `[[],[],…]` has one in three bytes, a real document in thirty."""
DEEPEST: Final = 200
"""Levels of a value: what compares and prints it follows each of them by a call. CRDs have up to 60."""
_LONGEST_WHOLE: Final = 308  # characters; the largest number that a float holds has 309
_STRING: Final = r'"[^"\\]*(?:\\.[^"\\]*)*"?'


class JsonInputError(ValueError):
    """JSON that cannot be read, or that is larger than the limits allow."""


def read_json(text: str | bytes, *, most: int = MOST_VALUES, deepest: int = DEEPEST) -> Any:
    """Return the value of a text of at most `most` values in at most `deepest` levels. Raise JsonInputError.

    NaN and infinite numbers are refused, also those that only a float cannot hold.
    """
    require_few_values(text, most)
    try:
        value = _DECODER.decode(_decoded(text))
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise JsonInputError(f"{position}: it is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}") from None
    except UnicodeDecodeError:
        raise JsonInputError("it is not text in UTF-8") from None
    except RecursionError:
        raise JsonInputError(f"it is nested in more than {deepest} levels") from None
    if levels_of(value) > deepest:
        raise JsonInputError(f"it is nested in more than {deepest} levels")
    return value


def read_json_start(text: str) -> tuple[Any, int]:
    """Return the value at the start of a text and where it ends; if there is none, minus the characters read."""
    try:
        require_few_values(text)
        value, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        is_cut = error.msg.startswith("Unterminated")
        return None, -len(text) if is_cut else -max(error.pos, 1)
    except (RecursionError, JsonInputError):
        return None, -len(text)
    return (value, end) if levels_of(value) <= DEEPEST else (None, -end)


def require_few_values(text: str | bytes | bytearray, most: int = MOST_VALUES) -> None:
    """Raise JsonInputError if the text has more values than `most`, without decoding it."""
    if _marks(text) < most:  # also those in strings: enough for almost every text, at a gigabyte a second
        return
    plain = _without_strings(text)
    empty = plain.count("[]") + plain.count("{}") if isinstance(plain, str) else plain.count(b"[]") + plain.count(b"{}")
    if _marks(plain) - empty >= most:
        raise JsonInputError(f"it has more than {most} values")


def levels_of(value: Any) -> int:
    """Return how many lists and objects the value nests, 0 for a scalar."""
    levels = 0
    level = [value] if value.__class__ is dict or value.__class__ is list else []
    while level:
        levels += 1
        level = [
            part
            for container in level
            for part in (container.values() if container.__class__ is dict else container)
            if part.__class__ is dict or part.__class__ is list
        ]
    return levels


def _marks(text: str | bytes | bytearray) -> int:
    """Return commas and opening brackets: there is at most one value for each, and the whole."""
    if isinstance(text, str):
        return text.count(",") + text.count("[") + text.count("{")
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _without_strings(text: str | bytes | bytearray) -> str | bytes:
    if isinstance(text, str):
        return re.sub(_STRING, "0", text, flags=re.DOTALL)
    return re.sub(_STRING.encode(), b"0", text, flags=re.DOTALL)


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass")


def _whole(text: str) -> int:
    if len(text) > _LONGEST_WHOLE:
        raise JsonInputError("it has a number that is too large")
    return int(text)


def _fraction(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonInputError("it has a number that is too large")
    return number


def _no_constant(_text: str) -> NoReturn:
    raise JsonInputError("it has a number that is infinite or none")


_DECODER: Final = json.JSONDecoder(parse_int=_whole, parse_float=_fraction, parse_constant=_no_constant)
