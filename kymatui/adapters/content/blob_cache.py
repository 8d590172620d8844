"""Content-addressed disk cache, shared by processes; every read verifies the digest.

A file appears under its digest only when it is complete and verified: it is written to a temporary file, synced and
renamed. A killed process leaves at most a stray temporary file. A damaged entry counts as missing and is fetched
again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError, RegistryError
from kymatui.own_files import open_own, write_own
from kymatui.patterns import deferred

_DIGEST = deferred(r"(sha256|sha512):([0-9a-f]{64}|[0-9a-f]{128})")


class BlobCache:
    """Content-addressed files under `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get(self, digest: str, fetch: Callable[[], Iterable[bytes]]) -> bytes:
        """Return the content of `digest`; call `fetch` only if it is missing, in one process at a time."""
        path = self._path(digest)
        content = self._read(path, digest)
        if content is not None:
            return content
        with self._locked(path):
            content = self._read(path, digest)
            return content if content is not None else self._store(path, digest, fetch())

    def _path(self, digest: str) -> Path:
        match = _DIGEST.fullmatch(digest)
        if not match:
            raise RegistryError(f"{digest!r} is not a digest")
        return self._root / match[1] / match[2][:2] / match[2]

    def _read(self, path: Path, digest: str) -> bytes | None:
        try:
            content = path.read_bytes()
        except OSError:  # not cached, or the cache is unreadable: the blob is fetched
            return None
        if _matches(content, digest):
            return content
        with contextlib.suppress(OSError):  # a damaged file is written again after the fetch
            path.unlink()
        return None

    def _store(self, path: Path, digest: str, chunks: Iterable[bytes]) -> bytes:
        content = b"".join(chunks)
        if not _matches(content, digest):
            raise RegistryError(f"the received content is not {digest}", hint="it was not used")
        write_cached(path, content)
        return content

    @contextlib.contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        """Lock the digest. Without file locks two processes may fetch the same content, which is harmless."""
        try:
            lock = open_own(path.with_suffix(".lock"))  # the file is kept for the next
        except OSError as error:
            raise ConfigurationError(f"the cache {self._root} cannot be written: {error_reason(error)}") from error
        try:
            lock_descriptor(lock)
            yield
        finally:
            os.close(lock)


def write_cached(path: Path, content: bytes) -> None:
    """Write a whole file of a cache, or leave the old one. Raise ConfigurationError with the path."""
    try:
        write_own(path, content)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error_reason(error)}") from error


def _matches(content: bytes, digest: str) -> bool:
    algorithm, _, expected = digest.partition(":")
    return hashlib.new(algorithm, content).hexdigest() == expected


def lock_descriptor(descriptor: int) -> None:
    """Wait for the lock. It belongs to the file descriptor, so a killed process leaves none behind."""
    try:
        import fcntl
    except ImportError:  # Windows: the atomic rename alone protects the cache
        return
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def try_lock(descriptor: int) -> bool:
    """Return whether the file could be locked at once; True where the platform has no such locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another process has the lock
        return False
    except OSError:  # a file system without locks
        return True
    return True
