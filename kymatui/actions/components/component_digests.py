"""Digests of a component's content, computed from what the registry has and compared with those in the descriptor.

A signature covers digests, so it says something about content only after this. Referred components are read from
the same registry and digested with their own content and references.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.actions.components.stored_components import StoredComponent, require_component
from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.errors import RegistryError, RegistryUnreachableError
from kymatui.ocm import (
    ComponentDescriptor,
    ComponentReference,
    ComponentResource,
    Digest,
    SignatureError,
    check_content,
    digest_of,
)
from kymatui.ocm.component_location import ComponentLocation
from kymatui.ocm.descriptors import NONE_ACCESS
from kymatui.ocm.module_layers import access_kind, image_of, local_digest
from kymatui.ocm.normalisation import HASHES
from kymatui.ocm.signatures import ARTIFACT_DIGEST, BLOB_DIGEST

LARGEST_BLOB: Final = 256 * 1024 * 1024  # bytes of one local blob, which is hashed in memory
LARGEST_BLOBS: Final = 1024 * 1024 * 1024  # bytes of all blobs of one command, with those of references
MOST_COMPONENTS: Final = 100  # with references, so that a descriptor cannot start endless downloads
MOST_RESOURCES: Final = 2000  # of all components together: each may cost a request
DEEPEST: Final = 16  # references from component to component, since each level recurses

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class CheckedContent(Struct):
    """What was compared with its digest; `skipped` are resources outside the registry that were not asked for."""

    components: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


class ComponentDigests:
    """Computes digests of a component, of its references too; each component is read once.

    skip_images     do not fetch images; those without a digest, also in their reference, are fetched all the same
    hash_algorithm  of digests that the descriptor does not have yet, and of references
    """

    def __init__(
        self, store: ArtifactStore, hash_algorithm: str, normalisation: str, *, skip_images: bool = False
    ) -> None:
        self.checked = CheckedContent()
        self._store = store
        self._hash = hash_algorithm
        self._normalisation = normalisation
        self._skip_images = skip_images
        self._known: dict[ComponentLocation, ComponentDescriptor] = {}
        self._left = LARGEST_BLOBS
        self._resources_left = MOST_RESOURCES

    def complete(self, component: StoredComponent, path: Sequence[ComponentLocation] = ()) -> ComponentDescriptor:
        """Return the descriptor with all digests. Raise SignatureError if one differs from the content."""
        where = component.location
        if where in self._known:
            return self._known[where]
        if where in path:
            raise SignatureError(f"{where} refers to itself", hint="it was not used")
        if len(path) > DEEPEST or len(self.checked.components) >= MOST_COMPONENTS:
            raise SignatureError(f"{path[0]} refers to too many components", hint="it was not used")
        self.checked.components.append(f"{where.name}:{where.version}")
        descriptor = component.descriptor
        self._resources_left -= len(descriptor.resources)
        if self._resources_left < 0:
            raise SignatureError(f"{where} has more than {MOST_RESOURCES} resources", hint="it was not used")
        completed = replace(
            descriptor,
            resources=tuple(self._resource(resource, where) for resource in descriptor.resources),
            references=tuple(self._reference(reference, where, (*path, where)) for reference in descriptor.references),
        )
        self._known[where] = completed
        return completed

    def _resource(self, resource: ComponentResource, where: ComponentLocation) -> ComponentResource:
        if resource.access_type in NONE_ACCESS:
            return replace(resource, digest=None)
        if resource.digest is not None and resource.digest.is_excluded:
            return resource
        what = f"{where.name}:{where.version} {resource.name}"
        image = image_of(resource)
        if image and self._skip_images and resource.digest is not None:
            self.checked.skipped.append(what)
            return resource
        if image and self._skip_images and (named := self._named_digest(image)) is not None:
            self.checked.skipped.append(what)
            return replace(resource, digest=named)
        content = self._image(image, what) if image else self._blob(resource, where, what)
        self.checked.resources.append(what)
        if resource.digest is not None:
            check_content(resource, content)
            return resource
        value = hashlib.new(HASHES[self._hash], content).hexdigest()
        return replace(resource, digest=Digest(self._hash, ARTIFACT_DIGEST if image else BLOB_DIGEST, value))

    def _blob(self, resource: ComponentResource, where: ComponentLocation, what: str) -> bytes:
        digest = local_digest(resource)
        if not digest:
            raise SignatureError(
                f"{what}: content with access {access_kind(resource.access) or 'unknown'} cannot be checked",
                hint="only blobs of the component and images are supported",
            )
        content = self._store.blob(where.repository, digest, min(LARGEST_BLOB, self._left))
        self._left -= len(content)
        return content

    def _named_digest(self, text: str) -> Digest | None:
        """Return the digest in an image's reference, which is that of its manifest, the content that is signed."""
        parsed = parse_image(text)
        algorithm, _, value = (parsed.digest or "" if parsed is not None else "").partition(":")
        if (algorithm, HASHES[self._hash]) != ("sha256", "sha256") or not _SHA256.fullmatch(value):
            return None
        return Digest(self._hash, ARTIFACT_DIGEST, value)

    def _image(self, text: str, what: str) -> bytes:
        parsed = parse_image(text)
        if parsed is None:
            raise SignatureError(f"{what}: {text!r} is not an image reference")
        pointer = parsed.digest or parsed.tag or "latest"
        try:
            manifest = self._store.manifest(f"{parsed.registry}/{parsed.repository}", pointer)
        except RegistryUnreachableError as error:
            raise RegistryUnreachableError(
                f"{what}: image {text} cannot be read: {error}",
                hint="--skip-images leaves images out that are named by digest (image:1.2.3@sha256:…)",
            ) from error
        if manifest is None:
            raise RegistryError(f"{what}: image {text} does not exist", hint="--skip-images leaves images unchecked")
        return manifest[0]

    def _reference(
        self, reference: ComponentReference, where: ComponentLocation, path: Sequence[ComponentLocation]
    ) -> ComponentReference:
        location = replace(where, name=reference.component, version=reference.version)
        descriptor = self.complete(require_component(self._store, location), path)
        known = reference.digest
        digest = known or Digest(self._hash, self._normalisation, "")
        actual = digest_of(descriptor, digest.normalisation_algorithm, digest.hash_algorithm)
        if known is not None and known.value.lower() != actual:
            raise SignatureError(
                f"{location} has the digest {actual}, but {where.name}:{where.version} refers to {known.value}",
                hint="the referenced component was changed; it was not used",
            )
        return replace(reference, digest=replace(digest, value=actual) if known is None else known)


def has_all_digests(descriptor: ComponentDescriptor) -> bool:
    """Return whether the normal form needs nothing of the content."""
    resources = all(
        resource.digest is not None for resource in descriptor.resources if resource.access_type not in NONE_ACCESS
    )
    return resources and all(reference.digest is not None for reference in descriptor.references)
