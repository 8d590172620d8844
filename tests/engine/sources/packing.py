"""Archives as tests need them: good ones and bad ones, the same bytes each time."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping


def tar(files: Mapping[str, str | bytes | tarfile.TarInfo], *, packed: bool = False) -> bytes:
    """An archive of files by name; a TarInfo stands for itself (a link, a folder, a device)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0) if packed else out.getvalue()


def link(name: str, target: str, *, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    return info
