"""The writing of files and folders: everything that kymatui leaves on a disk is created here.

What is kymatui's own (state, caches, configuration, backups, journals) is for its user only, whatever the umask is:
another user who can write there could replace a backup that is restored later, or a compiled template. What a person
names is written there, and never writable for others.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_NAME: Final = "kymatui"  # of the folders below those of the platform: caches, state, configuration
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_IS_POSIX: Final = os.name == "posix"  # elsewhere the user's profile is private by default
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE: Final = stat.S_IWGRP | stat.S_IWOTH


def own_folder(path: Path) -> None:
    """Create a folder of kymatui's own, or repair its mode and that of the folders above it up to kymatui's first.

    Raise OSError, PermissionError if one belongs to another user: then nothing is written there.
    """
    _create(path, 0o700)
    for folder in _own_folders(path):
        _repair(folder)


def write_own(path: Path, content: bytes) -> None:
    """Write a whole file of kymatui's own, or leave the old one. Raise OSError."""
    own_folder(path.parent)
    _replace(path, content, 0o600)


def open_own(path: Path) -> int:
    """Return the descriptor of a file of kymatui's own, to append to it or to lock it. Raise OSError."""
    own_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINK, 0o600)
    try:
        status = _require_own(descriptor, path)
        if _IS_POSIX and status.st_mode & _OTHERS:
            os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_own(path: Path, largest: int = -1) -> bytes:
    """Return the content of a file of kymatui's own, at most `largest` bytes.

    Raise OSError, PermissionError if another user could have written it.
    """
    with open(os.open(path, os.O_RDONLY | _NO_LINK), "rb") as file:
        status = _require_own(file.fileno(), path)
        if _IS_POSIX and status.st_mode & _WRITABLE:
            raise PermissionError(errno.EPERM, "other users can write it", str(path))
        return file.read(largest)


def write_file(path: Path, content: bytes, *, private: bool) -> None:
    """Write a whole file that a person names, or leave the old one. Raise OSError.

    Folders that are missing are created, and writable for nobody else. The file is for the user only if it is
    `private`; else the umask decides who reads it, and a file that is replaced keeps its mode. A device or a pipe, such
    as /dev/null and /dev/stdout, is written to, and never replaced.
    """
    if _is_stream(path):
        with open(os.open(path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0)), "wb") as file:
            file.write(content)
        return
    create_folder(path.parent)
    mode = 0o600 if private else 0o644
    if not private:
        with contextlib.suppress(OSError):
            mode = path.stat().st_mode & 0o777 & ~_WRITABLE
    _replace(path, content, mode)


def create_file(path: Path, content: bytes, *, private: bool) -> None:
    """Write a new file that a person names. Raise OSError, FileExistsError if there is one already."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600 if private else 0o644)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
    except OSError:  # half of a file would be taken for the whole, and block the next try
        path.unlink(missing_ok=True)
        raise


def create_folder(path: Path) -> None:
    """Create a folder that a person names, and those above it; none becomes writable for others. Raise OSError."""
    _create(path, 0o755)


@contextlib.contextmanager
def replaced(path: Path, mode: int) -> Iterator[int]:
    """Yield the descriptor of a new file beside `path`, which replaces it once the block ends without an error.

    The content is on the disk before. Raise OSError, PermissionError for a device or a pipe.
    """
    if _is_stream(path):
        raise PermissionError(errno.EPERM, "it is not a regular file", str(path))
    beside = path.with_name(f".{path.name[:32]}.{os.urandom(8).hex()}")
    descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK, mode)
    try:
        try:
            yield descriptor
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device, a pipe or a socket, or a file that the system names, as /dev/stdout."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode):
        return _IS_POSIX and os.path.realpath(path.parent).split("/")[1] in ("dev", "proc")
    return not stat.S_ISDIR(mode)


def _replace(path: Path, content: bytes, mode: int) -> None:
    with replaced(path, mode) as descriptor, open(descriptor, "wb", closefd=False) as file:
        file.write(content)


def _create(path: Path, mode: int) -> None:
    """Create a folder with those above it; `mkdir(parents=True)` would give those the mode of the umask."""
    missing = []
    for folder in (path, *path.parents):
        if folder.is_dir():
            break
        missing.append(folder)
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process has created it, or it is a file
            os.mkdir(folder, mode)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))


def _own_folders(path: Path) -> Iterator[Path]:
    """Yield the folder and those above it that are kymatui's; the folder alone if none has its name."""
    above = [path, *path.parents]
    names = [folder.name for folder in above]
    yield from above[: names.index(_NAME) + 1 if _NAME in names else 1]


def _repair(folder: Path) -> None:
    if not _IS_POSIX:
        return
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode):  # to another disk, which is the user's choice, unless another user made it
        _require_user(status, folder)
        status = folder.stat()
    _require_user(status, folder)
    if status.st_mode & _OTHERS:
        folder.chmod(status.st_mode & 0o700)


def _require_own(descriptor: int, path: Path) -> os.stat_result:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise PermissionError(errno.EPERM, "it is not a regular file", str(path))
    if _IS_POSIX:
        _require_user(status, path)
    return status


def _require_user(status: os.stat_result, path: Path) -> None:
    if status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{path} belongs to another user", str(path))
