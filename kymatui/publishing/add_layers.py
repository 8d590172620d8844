"""New images from existing ones: layers appended, metadata set, the base never written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from kymatui.actions.components.stored_components import json_object, json_objects
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.component_source import blob_digest
from kymatui.errors import RegistryError, UsageError
from kymatui.publishing.blob_transfer import (
    Place,
    TransferCount,
    blobs_of,
    check_tag,
    manifest_body,
    require_manifest,
    transfer_blob,
)
from kymatui.publishing.image_layers import (
    BASE_DIGEST,
    BASE_NAME,
    ImageMetadata,
    NewLayer,
    compact_json,
    extended_image,
)

LARGEST_CONFIG: Final = 4 * 1024 * 1024  # bytes of an image's config, which is read whole into memory
MOST_PLATFORMS: Final = 50  # images of an index; a new image is stored for each of them
_INDEXES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_ATTESTATION: Final = "vnd.docker.reference.type"

Json = dict[str, Any]


class AddRequest(Struct, frozen=True):
    """The base and the target ("host/path", tag or digest), and what is added.

    annotate_base  set the annotations that name the base
    overwrite      move the target's tag if it names another image
    """

    base: tuple[str, str]
    target: tuple[str, str]
    layers: tuple[NewLayer, ...] = ()
    metadata: ImageMetadata = field(default_factory=ImageMetadata)
    annotate_base: bool = False
    overwrite: bool = False


class ExtendedImage(Struct, frozen=True):
    """The new image: its digest, the base's, and the number of images in an index (1 without)."""

    repository: str
    tag: str
    digest: str
    base: str
    images: int
    transfers: TransferCount


def add_layers(store: ArtifactStore, request: AddRequest) -> ExtendedImage:
    """Push the base with more layers and metadata under the target's tag.

    Every image of an index gets them, and the index keeps its platforms. Raise RefusedError for what is not an image,
    and RegistryError.
    """
    if request.base == request.target or ":" in request.target[1]:
        raise UsageError(
            "the target must have a tag of its own", hint="use -t HOST/REPOSITORY:TAG; the base image stays unchanged"
        )
    source, target = Place(store, request.base[0]), Place(store, request.target[0])
    raw, media_type = require_manifest(source, request.base[1])
    work = _Extension(source, target, request, TransferCount())
    body = manifest_body(raw, source.repository)
    if "manifests" in body:
        content, images = work.index(body, media_type, blob_digest(raw))
        media_type = body.get("mediaType") or media_type
    else:
        content, images = work.image(body, media_type, blob_digest(raw)), 1
    check_tag(target, request.target[1], blob_digest(content), overwrite=request.overwrite)
    digest = store.push_manifest(target.repository, request.target[1], content, media_type)
    return ExtendedImage(
        target.repository, request.target[1], digest, f"{source.repository}@{blob_digest(raw)}", images, work.count
    )


class _Extension(Struct, frozen=True):
    source: Place
    target: Place
    request: AddRequest
    count: TransferCount

    def image(self, body: Mapping[str, Any], media_type: str, digest: str) -> bytes:
        """Store blobs and config of a new image; return its manifest, which is not stored yet."""
        where = f"{self.source.repository}@{digest}"
        kind = str(body.get("mediaType") or media_type)
        config = body.get("config")
        named = config if isinstance(config, dict) else {}
        content = self.source.store.blob(self.source.repository, str(named.get("digest", "")), LARGEST_CONFIG)
        document = json_object(content)  # {} of an artifact that is not an image; refused by its media type
        manifest, config_bytes = extended_image(
            body, document, kind, self.request.layers, self.request.metadata, where, self._names(digest)
        )
        for known, size in blobs_of(body, self.source.repository):
            if known != named.get("digest"):
                transfer_blob(self.source, self.target, known, size, self.count)
        store, repository = self.target.store, self.target.repository
        for layer in self.request.layers:
            if not store.has_blob(repository, layer.digest):
                store.push_chunks(repository, layer.digest, layer.size, layer.chunks())
        store.push_blob(repository, config_bytes)
        return manifest

    def index(self, body: Json, media_type: str, digest: str) -> tuple[bytes, int]:
        """Store the images of an index; return the new index and their number."""
        listed = json_objects(body, "manifests")
        if not 0 < len(listed) <= MOST_PLATFORMS:
            raise RegistryError(f"{self.source.repository}@{digest} is an index of {len(listed)} images")
        manifests: list[Json] = []
        for entry in listed:
            if _ATTESTATION in (entry.get("annotations") or {}):
                continue  # says something about an image that the new index does not have
            raw, kind = require_manifest(self.source, str(entry.get("digest", "")))
            content = self.image(manifest_body(raw, self.source.repository), kind, blob_digest(raw))
            kind = str(entry.get("mediaType") or kind)
            name = self.target.store.push_manifest(self.target.repository, blob_digest(content), content, kind)
            manifests.append({**entry, "mediaType": kind, "digest": name, "size": len(content)})
        annotations = {**(body.get("annotations") or {}), **self._names(digest), **self.request.metadata.annotations}
        index = {**body, "manifests": manifests}
        index.pop("subject", None)
        if annotations and media_type in _INDEXES[:1]:
            index["annotations"] = dict(sorted(annotations.items()))
        return compact_json(index), len(manifests)

    def _names(self, digest: str) -> dict[str, str]:
        if not self.request.annotate_base:
            return {}
        repository, pointer = self.request.base
        name = {} if ":" in pointer else {BASE_NAME: f"{repository}:{pointer}"}
        return {BASE_DIGEST: digest, **name}


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return KEY=VALUE texts as a mapping. Raise UsageError for one without a key or value."""
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals or (not value and option != "--env"):
            raise UsageError(f"{option} {text!r} has no {'value' if key else 'key'}", hint=f"write {option} KEY=VALUE")
        pairs[key] = value
    return pairs
