"""Random functions; the bytes come from the Environment, so that a rendering is repeatable."""

from __future__ import annotations

import base64
import string
from typing import Final

from kymatui.helm.functions.declaring import declare, hold_text, table
from kymatui.helm.govalues.bounding import TEXT_LIMIT
from kymatui.helm.govalues.budget import watched
from kymatui.helm.govalues.text import runes
from kymatui.helm.govalues.types import Panic
from kymatui.helm.language.environment import Environment

_LONGEST: Final = 1_000_000
_ASCII: Final = "".join(map(chr, range(32, 127)))


def draw_below(environment: Environment, bound: int) -> int:
    """Return a uniformly distributed number from 0 to bound - 1."""
    length = (bound.bit_length() + 7) // 8 + 1
    limit = (1 << (8 * length)) // bound * bound
    while True:
        number = int.from_bytes(environment.random(length))
        if number < limit:
            return number % bound


def _draw_text(environment: Environment, count: int, alphabet: str) -> str:
    if count < 0:
        return ""
    hold_text(count * (TEXT_LIMIT // _LONGEST), "a random text")
    drawn: list[str] = []
    limit = 256 // len(alphabet) * len(alphabet)
    while len(drawn) < count:
        data = environment.random(count - len(drawn))
        drawn += [alphabet[byte % len(alphabet)] for byte in data if byte < limit]
    return "".join(drawn)


def rand_alpha_num(environment: Environment, count: int) -> str:
    return _draw_text(environment, count, string.ascii_letters + string.digits)


def rand_alpha(environment: Environment, count: int) -> str:
    return _draw_text(environment, count, string.ascii_letters)


def rand_ascii(environment: Environment, count: int) -> str:
    return _draw_text(environment, count, _ASCII)


def rand_numeric(environment: Environment, count: int) -> str:
    return _draw_text(environment, count, string.digits)


def rand_bytes(environment: Environment, count: int) -> str:
    """Return `count` bytes in Base64."""
    if count < 0:
        raise Panic("runtime error: makeslice: len out of range")
    hold_text(count * (TEXT_LIMIT // _LONGEST), "randBytes: the text")
    return base64.b64encode(environment.random(count)).decode()


def rand_int(environment: Environment, minimum: int, maximum: int) -> int:
    """Return a number from minimum to maximum - 1."""
    if maximum <= minimum:
        raise Panic("invalid argument to Intn")
    return minimum + draw_below(environment, maximum - minimum)


def shuffle(environment: Environment, text: str) -> str:
    shuffled = list(runes(text))
    for number in watched(range(len(shuffled) - 1, 0, -1)):
        other = draw_below(environment, number + 1)
        shuffled[number], shuffled[other] = shuffled[other], shuffled[number]
    return "".join(shuffled)


def uuidv4(environment: Environment) -> str:
    data = bytearray(environment.random(16))
    data[6] = (data[6] & 0x0F) | 0x40
    data[8] = (data[8] & 0x3F) | 0x80
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


FUNCTIONS: Final = table(
    (
        declare("randAlphaNum(int)", rand_alpha_num, environment=True),
        declare("randAlpha(int)", rand_alpha, environment=True),
        declare("randAscii(int)", rand_ascii, environment=True),
        declare("randNumeric(int)", rand_numeric, environment=True),
        declare("randBytes(int)", rand_bytes, environment=True),
        declare("randInt(int, int)", rand_int, environment=True),
        declare("shuffle(string)", shuffle, environment=True),
        declare("uuidv4()", uuidv4, environment=True),
    )
)
