"""What the actions on bundles need of a place that has artifacts; adapters implement it."""

from __future__ import annotations

from typing import Protocol


class ArtifactStore(Protocol):
    """A registry, or a folder with an image layout; repositories are written "host[:port]/path"."""

    def manifest(self, repository: str, pointer: str) -> tuple[bytes, str] | None:
        """Return the bytes and the media type of a manifest by tag or digest, None if there is none."""

    def blob(self, repository: str, digest: str, largest: int) -> bytes:
        """Return a verified blob of at most `largest` bytes."""

    def push_blob(self, repository: str, content: bytes, *, source: str = "") -> None:
        """Store a blob unless the repository has it; `source` is a repository that may have it."""

    def push_manifest(self, repository: str, pointer: str, content: bytes, media_type: str) -> str:
        """Store a manifest under a tag or its digest, after its blobs; return the digest."""
