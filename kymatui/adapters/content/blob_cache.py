"""A cache of content by digest on disk, safe for many processes, and never trusted without a check.

A file stands under its digest only when all of it arrived and was checked: it is written beside, synced and renamed.
A process that dies leaves at most a stray temporary file. Reading checks the digest again, and a damaged entry is
dropped as if it had never been there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError, RegistryError

_DIGEST = re.compile(r"(sha256|sha512):([0-9a-f]{64}|[0-9a-f]{128})")


class BlobCache:
    """Content-addressed files under `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, digest: str, fetch: Callable[[], Iterable[bytes]]) -> bytes:
        """The content of `digest`; `fetch` is called only where it is not here, and by one process at a time."""
        path = self._path(digest)
        found = self._read(path, digest)
        if found is not None:
            return found
        with self._locked(path):
            found = self._read(path, digest)
            return found if found is not None else self._store(path, digest, fetch())

    def _path(self, digest: str) -> Path:
        match = _DIGEST.fullmatch(digest)
        if not match:
            raise RegistryError(f"{digest!r} is no digest")
        return self._root / match[1] / match[2][:2] / match[2]

    def _read(self, path: Path, digest: str) -> bytes | None:
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if _matches(content, digest):
            return content
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    def _store(self, path: Path, digest: str, chunks: Iterable[bytes]) -> bytes:
        content = b"".join(chunks)
        if not _matches(content, digest):
            raise RegistryError(f"what arrived is not {digest}", hint="nothing of it was used or kept")
        write_atomically(path, content)
        return content

    @contextlib.contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        """One process a digest; where the file system has no locks, two may fetch the same, which harms nothing."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = open(path.with_suffix(".lock"), "ab")  # noqa: SIM115 (closed below, and kept for the next)
        except OSError as error:
            raise ConfigurationError(f"the cache {self._root} cannot be written: {error_reason(error)}") from error
        with lock:
            _lock(lock.fileno())
            yield


def write_atomically(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """All of it or nothing, and what was there stays until then. A full disk is an error that names the file."""
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:32]}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error


def _matches(content: bytes, digest: str) -> bool:
    algorithm, _, wanted = digest.partition(":")
    return hashlib.new(algorithm, content).hexdigest() == wanted


def _lock(descriptor: int) -> None:
    """Waits for the lock; it goes with the file descriptor, so a killed process leaves none behind."""
    try:
        import fcntl
    except ImportError:  # Windows: the atomic rename alone keeps the cache whole
        return
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
