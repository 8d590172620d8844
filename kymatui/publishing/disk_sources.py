"""The sources of a module on disk and at https addresses, bounded in size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kymatui.adapters.files.user_files import write_file
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError
from kymatui.publishing.git_commits import read_commit
from kymatui.publishing.module_component import GitCommit

_CHUNK: Final = 1024 * 1024  # bytes in memory while a file is read


class DiskSources:
    """Implements `ModuleSources`; `fetch` returns the content of a URL."""

    def __init__(self, fetch: Callable[[str], bytes]) -> None:
        self._fetch = fetch

    def read(self, path: str, what: str, largest: int) -> bytes:
        """Return a file. Raise ConfigurationError that names what it is."""
        try:
            with Path(path).open("rb") as file:
                content = file.read(largest + 1)
        except OSError as error:
            raise ConfigurationError(f"{what} {path} cannot be read: {error_reason(error)}") from error
        if len(content) > largest:
            raise ConfigurationError(f"{what} {path} is larger than {largest} bytes")
        return content

    def chunks(self, path: str, what: str, largest: int) -> Iterator[bytes]:
        """Yield a file. Raise ConfigurationError that names what it is."""
        size = 0
        try:
            with Path(path).open("rb") as file:
                while chunk := file.read(_CHUNK):
                    size += len(chunk)
                    if size > largest:
                        raise ConfigurationError(f"{what} {path} is larger than {largest} bytes")
                    yield chunk
        except OSError as error:
            raise ConfigurationError(f"{what} {path} cannot be read: {error_reason(error)}") from error

    def fetch(self, address: str) -> bytes:
        return self._fetch(address)

    def write(self, path: str, text: str) -> None:
        write_file(Path(path), text)

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def is_folder(self, path: str) -> bool:
        return Path(path).is_dir()

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        try:
            stat = Path(path).stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def commit(self, folder: str) -> GitCommit:
        return read_commit(Path(folder))
