"""The content of a registry in memory: blobs by digest, repositories with blobs, manifests and tags.

The sample world pushes through this class without a socket (`push_blob`, `push_manifest`). The HTTP handlers use the
same methods, so clients see no difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from kymatui.sandbox.registry.registry_routes import (
    RegistryRefusal,
    check_digest,
    check_name,
    check_tag,
    digest_of,
    is_digest,
    verify,
)

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
MAX_MANIFEST_BYTES = 4 * 1024 * 1024

_INDEXES = {OCI_INDEX, "application/vnd.docker.distribution.manifest.list.v2+json"}


class StoredManifest(Struct, frozen=True, dict=True):
    """A manifest with its exact bytes and media type."""

    content: bytes
    media_type: str
    digest: str
    document: Mapping[str, Any]

    @property
    def subject(self) -> str:
        """Return the digest of the subject, or ""."""
        subject = self.document.get("subject")
        return str(subject.get("digest", "")) if isinstance(subject, dict) else ""

    @property
    def artifact_type(self) -> str:
        """Return `artifactType`; for image manifests without one, the media type of the config."""
        artifact_type = self.document.get("artifactType")
        if artifact_type:
            return str(artifact_type)
        config = self.document.get("config")
        return str(config.get("mediaType", "")) if isinstance(config, dict) else ""

    def descriptor(self) -> dict[str, Any]:
        """Return this manifest's entry in the referrers list."""
        descriptor: dict[str, Any] = {"mediaType": self.media_type, "digest": self.digest, "size": len(self.content)}
        if self.artifact_type:
            descriptor["artifactType"] = self.artifact_type
        annotations = self.document.get("annotations")
        if annotations:
            descriptor["annotations"] = annotations
        return descriptor


class Repository(Struct, dict=True):
    blobs: set[str] = field(default_factory=set)
    manifests: dict[str, StoredManifest] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def referrers(self, digest: str, artifact_type: str = "") -> list[dict[str, Any]]:
        """Return the descriptors of the manifests whose subject is `digest`, sorted by digest."""
        referring = (m for _, m in sorted(self.manifests.items()) if m.subject == digest)
        return [m.descriptor() for m in referring if not artifact_type or m.artifact_type == artifact_type]


