"""Go strings: bytes that are mostly UTF-8.

A str carries them; bytes that are no UTF-8 are lone surrogates U+DC80 to U+DCFF (`surrogateescape`). Cutting and
joining at byte positions can make or heal such bytes, so whoever does that goes through `to_bytes` and `from_bytes`.
"""

from __future__ import annotations

from typing import Final

from kymatui.errors import HelmError

RUNE_ERROR: Final = "\ufffd"

MAX_TEXT: Final = 64_000_000
"""The longest text, in characters, that a function of a template may make: a chart must not eat the machine."""


def join_bounded(pieces: list[str], separator: str = "") -> str:
    """The pieces in one text; HelmError where that would be longer than MAX_TEXT, before it is made."""
    check_size(sum(map(len, pieces)) + len(separator) * len(pieces))
    return separator.join(pieces)


def check_size(size: int) -> None:
    """HelmError where a text of so many characters is longer than MAX_TEXT."""
    if size > MAX_TEXT:
        raise HelmError(f"a template makes a text of more than {MAX_TEXT} characters")


def to_bytes(text: str) -> bytes:
    """The bytes of a Go string."""
    return text.encode("utf-8", "surrogateescape")


def from_bytes(data: bytes) -> str:
    """The Go string of these bytes."""
    return data.decode("utf-8", "surrogateescape")


def is_valid(text: str) -> bool:
    """Whether the string is UTF-8 throughout."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def normalize(text: str) -> str:
    """The same bytes in the one form that equal bytes have: pieces of a character that came together are one again."""
    return text if is_valid(text) else from_bytes(to_bytes(text))


def byte_length(text: str) -> int:
    """What Go's len says of a string."""
    return len(text) if text.isascii() else len(to_bytes(text))


def runes(text: str) -> str:
    """The string as Go's `range` and `[]rune` see it: every byte that is no UTF-8 is U+FFFD."""
    return text if is_valid(text) else "".join(RUNE_ERROR if "\udc80" <= c <= "\udcff" else c for c in text)
