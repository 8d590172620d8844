"""Atomic writes of the user's files and of kymatui's own: the old file stays until the new one is complete."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from kymatui import own_files
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError


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
