"""Go strings: bytes that are mostly UTF-8, represented as str.

Bytes that are not UTF-8 are lone surrogates U+DC80 to U+DCFF (`surrogateescape`). Slicing and joining at byte
positions can break or complete characters, so do it with `to_bytes` and `from_bytes`.
"""

from __future__ import annotations

from typing import Final

from kymatui.errors import HelmError

RUNE_ERROR: Final = "\ufffd"

MAX_TEXT: Final = 64_000_000
"""The longest text, in characters, that a function of a template may make: a chart must not eat the machine."""


def join_bounded(pieces: list[str], separator: str = "") -> str:
    """Return the joined pieces. Raise HelmError before the text exceeds MAX_TEXT."""
    check_size(sum(map(len, pieces)) + len(separator) * len(pieces))
    return separator.join(pieces)


def check_size(size: int) -> None:
    """Raise HelmError if a text of that size would exceed MAX_TEXT."""
    if size > MAX_TEXT:
        raise HelmError(f"a template makes a text of more than {MAX_TEXT} characters")


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
