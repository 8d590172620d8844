"""The reading of tar archives: every one of kymatui's readers goes through this door.

The standard library reads extended headers by calling itself for each, needs exponential time for some of them and
stops silently at a damaged one; what it accepts depends on the version of Python. Here headers are read one after the
other, within bounds, and damage is an error. Formats: v7, ustar, GNU (long names, numbers in base 256), pax.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import BinaryIO, Final, NamedTuple

BLOCK: Final = 512
MOST_EXTENDED: Final = 8
"""Extended headers of one entry. Current programs write one or two: a pax header, or a long name and a long link."""
LARGEST_EXTENDED: Final = 1 << 20
"""Bytes of one extended header, as in Go. A path has at most some thousand."""
LARGEST_SIZE: Final = 1 << 50  # no archive has a file of a petabyte

_OCTAL: Final = re.compile(rb" *([0-7]{1,20}) *")
_NUMBER: Final = re.compile(r"[0-9]{1,20}")
_LENGTH: Final = re.compile(rb"([0-9]{1,7}) ")
_MEANT: Final = ("path", "linkpath", "size")  # pax keys that change what an entry is


class TarFormatError(ValueError):
    """A header that no reader should trust; the message lacks its subject ("has a header …")."""


class TarKind(Enum):
    """What an entry is; `OTHER` is a device, a pipe or what no reader of today knows."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SYMLINK = "symlink"
    SPARSE = "sparse"
    OTHER = "other"


class TarEntry(NamedTuple):
    """One entry of an archive; `target` is that of a link. `size` is 0 for all but files."""

    name: str
    kind: TarKind
    size: int
    target: str


_KINDS: Final[Mapping[bytes, TarKind]] = {
    **dict.fromkeys((b"0", b"\0", b"7"), TarKind.FILE),
    b"1": TarKind.LINK,
    b"2": TarKind.SYMLINK,
    b"5": TarKind.FOLDER,
    b"S": TarKind.SPARSE,
}


def has_tar_header(data: bytes) -> bool:
    """Return whether this begins as a tar of any age does: with a header of a valid checksum, or with the end."""
    block = data[:BLOCK]
    return len(block) == BLOCK and (not any(block) or _has_checksum(block))


def read_entries(file: BinaryIO) -> Iterator[TarEntry]:
    """Yield the entries of an uncompressed tar; until the next one, the file stands at the entry's content.

    Raise TarFormatError for a damaged header and for bounds that are exceeded. Extended headers of the whole archive
    (pax `g`) may hold comments only.
    """
    position, end = file.tell(), file.seek(0, io.SEEK_END)
    extended: dict[str, str] = {}
    headers = 0
    while block := _block(file, position):
        position += BLOCK
        if not any(block):
            break
        kind, size = block[156:157], _number(block[124:136])
        if not _has_checksum(block) or size > LARGEST_SIZE:
            raise TarFormatError("has a damaged header")
        if kind in b"xgXLK":
            headers += 1
            if headers > MOST_EXTENDED or size > LARGEST_EXTENDED:
                raise TarFormatError(f"has more or larger extended headers for an entry than {MOST_EXTENDED} of 1 MiB")
            extended.update(_extended(kind, _content(file, size)))
            position += _padded(size)
            continue
        entry = _entry(block, kind, size, extended)
        if position + entry.size > end:
            raise TarFormatError("is truncated")
        file.seek(position)
        yield entry
        extended, headers = {}, 0
        position += _padded(entry.size)
    if extended:
        raise TarFormatError("ends after an extended header")


def read_content(file: BinaryIO, entry: TarEntry) -> bytes:
    """Return the content of the entry that was read last. Raise TarFormatError if the archive ends within it."""
    return _content(file, entry.size)


def _block(file: BinaryIO, position: int) -> bytes:
    """Return the header at a position, nothing at the end of the file; archives without an end are read, too."""
    file.seek(position)
    block = file.read(BLOCK)
    if block and len(block) < BLOCK:
        raise TarFormatError("is truncated within a header")
    return block


def _content(file: BinaryIO, size: int) -> bytes:
    content = file.read(size)
    if len(content) != size:
        raise TarFormatError("is truncated")
    return content


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _entry(block: bytes, kind: bytes, size: int, extended: Mapping[str, str]) -> TarEntry:
    name = extended.get("path", _text(block[:100]))
    if "path" not in extended and block[257:262] == b"ustar" and block[257:265] != b"ustar  \0":
        prefix = _text(block[345:500])
        name = f"{prefix}/{name}" if prefix else name
    if "size" in extended:
        size = _size(extended["size"])
    tar_kind = _KINDS.get(kind, TarKind.OTHER)
    if any(key.startswith("GNU.sparse.") for key in extended):
        tar_kind = TarKind.SPARSE
    if kind == b"\0" and name.endswith("/"):  # v7 has no folders
        tar_kind = TarKind.FOLDER
    has_content = tar_kind in (TarKind.FILE, TarKind.SPARSE, TarKind.OTHER) and kind not in b"346"
    return TarEntry(name, tar_kind, size if has_content else 0, extended.get("linkpath", _text(block[157:257])))


def _extended(kind: bytes, content: bytes) -> dict[str, str]:
    if kind in b"LK":  # GNU
        return {"path" if kind == b"L" else "linkpath": _text(content)}
    records = dict(_pax(content))
    if kind == b"g":
        meant = [key for key in records if key in _MEANT or key.startswith("GNU.sparse.")]
        if meant:
            raise TarFormatError(f"has a {meant[0]} for all entries")
        return {}
    return records


def _pax(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the records of a pax header: `LENGTH KEY=VALUE\\n`, where LENGTH counts the whole record."""
    position = 0
    while position < len(content) and content[position]:  # some writers pad with zeros
        match = _LENGTH.match(content, position, position + 8)
        end = position + int(match[1]) if match else 0
        if match is None or not match.end() < end <= len(content) or content[end - 1 : end] != b"\n":
            raise TarFormatError("has a damaged extended header")
        key, sign, value = content[match.end() : end - 1].partition(b"=")
        if not sign or not key:
            raise TarFormatError("has a damaged extended header")
        if b"\0" in content[position:end] and key in (b"path", b"linkpath"):
            raise TarFormatError("has a path that none can have")
        yield _decode(key), _decode(value)
        position = end


def _size(text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > LARGEST_SIZE:
        raise TarFormatError("has an extended header with a size that is none")
    return int(text)


def _number(field: bytes) -> int:
    """Return a number: octal digits, or GNU's base 256. A negative one is damage."""
    if field[0] & 0x80:
        number = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
        if field[0] & 0x40:
            raise TarFormatError("has a negative number in a header")
        return number
    digits = field.rstrip(b"\0 ").partition(b"\0")[0]
    match = _OCTAL.fullmatch(digits)
    if digits.strip() and match is None:
        raise TarFormatError("has a damaged header")
    return int(match[1], 8) if match else 0


def _has_checksum(block: bytes) -> bool:
    """Return whether the checksum is right; old programs add signed bytes."""
    try:
        stored = _number(block[148:156])
    except TarFormatError:
        return False
    counted = block[:148] + b" " * 8 + block[156:]
    return stored == sum(counted) or stored == sum(struct.unpack("512b", counted))


def _text(field: bytes) -> str:
    return _decode(field.partition(b"\0")[0])


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
