"""Letter case as in Go's unicode package: one rune in, one rune out (ß stays ß, in Python it is SS)."""

from __future__ import annotations

from typing import Final
from unicodedata import category

from kymatui.helm.govalues.budget import watched
from kymatui.helm.govalues.text import runes

SPACES: Final = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
"""What unicode.IsSpace says yes to."""

_SPACES: Final = frozenset(SPACES)


def is_space(rune: str) -> bool:
    return rune in _SPACES


def is_upper(rune: str) -> bool:
    return category(rune) == "Lu"


def is_lower(rune: str) -> bool:
    return category(rune) == "Ll"


def is_title(rune: str) -> bool:
    return category(rune) == "Lt"


def is_letter(rune: str) -> bool:
    return category(rune)[0] == "L"


def is_digit(rune: str) -> bool:
    return category(rune) == "Nd"


def is_number(rune: str) -> bool:
    return category(rune)[0] == "N"


def is_punct(rune: str) -> bool:
    return category(rune)[0] == "P"


def to_upper(rune: str) -> str:
    upper = rune.upper()
    if len(upper) == 1:
        return upper
    title = rune.title()
    return title if len(title) == 1 else rune


def to_lower(rune: str) -> str:
    return rune.lower()[0]  # only İ becomes longer; its first character is the simple mapping


def to_title(rune: str) -> str:
    title = rune.title()
    return title if len(title) == 1 else to_upper(rune)


def upper(text: str) -> str:
    """Return strings.ToUpper."""
    return text.upper() if text.isascii() else "".join(map(to_upper, watched(runes(text))))


def lower(text: str) -> str:
    """Return strings.ToLower."""
    return text.lower() if text.isascii() else "".join(map(to_lower, watched(runes(text))))


def title(text: str) -> str:
    """Return strings.Title: title case for letters at the start of a word."""
    previous = " "
    titled = []
    for rune in watched(runes(text)):
        titled.append(to_title(rune) if _is_separator(previous) else rune)
        previous = rune
    return "".join(titled)


def _is_separator(rune: str) -> bool:
    if rune.isascii():
        return not (rune.isalnum() or rune == "_")
    return not (is_letter(rune) or is_digit(rune)) and is_space(rune)


def untitle(text: str) -> str:
    """Return goutils.Uncapitalize: lower case for the first letter of every word."""
    words = []
    at_start = True
    for rune in watched(runes(text)):
        if is_space(rune):
            at_start = True
        elif at_start:
            rune = to_lower(rune)
            at_start = False
        words.append(rune)
    return "".join(words)


def swapcase(text: str) -> str:
    """Return goutils.SwapCase: lower case at the start of a word becomes title case."""
    after_space = True
    swapped = []
    for rune in watched(runes(text)):
        if is_upper(rune) or is_title(rune):
            swapped.append(to_lower(rune))
            after_space = False
        elif is_lower(rune):
            swapped.append(to_title(rune) if after_space else to_upper(rune))
            after_space = False
        else:
            swapped.append(rune)
            after_space = is_space(rune)
    return "".join(swapped)
