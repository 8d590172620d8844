"""The signs in front of states, in Unicode and in ASCII. A word always follows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

UNICODE: Mapping[str, str] = MappingProxyType(
    {
        "ready": "●",
        "processing": "◐",
        "warning": "▲",
        "error": "✖",
        "deleting": "◌",
        "unmanaged": "○",
        "muted": "·",
    }
)

ASCII: Mapping[str, str] = MappingProxyType(
    {
        "ready": "*",
        "processing": "~",
        "warning": "!",
        "error": "x",
        "deleting": "-",
        "unmanaged": "o",
        "muted": ".",
    }
)


def signed(tone: str, word: str, *, ascii_only: bool = False) -> str:
    """The word with its sign, or alone where the tone has none."""
    sign = (ASCII if ascii_only else UNICODE).get(tone, "")
    return f"{sign} {word}" if sign else word
