"""Copies of images between registries, layouts and archives: an image with all that it names, those of a component.

A layout keeps the images of a component under their full names, so that it can be unloaded elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from kymatui.domain.kubernetes.image_references import Image, parse_image
from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.component_source import blob_digest
from kymatui.errors import RegistryError
from kymatui.ocm import ComponentDescriptor, ComponentResource, SignatureError, check_content
from kymatui.ocm.module_layers import image_of
from kymatui.ocm.signatures import ARTIFACT_DIGEST
from kymatui.publishing.blob_transfer import Place, TransferCount, check_tag, require_manifest, transfer_artifact
from kymatui.publishing.image_signatures import legacy_tag

MOST_REFERRERS: Final = 100  # signatures and attestations of one image that are copied


class CopyOptions(Struct, frozen=True):
    """How to copy.

    overwrite   move tags that name something else
    exact       keep the bytes of components: their descriptors still name the former places
    recursive   also copy the components and the images that a component refers to
    signatures  also copy signatures of cosign and other referrers; of components only with `exact`
    scheme      "http://" for a target without TLS
    registries  where the images of components are that the source does not have; None: those are left out
    """

    overwrite: bool = False
    exact: bool = False
    recursive: bool = False
    signatures: bool = False
    scheme: str = ""
    registries: ArtifactStore | None = None


class CopyResult(Struct):
    """What was copied: (name, digest) of each artifact, the requested one last."""

    copied: list[tuple[str, str]] = field(default_factory=list)
    count: TransferCount = field(default_factory=TransferCount)


def copy_image(source: Place, pointer: str, target: Place, tag: str, options: CopyOptions) -> CopyResult:
    """Copy an image or index with all that it names. Raise RegistryError, and RefusedError for a tag that is taken."""
    result = CopyResult()
    _copied(source, require_manifest(source, pointer), target, tag, options, result)
    return result


def copy_resource_images(
    source: ArtifactStore,
    descriptor: ComponentDescriptor,
    target: ArtifactStore,
    base: str,
    options: CopyOptions,
    result: CopyResult,
) -> dict[str, str]:
    """Copy the images that the resources of a component name; return their new references by the old ones.

    In a registry, `registry.example/team/image` becomes `<base>/team/image`. Raise RegistryError, also for an image
    that does not exist, and SignatureError for one that does not have the digest of its resource.
    """
    moved: dict[str, str] = {}
    for resource in descriptor.resources:
        text = image_of(resource)
        if not text or text in moved:
            continue
        image = parse_image(text)
        if image is None:
            raise RegistryError(f"resource {resource.name}: {text!r} is not an image reference")
        stored = _find(source, image, text, resource, options)
        if stored is None:
            continue
        old, manifest = stored
        repository = f"{base}/{image.repository}" if base else f"{image.registry}/{image.repository}"
        moved[text] = _reference(repository, image)
        new = Place(target, repository)
        if new != old:
            _copied(old, manifest, new, image.tag or image.digest or "latest", options, result)
    return moved


def with_images(document: Mapping[str, Any], moved: Mapping[str, str]) -> dict[str, Any]:
    """Return a descriptor's document with the new references of its images; both schemas list resources."""
    changed = dict(document)
    for part in ("component", "spec"):
        holder = mapping_at(changed, part)
        listed = holder.get("resources")
        if isinstance(listed, list):
            changed[part] = {**holder, "resources": [_with_image(resource, moved) for resource in listed]}
    return changed


def copy_referrers(source: Place, target: Place, digest: str, result: CopyResult) -> None:
    """Copy what refers to a manifest, and the legacy signatures, which are added to by replacing their tag."""
    for referrer in source.store.referrers(source.repository, digest)[:MOST_REFERRERS]:
        name = str(referrer.get("digest", ""))
        raw, media_type = require_manifest(source, name)
        transfer_artifact(source, target, raw, media_type, name, result.count)
        result.copied.append((f"{target.repository}@{name}", name))
    tag = legacy_tag(digest)
    manifest = source.store.manifest(source.repository, tag)
    if manifest is not None:
        transfer_artifact(source, target, *manifest, tag, result.count)
        result.copied.append((f"{target.repository}:{tag}", blob_digest(manifest[0])))


def _copied(
    source: Place, manifest: tuple[bytes, str], target: Place, tag: str, options: CopyOptions, result: CopyResult
) -> None:
    raw, media_type = manifest
    result.count.manifests = 0  # its limit is for each image
    check_tag(target, tag, blob_digest(raw), overwrite=options.overwrite)
    if options.signatures:
        copy_referrers(source, target, blob_digest(raw), result)
    digest = transfer_artifact(source, target, raw, media_type, tag, result.count)
    result.copied.append((_named(target.repository, tag), digest))


def _find(
    source: ArtifactStore, image: Image, text: str, resource: ComponentResource, options: CopyOptions
) -> tuple[Place, tuple[bytes, str]] | None:
    """Return where an image is, and its manifest: in the source, which may be a layout, else in its registry."""
    repository, pointer = f"{image.registry}/{image.repository}", image.digest or image.tag or "latest"
    for store in (source, options.registries):
        manifest = store.manifest(repository, pointer) if store is not None else None
        if store is None or manifest is None:
            continue
        digest = resource.digest
        if digest is not None and digest.normalisation_algorithm == ARTIFACT_DIGEST:
            check_content(resource, manifest[0])
        if image.digest and blob_digest(manifest[0]) != image.digest:
            raise SignatureError(f"{text} is {blob_digest(manifest[0])}", hint="it was not copied")
        return Place(store, repository), manifest
    if options.registries is None:
        return None
    raise RegistryError(
        f"resource {resource.name}: image {text} does not exist", hint="copy without --recursive to leave images out"
    )


def _reference(repository: str, image: Image) -> str:
    name = f"{repository}:{image.tag}" if image.tag else repository
    return f"{name}@{image.digest}" if image.digest else name


def _named(repository: str, pointer: str) -> str:
    return f"{repository}{'@' if ':' in pointer else ':'}{pointer}"


def _with_image(resource: object, moved: Mapping[str, str]) -> object:
    access = resource.get("access") if isinstance(resource, dict) else None
    if not isinstance(resource, dict) or not isinstance(access, dict):
        return resource
    text = access.get("imageReference")
    known = moved.get(text) if isinstance(text, str) else None
    return resource if known is None else {**resource, "access": {**access, "imageReference": known}}
