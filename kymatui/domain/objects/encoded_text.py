"""Texts that carry a secret without saying so: base64, hexadecimal, and what looks random."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

TOKEN: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_DIGEST: Final = re.compile(r"(?:sha(?:1|256|384|512)|md5)[:=_-]\Z", re.I)
_ADDRESS: Final = re.compile(r"(?:://|@)\Z")
HEXADECIMAL: Final = re.compile(r"(?<![0-9A-Za-z])(?:0x)?[0-9a-fA-F]{32,}(?![0-9A-Za-z])")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SEPARATORS: Final = re.compile(r"[+/_=-]")
_ARCHIVES: Final = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ")
_LARGEST: Final = 512 * 1024  # characters that are decoded; longer base64 is hidden
_SHORTEST_RANDOM: Final = 20
_SHORTEST_BASE36: Final = 24
_AWS_SECRET: Final = 40  # characters of a secret access key


def is_encoded_secret(text: str, start: int, end: int, has_secret: Callable[[str], bool]) -> bool:
    """Return whether the token text[start:end] is to be hidden; `has_secret` judges what base64 contains."""
    token = text[start:end]
    if _UUID.fullmatch(token) or _DIGEST.search(text, max(0, start - 8), start):
        return False
    if HEXADECIMAL.fullmatch(token):
        return not _ADDRESS.search(text, max(0, start - 3), start)
    return _looks_random(token) or _decodes_to_secret(token, has_secret)


def _decodes_to_secret(token: str, has_secret: Callable[[str], bool]) -> bool:
    """Return whether base64 holds an archive or a text with a secret."""
    if len(token) > _LARGEST:
        return True
    plain = token.strip("=").replace("-", "+").replace("_", "/")
    if len(plain) % 4 == 1 or "=" in plain:
        return False
    try:
        content = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    if content.startswith(_ARCHIVES):
        return True
    try:
        decoded = content.decode()
    except UnicodeDecodeError:
        return False
    return decoded.isprintable() and has_secret(decoded) if "\n" not in decoded else has_secret(decoded)


def _looks_random(token: str) -> bool:
    """Return whether upper case, lower case and digits alternate as they do in no word."""
    plain = _SEPARATORS.sub("", token)
    if len(plain) < _SHORTEST_RANDOM:
        return False
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in plain[:4096]]
    changes = sum(first != second for first, second in pairwise(kinds)) / (len(kinds) - 1)
    if "u" in kinds and "l" in kinds:
        vowels = sum(char in "aeiouAEIOU" for char in plain) / len(plain)  # of words a third and more
        if len(token) == _AWS_SECRET and "d" in kinds:
            return changes >= 0.25
        return vowels < 0.28 and changes >= (0.38 if "d" in kinds else 0.42)
    is_base36 = "d" in kinds and kinds.count("d") < len(kinds) and not _SEPARATORS.search(token.rstrip("="))
    return is_base36 and len(plain) >= _SHORTEST_BASE36 and changes >= 0.25
