"""Atomic writes of the user's files: the old file stays until the new one is complete."""

from __future__ import annotations

from pathlib import Path


def write_file(path: Path, text: str) -> None:
    """Write a text file that other users may read. Raise ConfigurationError if it is not writable."""
    from kymatui.adapters.content.blob_cache import write_atomically

    write_atomically(path, text.encode(), mode=0o644)


def write_private_file(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read. Raise ConfigurationError if it is not writable."""
    from kymatui.adapters.content.blob_cache import write_atomically

    write_atomically(path, content)
