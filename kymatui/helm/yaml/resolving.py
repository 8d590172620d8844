"""Resolution of YAML scalars by go-yaml's rules: YAML 1.1 booleans, no sexagesimals, dates as strings.

The rules are those of go-yaml v2 (`resolve.go`), which sigs.k8s.io/yaml uses, and of v3 for `toYamlPretty`: v3 has no
y, n, yes, no, on and off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from kymatui.patterns import deferred

Scalar = str | int | float | bool | None

STR: Final = "tag:yaml.org,2002:str"
BOOL: Final = "tag:yaml.org,2002:bool"
INT: Final = "tag:yaml.org,2002:int"
FLOAT: Final = "tag:yaml.org,2002:float"
NULL: Final = "tag:yaml.org,2002:null"
TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
BINARY: Final = "tag:yaml.org,2002:binary"
MERGE: Final = "tag:yaml.org,2002:merge"

RESOLVABLE: Final = frozenset({"", STR, BOOL, INT, FLOAT, NULL, TIMESTAMP})
"""Tags that are checked against the text; any other tag leaves it a string."""

HINTS: Final = frozenset("+-0123456789yYnNtTfFoO~.")
"""First characters of scalars that can be something else than a string."""

MAX_INT: Final = (1 << 63) - 1
MAX_UINT: Final = (1 << 64) - 1

_OLD_WORDS: Final[Mapping[str, tuple[str, Scalar]]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), (BOOL, True)),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), (BOOL, False)),
}
_WORDS: Final[Mapping[str, tuple[str, Scalar]]] = {
    **dict.fromkeys(("true", "True", "TRUE"), (BOOL, True)),
    **dict.fromkeys(("false", "False", "FALSE"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, math.nan)),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (FLOAT, math.inf)),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, -math.inf)),
}
WORDS_V2: Final = {**_WORDS, **_OLD_WORDS}
OLD_BOOLEANS: Final = frozenset(_OLD_WORDS)

_INTEGER = deferred(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|0([0-7]+)|(0|[1-9][0-9]*))\Z", re.ASCII)
_STYLED_FLOAT = deferred(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_DOTTED_FLOAT = deferred(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?\Z", re.ASCII)
_SIXTY = deferred(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z", re.ASCII)
_LONGEST_REMEMBERED: Final = 128  # characters
_BASES: Final = (16, 2, 8, 8, 10)
_DATE = deferred(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[+-](\d\d):(\d\d)))"
    r"|(?: +(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?))?\Z",
    re.ASCII,
)


def resolve_plain(text: str) -> tuple[str, Scalar]:
    """Return tag and value of an untagged plain scalar. Long ones are not cached: they may be whole files."""
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _resolved(text)


@lru_cache(maxsize=16384)
def _remembered(text: str) -> tuple[str, Scalar]:
    return _resolved(text)


def _resolved(text: str) -> tuple[str, Scalar]:
    if text and text[0] not in HINTS:
        return STR, text
    word = WORDS_V2.get(text)
    return word if word is not None else _resolve_number(text, dates=True)


def resolve_tagged(tag: str, text: str) -> tuple[str, Scalar]:
    """Return tag and value of a tagged scalar. Raise ValueError with go-yaml's message."""
    if tag not in RESOLVABLE:
        return tag, text
    if tag == STR:
        return STR, text
    resolved, value = WORDS_V2.get(text) or (
        (STR, text) if text[0] not in HINTS else _resolve_number(text, dates=tag in ("", TIMESTAMP))
    )
    if tag in ("", resolved):
        return resolved, value
    if tag == FLOAT and resolved == INT and isinstance(value, int) and value <= MAX_INT:
        return FLOAT, float(value)
    raise ValueError(f"cannot decode {short_tag(resolved)} `{text}` as a {short_tag(tag)}")


def short_tag(tag: str) -> str:
    return "!!" + tag.removeprefix("tag:yaml.org,2002:") if tag.startswith("tag:yaml.org,2002:") else tag


def _resolve_number(text: str, *, dates: bool) -> tuple[str, Scalar]:
    if text[0] == ".":
        # float() accepts single underscores, as Go does here.
        number = _float(text) if _DOTTED_FLOAT.match(text) else None
        return (STR, text) if number is None else (FLOAT, number)
    if text[0] not in "+-0123456789":
        return STR, text
    if dates and is_timestamp(text):
        return TIMESTAMP, text
    plain = text.replace("_", "")
    integer = parse_integer(plain)
    if integer is not None:
        return INT, integer
    number = _float(plain) if _STYLED_FLOAT.match(plain) else None
    return (STR, text) if number is None else (FLOAT, number)


def parse_integer(text: str) -> int | None:
    """Return Go's ParseInt, then ParseUint, with base 0: prefixes 0x, 0b, 0o and 0."""
    match = _INTEGER.match(text)
    if not match or len(text) > 80:
        return None
    index = match.lastindex or 0
    value = int(match[index], _BASES[index - 2])
    if match[1]:
        value = -value if match[1] == "-" else value
        return value if -MAX_INT - 1 <= value <= MAX_INT else None
    return value if value <= MAX_UINT else None


def _float(text: str) -> float | None:
    number = float(text)
    return None if math.isinf(number) else number


def is_timestamp(text: str) -> bool:
    """Return whether go-yaml reads the text as a time (time.Parse with four lenient layouts)."""
    match = _DATE.match(text) if text[4:5] == "-" else None
    if match is None:
        return False
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not 1 <= month <= 12 or not 1 <= day <= _days(year, month):
        return False
    clock = [int(part) for part in (match.group(4, 5, 6) if match[4] else match.group(9, 10, 11)) if part is not None]
    if clock and (clock[0] > 23 or clock[1] > 59 or clock[2] > 59):
        return False
    return match[7] is None or (int(match[7]) <= 24 and int(match[8]) <= 60)


def _days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def is_sexagesimal(text: str) -> bool:
    """Return whether YAML 1.1 reads it as a base-60 number: such text is quoted, never read as a number."""
    return ":" in text and _SIXTY.match(text) is not None


def is_merge(event: Any) -> bool:
    return bool(event.value == "<<" and (event.implicit[0] or event.tag == MERGE))
