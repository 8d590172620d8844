"""Open Component Model components in a registry: location and packaging of their descriptors.

`<base>/component-descriptors/<name>:<version>` is an image manifest (newer tools write an index around it) whose
config names the layer with the descriptor: a tar with component-descriptor.yaml, or the YAML or JSON itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from kymatui.adapters.oci.image_manifest import ContentDescriptor, ImageManifest
from kymatui.adapters.oci.image_reference import ImageReference, parse_reference
from kymatui.adapters.oci.registry import Registry
from kymatui.engine.bundles.tar_archives import is_tar, read_tar, unpack
from kymatui.engine.sources.component_source import parse_component
from kymatui.errors import RegistryError
from kymatui.ocm import ComponentDescriptor as Component
from kymatui.ocm.component_location import repository_of, tag_of, version_of

FILE: Final = "component-descriptor.yaml"
LARGEST: Final = 16 * 1024 * 1024
ANNOTATION: Final = "software.ocm.descriptor"
_KNOWN: Final = ("component-descriptor.v2", "component-descriptor.v3")


@dataclass(frozen=True, slots=True)
class FoundComponent:
    """A component, the repository of its layers ("host/path"), and the digest of its manifest."""

    descriptor: Component
    repository: str
    digest: str


def component_reference(base: str, name: str, version: str = "") -> ImageReference:
    """Return the reference of a component.

    `base` is "host/path", with or without component-descriptors.
    """
    found = parse_reference(repository_of(base, name))
    return replace(found, tag=tag_of(version)) if version else found


def versions(registry: Registry, base: str, name: str) -> list[str]:
    """Return the versions of a component in the registry's order."""
    return [version_of(tag) for tag in registry.tags(component_reference(base, name))]


def fetch_component(registry: Registry, base: str, name: str, version: str) -> FoundComponent:
    """Fetch a component by name and version. Raise RegistryError, or DescriptorError for other content."""
    where = component_reference(base, name, version)
    manifest = _image(registry, registry.fetch_manifest(where))
    data = _content(registry, manifest, _layer(registry, manifest))
    descriptor = parse_component(_text(data, str(where)), str(where))
    if (descriptor.name, descriptor.version) != (name, version):
        raise RegistryError(
            f"{where} is {descriptor.name}:{descriptor.version}, not {name}:{version}", hint="it was not used"
        )
    return FoundComponent(descriptor, f"{where.registry}/{where.repository}", manifest.digest)


def _image(registry: Registry, manifest: ImageManifest) -> ImageManifest:
    """Return the image manifest within an index: the annotated one, else the first."""
    if not manifest.is_index:
        return manifest
    found = manifest.manifests
    if not found:
        raise RegistryError(f"{manifest.reference} is an empty index")
    marked = next((one for one in found if one.annotations.get(ANNOTATION) == "true"), found[0])
    return registry.fetch_manifest(replace(manifest.reference, tag="", digest=marked.digest))


def _layer(registry: Registry, manifest: ImageManifest) -> str:
    """Return the digest of the layer with the descriptor. Raise RegistryError if there is none."""
    for digest in _named(registry, manifest):
        return digest
    raise RegistryError(f"{manifest.reference} is not a component: no layer has a descriptor")


def _named(registry: Registry, manifest: ImageManifest) -> Iterator[str]:
    there = {one.digest for one in manifest.layers}
    config = manifest.config
    if config is not None and config.size <= LARGEST:
        named = _digest_in(_content(registry, manifest, config.digest))
        if named in there:
            yield named
    for one in manifest.layers:
        if one.annotations.get(ANNOTATION) == "true" or any(word in one.media_type for word in _KNOWN):
            yield one.digest


def _digest_in(config: bytes) -> str:
    try:
        body: Any = json.loads(config)
        return str(body["componentDescriptorLayer"]["digest"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _content(registry: Registry, manifest: ImageManifest, digest: str) -> bytes:
    known: ContentDescriptor | str = next((one for one in manifest.layers if one.digest == digest), digest)
    content = bytearray()
    for chunk in registry.read_blob(manifest.reference, known):
        content += chunk
        if len(content) > LARGEST:
            raise RegistryError(f"{manifest.reference}: {digest} is too large for a component descriptor")
    return bytes(content)


def _text(data: bytes, where: str) -> bytes:
    plain = unpack(data, where)
    if not is_tar(plain):
        return plain
    files = read_tar(plain, where)
    if FILE not in files:
        raise RegistryError(f"{where}: the archive of its descriptor has no {FILE}")
    return files[FILE]
