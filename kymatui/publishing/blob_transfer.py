"""Blobs and manifests from one place of artifacts to another: nothing is sent that is there, mounts come first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct, field

from kymatui.actions.components.stored_components import json_objects
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.component_source import blob_digest
from kymatui.errors import RefusedError, RegistryError
from kymatui.json_input import read_json

DEEPEST: Final = 4  # indexes in indexes; a registry could answer with ever deeper ones
MOST_MANIFESTS: Final = 500  # of one copy, so that an index of indexes cannot grow without end
Json = dict[str, Any]


class Transfer(StrEnum):
    """How a blob came to its target."""

    EXISTS = "exists"
    MOUNTED = "mounted"
    COPIED = "copied"


class Place(Struct, frozen=True):
    """A repository of a store."""

    store: ArtifactStore
    repository: str


class TransferCount(Struct):
    """Blobs and bytes by the way that they came."""

    blobs: dict[Transfer, int] = field(default_factory=lambda: dict.fromkeys(Transfer, 0))
    copied_bytes: int = 0
    manifests: int = 0


def transfer_blob(source: Place, target: Place, digest: str, size: int, count: TransferCount) -> Transfer:
    """Bring a blob to the target. Raise RegistryError, also for content that does not have the digest and size."""
    if target.store.has_blob(target.repository, digest):
        transfer = Transfer.EXISTS
    elif source.store is target.store and target.store.mount_blob(target.repository, digest, source.repository):
        transfer = Transfer.MOUNTED
    else:
        chunks = source.store.blob_chunks(source.repository, digest, size)
        target.store.push_chunks(target.repository, digest, size, chunks)
        transfer = Transfer.COPIED
        count.copied_bytes += size
    count.blobs[transfer] += 1
    return transfer


def transfer_artifact(
    source: Place, target: Place, raw: bytes, media_type: str, pointer: str, count: TransferCount, depth: int = 0
) -> str:
    """Bring a manifest or index with all that it names to the target; the manifest goes last. Return its digest."""
    count.manifests += 1
    if depth > DEEPEST or count.manifests > MOST_MANIFESTS:
        raise RegistryError(f"{source.repository} has an index that is too deep or too large", hint="it was not copied")
    body = manifest_body(raw, source.repository)
    for entry in json_objects(body, "manifests"):
        digest = str(entry.get("digest", ""))
        manifest = source.store.manifest(source.repository, digest)
        if manifest is None:
            raise RegistryError(f"{source.repository}@{digest} does not exist", hint="the index names it")
        transfer_artifact(source, target, *manifest, digest, count, depth + 1)
    for digest, size in blobs_of(body, source.repository):
        transfer_blob(source, target, digest, size, count)
    return target.store.push_manifest(target.repository, pointer, raw, media_type)


def blobs_of(body: Mapping[str, Any], where: str) -> Iterator[tuple[str, int]]:
    """Yield digest and size of config and layers, each once; layers that lie elsewhere are left out."""
    visited: set[str] = set()
    config = body.get("config")
    for entry in ([config] if isinstance(config, dict) else []) + json_objects(body, "layers"):
        digest, size = entry.get("digest"), entry.get("size")
        if not isinstance(digest, str) or not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise RegistryError(f"{where}: the manifest has an invalid descriptor")
        foreign = bool(entry.get("urls")) and "foreign" in str(entry.get("mediaType", ""))
        if digest not in visited and not foreign:
            visited.add(digest)
            yield digest, size


def manifest_body(raw: bytes, where: str) -> Json:
    """Return a decoded manifest. Raise RegistryError."""
    try:
        body = read_json(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise RegistryError(f"{where}: the manifest is not a JSON object")
    return body


def check_tag(target: Place, pointer: str, digest: str, *, overwrite: bool) -> None:
    """Raise RefusedError if a tag names another manifest, unless it may be moved."""
    manifest = None if overwrite or ":" in pointer else target.store.manifest(target.repository, pointer)
    if manifest is not None and blob_digest(manifest[0]) != digest:
        raise RefusedError(
            f"{target.repository}:{pointer} exists and is {blob_digest(manifest[0])}, not {digest}",
            hint="use another tag, or replace it with --overwrite",
        )


def require_manifest(source: Place, pointer: str) -> tuple[bytes, str]:
    """Return bytes and media type of a manifest. Raise RegistryError if there is none."""
    manifest = source.store.manifest(source.repository, pointer)
    if manifest is None:
        raise RegistryError(
            f"{source.repository}:{pointer} does not exist", hint="check the name, the tag and the registry"
        )
    return manifest
