"""What components are read from and stored in: registries, image layouts; adapters implement it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol


class ContentStore(Protocol):
    """What has manifests and blobs to read; repositories are written "host[:port]/path"."""

    def manifest(self, repository: str, pointer: str) -> tuple[bytes, str] | None:
        """Return the bytes and the media type of a manifest by tag or digest, None if there is none."""

    def blob(self, repository: str, digest: str, largest: int) -> bytes:
        """Return a verified blob of at most `largest` bytes."""


class ArtifactStore(ContentStore, Protocol):
    """A registry, or a folder with an image layout."""

    def tags(self, repository: str) -> list[str]:
        """Return all tags of a repository in the store's order."""

    def referrers(self, repository: str, digest: str) -> list[Mapping[str, Any]]:
        """Return the content descriptors of the manifests whose subject is `digest`."""

    def push_blob(self, repository: str, content: bytes, *, source: str = "") -> None:
        """Store a blob unless the repository has it; `source` is a repository that may have it."""

    def has_blob(self, repository: str, digest: str) -> bool: ...

    def mount_blob(self, repository: str, digest: str, source: str) -> bool:
        """Make a blob of another repository available without sending it; return whether that was possible."""

    def blob_chunks(self, repository: str, digest: str, size: int) -> Iterator[bytes]:
        """Yield a blob in chunks; digest and size are verified after the last one."""

    def push_chunks(self, repository: str, digest: str, size: int, chunks: Iterator[bytes]) -> None:
        """Store a blob of any size once all chunks have arrived."""

    def push_manifest(self, repository: str, pointer: str, content: bytes, media_type: str) -> str:
        """Store a manifest under a tag or its digest, after its blobs; return the digest."""
