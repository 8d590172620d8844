"""Files that front ends keep for a person: whole, or as they were before."""

from __future__ import annotations

from pathlib import Path


def keep(path: Path, text: str) -> None:
    """Writes a text file that others may read, atomically. ConfigurationError where it cannot be written."""
    from kymatui.adapters.blobs import write_atomically

    write_atomically(path, text.encode(), mode=0o644)


def keep_secret(path: Path, content: bytes) -> None:
    """Writes a file that nobody else may read, atomically. ConfigurationError where it cannot be written."""
    from kymatui.adapters.blobs import write_atomically

    write_atomically(path, content)
