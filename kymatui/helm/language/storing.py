"""A folder of compiled code, trusted only if no other user can write to it.

Write access to its files allows running Python as the user, as with folders of .pyc files. So the folder and its
files must belong to the user and be unwritable for others; otherwise they are neither read nor written.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

MOST_FILES: Final = 256
_DIGEST: Final = hashlib.sha256().digest_size
_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class CodeFolder:
    """Content by key. Threads and processes may share it: files are written aside and renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, key: str) -> bytes | None:
        """Return the content of a key; None if it is missing or not trusted."""
        place = os.path.join(self.path, key)
        try:
            if not self._is_ours():
                return None
            with open(os.open(place, os.O_RDONLY | _NO_LINKS), "rb") as file:
                status = os.fstat(file.fileno())
                data = file.read() if stat.S_ISREG(status.st_mode) and _is_private(status) else b""
        except OSError:
            return None
        content = data[_DIGEST:]
        if hashlib.sha256(content).digest() != data[:_DIGEST]:
            return None
        with suppress(OSError):
            os.utime(place)
        return content

    def write(self, key: str, content: bytes) -> None:
        """Store content; create a missing folder, ignore one that is unwritable or not trusted."""
        with suppress(OSError):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_ours():
                self._write(key, hashlib.sha256(content).digest() + content)
                self._prune()

    def _is_ours(self) -> bool:
        status = os.lstat(self.path)
        return stat.S_ISDIR(status.st_mode) and _is_private(status)

    def _write(self, key: str, data: bytes) -> None:
        beside = os.path.join(self.path, f".{key}.{os.getpid()}.{os.urandom(8).hex()}")
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o600), "wb") as file:
                file.write(data)
            os.replace(beside, os.path.join(self.path, key))
        except OSError:
            with suppress(OSError):
                os.unlink(beside)
            raise

    def _prune(self) -> None:
        """Delete the least recently used files."""
        names = os.listdir(self.path)
        if len(names) <= MOST_FILES:
            return
        places = [os.path.join(self.path, name) for name in names]
        for place in sorted(places, key=os.path.getmtime)[: len(places) - MOST_FILES]:
            os.unlink(place)


def _is_private(status: os.stat_result) -> bool:
    """Return whether only the user can write it. Outside POSIX, the user profile is protected by default."""
    return os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
