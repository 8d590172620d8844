"""Tars that depend on names and contents only: fixed times, modes and owners, as small as Go's writer makes them."""

from __future__ import annotations

import tarfile
from typing import Final

_BLOCK: Final = 512  # bytes of a tar's block: contents are padded to it, and two empty ones end the tar
DESCRIPTOR_TIME: Final = 1_640_995_200
"""2022-01-01, which ocm gives to the descriptor in its tar."""


def pack_file(name: str, content: bytes, *, mode: int = 0o644, time: int = 0) -> bytes:
    """Return a tar with one file; long and non-ASCII names have PAX headers."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(content), mode, time
    info.type = tarfile.REGTYPE
    header = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    return header + content + bytes(-len(content) % _BLOCK) + bytes(2 * _BLOCK)
