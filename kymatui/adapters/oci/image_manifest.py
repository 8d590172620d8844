"""Image manifests and indexes, with the exact bytes of their digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from kymatui.adapters.oci.image_reference import ImageReference
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.errors import RegistryError
from kymatui.json_input import read_json
from kymatui.structs import hash_by, repr_without

IMAGE_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
IMAGE_INDEX = "application/vnd.oci.image.index.v1+json"
ACCEPTED = (
    IMAGE_MANIFEST,
    IMAGE_INDEX,
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.artifact.manifest.v1+json",
)
LARGEST_MANIFEST = 4 * 1024 * 1024  # the size that the specification requires registries to accept


class ContentDescriptor(Struct, frozen=True):
    """Points to content: media type, digest, size in bytes, annotations."""

    media_type: str
    digest: str
    size: int
    annotations: Mapping[str, str] = field(default_factory=dict)
    artifact_type: str = ""

    __hash__ = hash_by("media_type", "digest", "size", "artifact_type")

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        if self.artifact_type:
            body["artifactType"] = self.artifact_type
        if self.annotations:
            body["annotations"] = dict(sorted(self.annotations.items()))
        return body


class ImageManifest(Struct, frozen=True):
    """A manifest or an index; `raw` are the bytes of the `digest`, `body` the decoded JSON."""

    reference: ImageReference
    media_type: str
    digest: str
    raw: bytes
    body: Mapping[str, Any]

    __hash__ = hash_by("reference", "media_type", "digest", "raw")
    __repr__ = repr_without("raw", "body")

    @property
    def config(self) -> ContentDescriptor | None:
        config = self.body.get("config")
        return read_descriptor(self.reference, config) if config else None

    @property
    def layers(self) -> tuple[ContentDescriptor, ...]:
        return self._descriptors("layers")

    @property
    def manifests(self) -> tuple[ContentDescriptor, ...]:
        return self._descriptors("manifests")

    @property
    def annotations(self) -> Mapping[str, str]:
        return mapping_at(self.body, "annotations")

    def _descriptors(self, key: str) -> tuple[ContentDescriptor, ...]:
        listed = self.body.get(key) or []
        if not isinstance(listed, list):
            raise RegistryError(f"{self.reference}: {key} of the manifest is not a list")
        return tuple(read_descriptor(self.reference, entry) for entry in listed)


def read_descriptor(reference: ImageReference, value: object) -> ContentDescriptor:
    try:
        assert isinstance(value, dict)
        annotations = value.get("annotations") or {}
        return ContentDescriptor(
            str(value["mediaType"]),
            str(value["digest"]),
            int(value["size"]),
            {str(k): str(v) for k, v in annotations.items()},
            str(value.get("artifactType") or ""),
        )
    except (AssertionError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise RegistryError(f"{reference}: the manifest has an invalid descriptor") from None


def digest_of(content: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def read_body(reference: ImageReference, raw: bytes, what: str) -> dict[str, Any]:
    """Return a decoded JSON object. Raise RegistryError that names what it is."""
    try:
        body = read_json(raw)
    except ValueError as error:
        raise RegistryError(f"{reference}: {what} cannot be read: {error}") from None
    if not isinstance(body, dict):
        raise RegistryError(f"{reference}: {what} is not a JSON object")
    return body


def read_manifest(reference: ImageReference, raw: bytes, media_type: str) -> ImageManifest:
    """Verify the requested digest and decode the manifest. Raise RegistryError."""
    algorithm = reference.digest.partition(":")[0] or "sha256"
    digest = digest_of(raw, algorithm)
    if reference.digest and digest != reference.digest:
        raise RegistryError(
            f"{reference}: the registry sent a manifest whose digest is {digest}",
            hint="the registry or a proxy changed it; it was not used",
        )
    body = read_body(reference, raw, "the manifest")
    return ImageManifest(reference, str(body.get("mediaType") or media_type.partition(";")[0]), digest, raw, body)
