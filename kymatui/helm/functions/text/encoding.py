"""Base64 and Base32, decoded as in Go: line breaks are skipped, and an error is returned as text."""

from __future__ import annotations

import base64
import binascii
import contextlib
from typing import Final

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.govalues.budget import CHUNK, check_budget, watched
from kymatui.helm.govalues.text import from_bytes, to_bytes

_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BASE32: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_BREAKS: Final = b"\r\n"
_PAD: Final = ord("=")


class CorruptInputError(ValueError):
    """Invalid encoded text; the message is Go's, with the position of the first wrong byte."""


def b64enc(text: str) -> str:
    return base64.b64encode(to_bytes(text)).decode()


def b64dec(text: str) -> str:
    try:
        return from_bytes(decode_base64(text))
    except CorruptInputError as error:
        return str(error)


def b32enc(text: str) -> str:
    return base64.b32encode(to_bytes(text)).decode()


def b32dec(text: str) -> str:
    try:
        return from_bytes(_decode_base32(to_bytes(text)))
    except CorruptInputError as error:
        return str(error)


def decode_base64(text: str) -> bytes:
    """Return base64.StdEncoding.DecodeString. Raise CorruptInputError with Go's message."""
    data = to_bytes(text)
    kept = data.translate(None, _BREAKS)
    if len(kept) % 4 == 0:
        with contextlib.suppress(binascii.Error):
            return base64.b64decode(kept, validate=True)
    return _decode_by_groups(data)


def _decode_by_groups(data: bytes) -> bytes:
    """Decode four characters at a time, as Go does, to find the position of an error."""
    decoded = bytearray()
    group = bytearray()
    position = 0
    while position < len(data):
        byte = data[position]
        position += 1
        if not position % CHUNK:
            check_budget()
        if byte in _BREAKS:
            continue
        if byte in _BASE64:
            group.append(byte)
            if len(group) == 4:
                decoded += base64.b64decode(bytes(group))
                group.clear()
            continue
        if byte != _PAD or len(group) < 2:
            raise _corrupt(64, position - 1)
        _check_padding(data, position, len(group))
        return bytes(decoded) + base64.b64decode(bytes(group) + b"=" * (4 - len(group)))
    if group:
        raise _corrupt(64, len(data) - len(group))
    return bytes(decoded)


def _check_padding(data: bytes, position: int, letters: int) -> None:
    """Check the padding after the first "=": one more after two letters, and nothing behind."""
    position = _skip_breaks(data, position)
    if letters == 2:
        if position == len(data):
            raise _corrupt(64, len(data))
        if data[position] != _PAD:
            raise _corrupt(64, position - 1)
        position = _skip_breaks(data, position + 1)
    if position < len(data):
        raise _corrupt(64, position)


def _skip_breaks(data: bytes, position: int) -> int:
    while position < len(data) and data[position] in _BREAKS:
        position += 1
    return position


def _corrupt(base: int, position: int) -> CorruptInputError:
    return CorruptInputError(f"illegal base{base} data at input byte {position}")


def _decode_base32(data: bytes) -> bytes:
    kept = data.translate(None, _BREAKS)
    decoded = bytearray()
    for start in watched(range(0, len(kept), 8)):
        group = kept[start : start + 8]
        letters = _base32_letters(group, start, len(kept))
        decoded += base64.b32decode(group[:letters] + b"=" * (8 - letters))
        if letters < 8:
            break
    return bytes(decoded)


def _base32_letters(group: bytes, start: int, total: int) -> int:
    """Return the number of letters in a group of eight before its padding."""
    for number, byte in enumerate(group):
        behind = total - start - number - 1
        if byte == _PAD and number >= 2 and behind < 8:
            _check_base32_padding(group[number + 1 :], number, behind, total)
            return number
        if byte not in _BASE32:
            raise _corrupt(32, start + number)
    if len(group) < 8:
        raise _corrupt(32, total - len(group))
    return 8


def _check_base32_padding(padding: bytes, letters: int, behind: int, total: int) -> None:
    if behind + letters < 7:
        raise _corrupt(32, total)
    for number, byte in enumerate(padding):
        if byte != _PAD:
            raise _corrupt(32, total - behind + number - 1)
    if letters in (3, 6):
        raise _corrupt(32, total - behind - 1)


FUNCTIONS: Final = table(
    (
        declare("b64enc(string)", b64enc),
        declare("b64dec(string)", b64dec),
        declare("b32enc(string)", b32enc),
        declare("b32dec(string)", b32dec),
    )
)
