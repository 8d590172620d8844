"""The order of keys in Go's YAML: letters after other characters, digits by numeric value."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key, lru_cache
from typing import Any, Final

from kymatui.helm.govalues.budget import CHUNK, check_budget, tick

_WORD_LIMIT: Final = 64


class Fields(dict[str, Any]):
    """The fields of a struct: a map whose keys keep their order."""

    __slots__ = ()
    go_type = "map[string]interface {}"
    go_kind = "map"


def sort_keys(keys: Iterable[str]) -> list[str]:
    """Return keys as go-yaml v2 sorts them (`sorter.go`)."""
    return list(_sorted(tuple(keys), False))


def sort_keys_v3(keys: Iterable[str]) -> list[str]:
    """Return keys as go-yaml v3 sorts them: continued digits come before letters."""
    return list(_sorted(tuple(keys), True))


@lru_cache(maxsize=2048)
def _remembered(keys: tuple[str, ...], digits_first: bool) -> tuple[str, ...]:
    return _sort(keys, digits_first)


def _sorted(keys: tuple[str, ...], digits_first: bool) -> tuple[str, ...]:
    # A key of a v2 map has at most 1,024 characters, and nearly all maps are v2's.
    remembers = len(keys) <= _WORD_LIMIT and not digits_first
    return _remembered(keys, digits_first) if remembers else _sort(keys, digits_first)


def _sort(keys: tuple[str, ...], digits_first: bool) -> tuple[str, ...]:
    if all(map(str.isalpha, keys)):
        return tuple(sorted(keys))
    # Sort twice, so that equal keys have the same order for every input order.
    return tuple(sorted(sorted(keys), key=_BY_V3 if digits_first else _BY_V2))


def _compare(first: str, second: str, digits_first: bool) -> int:
    if first == second:
        return 0
    tick()
    if min(len(first), len(second)) > CHUNK:
        check_budget()
    digits = False
    for at, (char, other) in enumerate(zip(first, second, strict=False)):
        if char != other:
            return _differ(first, second, at, digits and digits_first)
        digits = char.isdecimal()
    return -1 if len(first) < len(second) else 1


def _differ(first: str, second: str, at: int, in_number: bool) -> int:
    char, other = first[at], second[at]
    letter_one, letter_two = char.isalpha(), other.isalpha()
    if letter_one and letter_two:
        return -1 if char < other else 1
    if letter_one or letter_two:
        return -1 if (letter_one if in_number else letter_two) else 1
    start = int((char == "0" or other == "0") and _within_number(first, at))
    number_one, end_one = _number(first, at, start)
    number_two, end_two = _number(second, at, start)
    if number_one != number_two:
        return -1 if number_one < number_two else 1
    if end_one != end_two:
        return -1 if end_one < end_two else 1
    return -1 if char < other else 1


def _within_number(text: str, at: int) -> bool:
    for position in range(at - 1, -1, -1):
        if not text[position].isdecimal():
            return False
        if text[position] != "0":
            return True
    return False


def _number(text: str, at: int, number: int) -> tuple[int, int]:
    end = at
    while end < len(text) and text[end].isdecimal():
        number = number * 10 + ord(text[end]) - 48
        end += 1
        if end - at > 17:  # Go's int64 overflows
            number &= (1 << 64) - 1
    if end - at > 17:
        number -= (number >> 63) << 64
    return number, end


def _by_v2(first: str, second: str) -> int:
    return _compare(first, second, False)


def _by_v3(first: str, second: str) -> int:
    return _compare(first, second, True)


_BY_V2: Final = cmp_to_key(_by_v2)
_BY_V3: Final = cmp_to_key(_by_v3)
