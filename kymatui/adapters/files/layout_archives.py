"""Image layouts in one tar: unpacked into a temporary folder to read, packed from one after writing.

Archives are untrusted: only the files of a layout are unpacked, and their sizes are limited.
"""

from __future__ import annotations

import contextlib
import re
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from kymatui.adapters.files.image_layout import ImageLayout
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import RegistryError
from kymatui.own_files import create_folder, replaced
from kymatui.tar_entries import TarEntry, TarFormatError, TarKind, read_entries

LARGEST_ARCHIVE: Final = 16 * 1024 * 1024 * 1024  # unpacked bytes, so that an archive cannot fill the disk
MOST_FILES: Final = 20_000  # entries of an archive: empty files need no bytes
_CHUNK: Final = 1024 * 1024  # bytes in memory while a blob is unpacked
_FILES: Final = re.compile(r"oci-layout|index\.json|blobs/sha256/[0-9a-f]{64}")


@contextlib.contextmanager
def open_archive(path: Path, *, write: bool = False) -> Iterator[ImageLayout]:
    """Yield the layout of an archive; with `write` the archive is created afterwards unless an error occurs.

    Raise RegistryError if it cannot be read or written, or if it already exists.
    """
    with tempfile.TemporaryDirectory(prefix="kymatui-layout-") as folder:
        if write:
            if path.exists():
                raise RegistryError(f"{path} already exists", hint="name a new file")
            yield ImageLayout(Path(folder))
            _pack(Path(folder), path)
        else:
            _unpack(path, Path(folder))
            yield ImageLayout(Path(folder))


def _unpack(path: Path, folder: Path) -> None:
    total = 0
    try:
        with path.open("rb") as archive:
            for count, entry in enumerate(read_entries(archive), 1):
                name = entry.name.removeprefix("./")
                if count > MOST_FILES:
                    raise RegistryError(f"{path} has more than {MOST_FILES} entries")
                if entry.kind is TarKind.FOLDER or not _FILES.fullmatch(name):
                    continue
                if entry.kind is not TarKind.FILE:
                    raise RegistryError(f"{path}: {name} is not a regular file", hint="the archive was not used")
                total += entry.size
                if total > LARGEST_ARCHIVE:
                    raise RegistryError(f"{path} is larger than {LARGEST_ARCHIVE} bytes")
                _save(archive, entry, folder / name)
    except TarFormatError as error:
        raise RegistryError(f"{path} cannot be read as an archive of an image layout: it {error}") from error
    except OSError as error:
        reason = error_reason(error)
        raise RegistryError(f"{path} cannot be read as an archive of an image layout: {reason}") from error
    if not (folder / "index.json").exists():
        raise RegistryError(f"{path} has no index.json", hint="only archives of OCI image layouts can be read")


def _save(archive: BinaryIO, entry: TarEntry, target: Path) -> None:
    create_folder(target.parent)
    missing = entry.size
    with target.open("xb") as file:
        while missing and (chunk := archive.read(min(_CHUNK, missing))):
            file.write(chunk)
            missing -= len(chunk)


def _pack(folder: Path, path: Path) -> None:
    try:
        with (
            replaced(path, 0o644) as descriptor,
            open(descriptor, "wb", closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w:", format=tarfile.PAX_FORMAT) as archive,
        ):
            for file in sorted(child for child in folder.rglob("*") if child.is_file()):
                name = file.relative_to(folder).as_posix()
                if not _FILES.fullmatch(name):
                    continue
                info = tarfile.TarInfo(name)
                info.size, info.mode = file.stat().st_size, 0o644
                with file.open("rb") as content:
                    archive.addfile(info, content)
    except OSError as error:
        raise RegistryError(f"{path} cannot be written: {error_reason(error)}") from error
