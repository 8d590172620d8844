"""Files that front ends keep for a person: whole, or as they were before."""

from __future__ import annotations

from pathlib import Path


def write_file(path: Path, text: str) -> None:
    """Writes a text file that others may read, atomically. ConfigurationError where it cannot be written."""
    from kymatui.adapters.content.blob_cache import write_atomically

    write_atomically(path, text.encode(), mode=0o644)


def write_private_file(path: Path, content: bytes) -> None:
    """Writes a file that nobody else may read, atomically. ConfigurationError where it cannot be written."""
    from kymatui.adapters.content.blob_cache import write_atomically

    write_atomically(path, content)
