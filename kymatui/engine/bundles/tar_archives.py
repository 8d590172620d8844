"""Untrusted archives: plain or gzipped tars, read into memory within limits, never written to disk.

Only regular files and folders are accepted. Links, devices, absolute names and names that leave the archive are
rejected anywhere in it, even after the requested file.
"""

from __future__ import annotations

import gzip
import io
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from kymatui.errors import SourceError
from kymatui.tar_entries import TarFormatError, TarKind, read_content, read_entries

MIB: Final = 1 << 20
LARGEST: Final = 128 * MIB
LARGEST_FILE: Final = 64 * MIB
MOST_ENTRIES: Final = 20_000  # of one tar: empty files need no bytes of the archive's limit
FREE_SIZE: Final = 8 * MIB  # unpacked bytes up to which no ratio is checked: so little does no harm
MAX_RATIO: Final = 200  # larger content above it is a decompression bomb

_GZIP: Final = b"\x1f\x8b"
_MEMBER: Final = 31  # zlib's window bits for one member of a gzip
_DRIVE: Final = re.compile(r"[a-zA-Z]:")
_BROKEN: Final = (EOFError, zlib.error, struct.error, ValueError, OverflowError, OSError)


def is_gzip(data: bytes) -> bool:
    return data.startswith(_GZIP)


def is_tar(data: bytes) -> bool:
    """Return whether this is a tar with the "ustar" header that current tools write."""
    return data[257:262] == b"ustar"


def unpack(data: bytes, where: str) -> bytes:
    """Return the content of a gzip within limits; other data stays the same. Raises SourceError."""
    if not is_gzip(data):
        return data
    out = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            while chunk := packed.read(MIB):
                out.write(chunk)
                size = out.tell()
                if size > LARGEST or (size > FREE_SIZE and size > MAX_RATIO * len(data)):
                    raise SourceError(f"{where} is too large when unpacked ({size} bytes from {len(data)})")
    except _BROKEN as error:
        raise SourceError(f"{where} is damaged: {error}") from error
    return out.getvalue()


def unpack_chunks(chunks: Iterable[bytes], where: str) -> Iterator[bytes]:
    """Yield the content of a gzip of any size, in pieces of at most 1 MiB. Raises SourceError, also for a bomb."""
    packed = unpacked = 0
    reader = zlib.decompressobj(_MEMBER)
    try:
        for chunk in chunks:
            packed += len(chunk)
            rest = chunk
            while rest:
                if reader.eof:  # a gzip may have several members, and zeros at its end
                    rest = rest.lstrip(b"\0")
                    if not rest:
                        break
                    reader = zlib.decompressobj(_MEMBER)
                part = reader.decompress(rest, MIB)
                rest = reader.unused_data if reader.eof else reader.unconsumed_tail
                unpacked += len(part)
                if unpacked > FREE_SIZE and unpacked > MAX_RATIO * packed:
                    raise SourceError(f"{where} is too large when unpacked ({unpacked} bytes from {packed})")
                yield part
        while not reader.eof and (part := reader.decompress(reader.unconsumed_tail, MIB)):
            unpacked += len(part)
            yield part
    except _BROKEN as error:
        raise SourceError(f"{where} is damaged: {error}") from error
    if not reader.eof:
        raise SourceError(f"{where} is damaged: it ends too early")


def read_tar(data: bytes, where: str) -> dict[str, bytes]:
    """Return the regular files of a plain or gzipped tar by path, in their order. Raises SourceError."""
    files: dict[str, bytes] = {}
    total = 0
    archive = io.BytesIO(unpack(data, where))
    try:
        for count, entry in enumerate(read_entries(archive), 1):
            if count > MOST_ENTRIES:
                raise SourceError(f"{where} has more than {MOST_ENTRIES} entries")
            if entry.kind is TarKind.FOLDER:
                if entry.name.strip("/") not in ("", "."):
                    clean_path(entry.name, where)
                continue
            path = clean_path(entry.name, where)
            if entry.kind is not TarKind.FILE:
                kind = "a link" if entry.kind in (TarKind.LINK, TarKind.SYMLINK) else "not a regular file"
                hint = "an archive may have files and folders only"
                raise SourceError(f"{where}: {entry.name!r} is {kind}", hint=hint)
            total += entry.size
            if entry.size > LARGEST_FILE or total > LARGEST:
                raise SourceError(f"{where}: {entry.name!r} exceeds the size limit")
            files.setdefault(path, read_content(archive, entry))
    except TarFormatError as error:
        raise SourceError(f"{where} is not a tar archive or is damaged: it {error}") from error
    if not files:
        raise SourceError(f"{where} is an archive without files")
    return files


def clean_path(name: str, where: str) -> str:
    """Return a path without "./". Raises SourceError if it is absolute or leaves the archive."""
    plain = name.replace("\\", "/")
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    if plain.startswith("/") or ".." in parts or _DRIVE.match(plain) or "\0" in name or not parts:
        raise SourceError(f"{where}: {name!r} leads out of the archive", hint="the archive was not used")
    return "/".join(parts)


def without_root(files: dict[str, bytes], markers: tuple[str, ...], where: str) -> dict[str, bytes]:
    """Return files without their common root folder if only that folder has a marker (Chart.yaml).

    Raises SourceError if several folders have one.
    """
    if any(marker in files for marker in markers):
        return files
    tops = sorted({name.partition("/")[0] for name in files if "/" in name})
    roots = [root for root in tops if any(f"{root}/{marker}" in files for marker in markers)]
    if len(roots) > 1:
        raise SourceError(f"{where} has several folders: {', '.join(roots)}", hint="name one: ARCHIVE//FOLDER")
    if not roots:
        return files
    inside = f"{roots[0]}/"
    return {name.removeprefix(inside): data for name, data in files.items() if name.startswith(inside)}
