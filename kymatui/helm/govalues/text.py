"""Go strings: bytes that are mostly UTF-8, represented as str.

Bytes that are not UTF-8 are lone surrogates U+DC80 to U+DCFF (`surrogateescape`). Slicing and joining at byte
positions can break or complete characters, so do it with `to_bytes` and `from_bytes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Protocol

from kymatui.helm.govalues.budget import LimitError, charge, check_budget

RUNE_ERROR: Final = "\ufffd"

MAX_TEXT: Final = 8_000_000
"""The longest text, in characters, that a function may make: five times the largest object of a cluster."""


LONG: Final = 200
"""Characters of a text from which on it is counted when it is joined, not only when a function returns it."""
STEP: Final = 1 << 16
"""Characters that are looked at one by one between two looks at the clock."""


class Pattern(Protocol):
    """What `substituted` needs of a compiled pattern."""

    def sub(self, replacement: Callable[[re.Match[str]], str], text: str, /) -> str: ...


def join_bounded(pieces: list[str], separator: str = "") -> str:
    """Return the joined pieces. Raise LimitError before the text exceeds MAX_TEXT."""
    size = sum(map(len, pieces)) + len(separator) * len(pieces)
    if size > LONG:
        check_size(size)
        charge(size)
    return separator.join(pieces)


def check_size(size: int) -> None:
    """Raise LimitError if a text of that size would exceed MAX_TEXT."""
    if size > MAX_TEXT:
        raise LimitError(f"a template makes a text of more than {MAX_TEXT} characters")


def substituted(pattern: Pattern, replacement: Callable[[re.Match[str]], str], text: str) -> str:
    """Return the text with every match of a pattern for one character replaced. Raise LimitError."""
    if len(text) <= STEP:
        return pattern.sub(replacement, text)
    pieces: list[str] = []
    size = 0
    for start in range(0, len(text), STEP):
        check_budget()
        pieces.append(pattern.sub(replacement, text[start : start + STEP]))
        size += len(pieces[-1])
        check_size(size)
    return "".join(pieces)


def to_bytes(text: str) -> bytes:
    """Return the bytes of a Go string."""
    return text.encode("utf-8", "surrogateescape")


def from_bytes(data: bytes) -> str:
    """Return the Go string of these bytes."""
    return data.decode("utf-8", "surrogateescape")


def is_valid(text: str) -> bool:
    """Return whether the whole string is UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def normalize(text: str) -> str:
    """Return the canonical form: bytes that joined to a character become that character."""
    return text if is_valid(text) else from_bytes(to_bytes(text))


def byte_length(text: str) -> int:
    """Return Go's len of a string."""
    return len(text) if text.isascii() else len(to_bytes(text))


def runes(text: str) -> str:
    """Return the string as Go's `range` and `[]rune` see it: a byte that is not UTF-8 is U+FFFD."""
    return text if is_valid(text) else "".join(RUNE_ERROR if "\udc80" <= c <= "\udcff" else c for c in text)