class RegistryStore:
    """The content of one registry. Raises `RegistryRefusal`, which becomes the HTTP answer."""

    def __init__(self) -> None:
        self._content: dict[str, bytes] = {}
        self._repositories: dict[str, Repository] = {}

    # -- repositories

    def repositories(self) -> list[str]:
        return sorted(self._repositories)

    def repository(self, name: str) -> Repository:
        repository = self._repositories.get(name)
        if repository is None:
            raise RegistryRefusal("NAME_UNKNOWN", "repository name not known to registry", detail={"name": name})
        return repository

    def _opened(self, name: str) -> Repository:
        return self._repositories.setdefault(check_name(name), Repository())

    # -- blobs

    def push_blob(self, repository: str, content: bytes, digest: str = "") -> str:
        """Store a blob and return its digest; with `digest`, verify it first."""
        if digest:
            verify(content, digest)
        else:
            digest = digest_of(content)
        self._opened(repository).blobs.add(digest)
        self._content.setdefault(digest, content)
        return digest

    def mount_blob(self, repository: str, digest: str, source: str) -> bool:
        """Add a blob of `source` to `repository`; return False if `source` lacks it."""
        source_repository = self._repositories.get(source)
        if source_repository is None or digest not in source_repository.blobs:
            return False
        self._opened(repository).blobs.add(digest)
        return True

    def has_blob(self, repository: str, digest: str) -> bool:
        known = self._repositories.get(repository)
        return known is not None and digest in known.blobs

    def blob(self, repository: str, digest: str) -> bytes:
        check_digest(digest)
        if not self.has_blob(repository, digest):
            raise RegistryRefusal("BLOB_UNKNOWN", "blob unknown to registry", detail=digest)
        return self._content[digest]

    def delete_blob(self, repository: str, digest: str) -> None:
        self.blob(repository, digest)
        self._repositories[repository].blobs.discard(digest)
        if not any(digest in r.blobs for r in self._repositories.values()):
            del self._content[digest]

    # -- manifests

    def push_manifest(self, repository: str, reference: str, content: bytes, media_type: str = OCI_MANIFEST) -> str:
        """Store a manifest under a tag or its digest and return the digest; referenced blobs must exist."""
        document = _parsed(content, media_type)
        if is_digest(reference):
            verify(content, reference)
            digest = reference
        else:
            check_tag(reference)
            digest = digest_of(content)
        home = self._repositories.get(repository) or Repository()
        self._check_references(home, document, media_type)
        home = self._opened(repository)
        home.manifests[digest] = StoredManifest(content, media_type, digest, document)
        if not is_digest(reference):
            home.tags[reference] = digest
        return digest

    def manifest(self, repository: str, reference: str) -> StoredManifest:
        home = self.repository(repository)
        if is_digest(reference):
            check_digest(reference)
        digest = reference if is_digest(reference) else home.tags.get(check_tag(reference), "")
        manifest = home.manifests.get(digest)
        if manifest is None:
            raise RegistryRefusal(
                "MANIFEST_UNKNOWN", "manifest unknown", detail={"name": repository, "reference": reference}
            )
        return manifest

    def delete_manifest(self, repository: str, reference: str) -> None:
        """Delete only the tag, or for a digest the manifest and all tags that point to it."""
        manifest = self.manifest(repository, reference)
        home = self._repositories[repository]
        if not is_digest(reference):
            del home.tags[reference]
            return
        del home.manifests[manifest.digest]
        home.tags = {tag: digest for tag, digest in home.tags.items() if digest != manifest.digest}

    def tags(self, repository: str) -> list[str]:
        return sorted(self.repository(repository).tags)

    def referrers(self, repository: str, digest: str, artifact_type: str = "") -> list[dict[str, Any]]:
        """Return the referrers; empty for an unknown digest, because referrers may be pushed first."""
        check_digest(digest)
        home = self._repositories.get(repository)
        return home.referrers(digest, artifact_type) if home else []

    @staticmethod
    def _check_references(home: Repository, document: Mapping[str, Any], media_type: str) -> None:
        for descriptor in _children(document, media_type):
            digest = str(descriptor.get("digest", ""))
            check_digest(digest)
            known = home.manifests if media_type in _INDEXES else home.blobs
            if digest not in known and not descriptor.get("urls"):
                raise RegistryRefusal("MANIFEST_BLOB_UNKNOWN", "blob unknown to registry", detail={"digest": digest})


def _parsed(content: bytes, media_type: str) -> Mapping[str, Any]:
    if len(content) > MAX_MANIFEST_BYTES:
        raise RegistryRefusal("MANIFEST_INVALID", f"manifest is larger than {MAX_MANIFEST_BYTES} bytes", status=413)
    if not media_type:
        raise RegistryRefusal("MANIFEST_INVALID", "manifest invalid: the request has no Content-Type")
    try:
        document = json.loads(content)
    except ValueError as error:
        raise RegistryRefusal("MANIFEST_INVALID", f"manifest invalid: {error}") from error
    if not isinstance(document, dict):
        raise RegistryRefusal("MANIFEST_INVALID", "manifest invalid: not a JSON object")
    stated = document.get("mediaType")
    if stated and stated != media_type:
        text = f"mediaType in manifest should be '{media_type}' not '{stated}'"
        raise RegistryRefusal("MANIFEST_INVALID", f"manifest invalid: {text}")
    return document


def _children(document: Mapping[str, Any], media_type: str) -> Iterator[Mapping[str, Any]]:
    """Yield the descriptors whose content must exist before this manifest is stored."""
    if media_type in _INDEXES:
        listed = document.get("manifests") or []
    else:
        config = document.get("config")
        listed = [*([config] if config else []), *(document.get("layers") or [])]
    for descriptor in listed:
        if not isinstance(descriptor, dict):
            raise RegistryRefusal("MANIFEST_INVALID", "manifest invalid: a descriptor is not an object")
        yield descriptor
