"""What the actions on bundles need of the sources of modules; adapters implement it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kymatui.publishing.module_component import GitCommit


class ModuleSources(Protocol):
    """Files, addresses and the git repository of a module."""

    def read(self, path: str, what: str, largest: int) -> bytes:
        """Return a file; `what` names it in errors."""

    def chunks(self, path: str, what: str, largest: int) -> Iterator[bytes]:
        """Yield a file in pieces of 1 MiB; `what` names it in errors."""

    def fetch(self, address: str) -> bytes:
        """Return the content of an https address, limited in size."""

    def write(self, path: str, text: str) -> None:
        """Replace a file; the old one stays until the new one is complete."""

    def exists(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool: ...

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        """Return what a save changes (inode, size, time in nanoseconds), None for a file that is missing."""

    def commit(self, folder: str) -> GitCommit:
        """Return the current commit of a git repository."""
