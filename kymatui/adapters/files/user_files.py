"""Atomic writes of the user's files and of kymatui's own: the old file stays until the new one is complete."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from kymatui import own_files
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError
from kymatui.own_files import create_file, create_folder


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file that other users may read. Raise ConfigurationError if it is not writable."""
    with _written(path):
        own_files.write_file(path, content.encode() if isinstance(content, str) else content, private=False)


def write_private_file(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read. Raise ConfigurationError if it is not writable."""
    with _written(path):
        own_files.write_file(path, content, private=True)


def write_own_file(path: Path, content: bytes) -> None:
    """Write a file below kymatui's folders in the home. Raise ConfigurationError if it is not writable."""
    with _written(path):
        own_files.write_own(path, content)


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error_reason(error)}") from error


def cache_folder(name: str) -> Path | None:
    """Return a folder below the platform's cache folder; None for a user without a home.

    On Linux the XDG variables are read here, so that a short command does not import platformdirs.
    """
    if str(sys.platform) == "linux":
        configured = os.environ.get("XDG_CACHE_HOME", "")
        base = configured if os.path.isabs(configured) else os.path.expanduser("~/.cache")
        return Path(base, "kymatui", name) if os.path.isabs(base) else None
    from platformdirs import user_cache_path

    return user_cache_path("kymatui", appauthor=False) / name


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their relative path; the folder is created, and must be empty if it exists.

    Paths have been checked (`tar_archives.clean_path`), and no link in the folder can lead elsewhere, because there
    is none. Raises ConfigurationError.
    """
    try:
        create_folder(folder)
        if any(folder.iterdir()):
            raise ConfigurationError(f"{folder} is not empty", hint="name a new folder")
        for path, content in files.items():
            target = folder.joinpath(*path.split("/"))
            create_folder(target.parent)
            create_file(target, content, private=False)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error_reason(error)}") from error
