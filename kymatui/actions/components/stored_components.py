"""Component versions in registries and layouts: found in every wrapping, published without half a version.

The image manifest (newer tools write an index around it) has a config that names the layer with the descriptor: a tar
with component-descriptor.yaml, or the YAML or JSON itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from kymatui.actions.components.content_changes import changed_contents, shown_changes
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, field_changes
from kymatui.engine.bundles.tar_archives import is_tar, read_tar, unpack
from kymatui.engine.sources.artifact_store import ArtifactStore, ContentStore
from kymatui.engine.sources.component_source import DESCRIPTOR_FILE, MANIFEST_TYPE, blob_digest, component_artifact
from kymatui.errors import RefusedError, RegistryError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_as_json
from kymatui.json_input import read_json
from kymatui.ocm import ComponentDescriptor, DescriptorError, read_descriptor
from kymatui.ocm.component_location import ComponentLocation, version_of
from kymatui.structs import repr_without

LARGEST_DESCRIPTOR: Final = 16 * 1024 * 1024  # bytes of a component descriptor, which is parsed in memory
LARGEST_CONFIG: Final = 1024 * 1024  # bytes of a component's OCI config, which only names a layer

_MARK: Final = "software.ocm.descriptor"
_KNOWN: Final = ("component-descriptor.v2", "component-descriptor.v3")

Json = dict[str, Any]


class StoredComponent(Struct, frozen=True):
    """A component version as it is stored: the descriptor, its document, the image manifest and its digest."""

    location: ComponentLocation
    digest: str
    descriptor: ComponentDescriptor
    document: Mapping[str, Any]
    manifest: Mapping[str, Any]
    descriptor_layer: str

    __repr__ = repr_without("descriptor", "document", "manifest")

    @property
    def layers(self) -> list[Json]:
        """Return the content descriptors of the local blobs."""
        return [
            layer for layer in json_objects(self.manifest, "layers") if layer.get("digest") != self.descriptor_layer
        ]


class PushOutcome(StrEnum):
    PUSHED = "pushed"
    UNCHANGED = "unchanged"
    REPLACED = "replaced"


class Publication(Struct, frozen=True):
    """The result of publishing a component version; `digest` is of its manifest."""

    outcome: PushOutcome
    location: ComponentLocation
    digest: str


def find_component(store: ContentStore, location: ComponentLocation) -> StoredComponent | None:
    """Return a component version, None if the repository has no such tag.

    Raise RegistryError, DescriptorError or SourceError for content that is no such component.
    """
    stored = store.manifest(location.repository, location.tag)
    if stored is None:
        return None
    raw, manifest = _image(store, location, stored[0])
    layer = _descriptor_layer(store, location, manifest)
    document = _document(store.blob(location.repository, layer, LARGEST_DESCRIPTOR), str(location))
    descriptor = read_descriptor(document)
    if (descriptor.name, descriptor.version) != (location.name, location.version):
        raise RegistryError(f"{location} is {descriptor.name}:{descriptor.version}", hint="it was not used")
    return StoredComponent(location, blob_digest(raw), descriptor, document, manifest, layer)


def require_component(store: ContentStore, location: ComponentLocation) -> StoredComponent:
    """Return a component version. Raise RegistryError also if there is none."""
    component = find_component(store, location)
    if component is None:
        raise RegistryError(
            f"{location} does not exist", hint=f"it would be {location.repository}:{location.tag}; check the registry"
        )
    return component


def component_versions(store: ArtifactStore, location: ComponentLocation) -> list[str]:
    """Return the versions of a component in the registry's order."""
    return [version_of(tag) for tag in store.tags(location.repository)]


def publish(
    store: ArtifactStore,
    location: ComponentLocation,
    document: Mapping[str, Any],
    blobs: Mapping[str, bytes],
    layers: Sequence[Mapping[str, Any]],
    *,
    overwrite: bool = False,
) -> Publication:
    """Push a component version: blobs, config, descriptor, and its manifest last.

      blobs   contents of local blobs by digest; layers without content must be in the repository
      layers  content descriptors of the local blobs

    A version with equal content stays as it is, also if it was signed since. Raise RefusedError with the differences
    if it has other content, unless `overwrite` replaces it.
    """
    existing = find_component(store, location)
    if existing is not None and _is_equal(store, existing, document, blobs, overwrite=overwrite):
        return Publication(PushOutcome.UNCHANGED, location, existing.digest)
    artifact = component_artifact(document, layers)
    for content in (*blobs.values(), artifact.descriptor, artifact.config):
        store.push_blob(location.repository, content)
    # registries replace a tag without a word: look again, because others may have pushed meanwhile
    latest = find_component(store, location)
    if latest is not None and (existing is None or latest.digest != existing.digest):
        if _is_equal(store, latest, document, blobs, overwrite=overwrite):
            return Publication(PushOutcome.UNCHANGED, location, latest.digest)
        existing = latest
    digest = store.push_manifest(location.repository, location.tag, artifact.manifest, MANIFEST_TYPE)
    return Publication(PushOutcome.PUSHED if existing is None else PushOutcome.REPLACED, location, digest)


def _is_equal(
    store: ArtifactStore,
    existing: StoredComponent,
    document: Mapping[str, Any],
    blobs: Mapping[str, bytes],
    *,
    overwrite: bool,
) -> bool:
    """Return whether a version has this content. Raise RefusedError if it has other content that must stay."""
    differences = content_changes(existing.document, document)
    if differences and not overwrite:
        lines = changed_contents(store, existing.location, existing.document, document, blobs)
        raise RefusedError(
            "\n".join([f"{existing.location} already exists with other content:", *lines, *shown_changes(differences)]),
            hint="increase the version, or replace it with --overwrite",
        )
    return not differences


def content_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ValueChange]:
    """Return the differences of two descriptors, besides signatures and the places where they were stored.

    Signing adds the digests of images, so a digest that only one of them has is no difference.
    """
    changes = field_changes(_content(before), _content(after))
    return [change for change in changes if change.kind is ChangeKind.CHANGED or not change.path.endswith("].digest")]


def _content(document: Mapping[str, Any]) -> Json:
    content = {key: value for key, value in document.items() if key not in ("signatures", "repositoryContexts")}
    component = content.get("component")
    if isinstance(component, dict):
        content["component"] = {key: value for key, value in component.items() if key != "repositoryContexts"}
    return content


def _image(store: ContentStore, location: ComponentLocation, raw: bytes) -> tuple[bytes, Json]:
    """Return the image manifest: of an index, the marked one, else the first."""
    manifest = _json(raw, location)
    if "manifests" not in manifest:
        return raw, manifest
    entries = json_objects(manifest, "manifests")
    if not entries:
        raise RegistryError(f"{location} is an empty index")
    chosen = next((entry for entry in entries if _is_marked(entry)), entries[0])
    stored = store.manifest(location.repository, str(chosen.get("digest", "")))
    if stored is None:
        raise RegistryError(f"{location} is an index whose manifest does not exist")
    return stored[0], _json(stored[0], location)


def _descriptor_layer(store: ContentStore, location: ComponentLocation, manifest: Json) -> str:
    """Return the digest of the layer with the descriptor: named by the config, else marked, else known by its type."""
    layers = json_objects(manifest, "layers")
    digests = {str(entry.get("digest")) for entry in layers}
    config = manifest.get("config")
    if isinstance(config, dict) and config.get("digest"):
        body = json_object(store.blob(location.repository, str(config["digest"]), LARGEST_CONFIG))
        named = body.get("componentDescriptorLayer")
        if isinstance(named, dict) and named.get("digest") in digests:
            return str(named["digest"])
    for layer in layers:
        if _is_marked(layer) or any(word in str(layer.get("mediaType")) for word in _KNOWN):
            return str(layer.get("digest"))
    raise RegistryError(f"{location} is not a component: no layer has a descriptor")


def _is_marked(entry: Json) -> bool:
    annotations = entry.get("annotations")
    return isinstance(annotations, dict) and annotations.get(_MARK) == "true"


def _document(content: bytes, where: str) -> Json:
    plain = unpack(content, where)
    if is_tar(plain):
        files = read_tar(plain, where)
        if DESCRIPTOR_FILE not in files:
            raise RegistryError(f"{where}: the archive of its descriptor has no {DESCRIPTOR_FILE}")
        plain = files[DESCRIPTOR_FILE]
    try:
        document = load_as_json(plain)
    except YamlError as error:
        raise DescriptorError(f"{where}: {error.summary}") from None
    if not isinstance(document, dict):
        raise DescriptorError(f"{where} is not a readable component descriptor")
    return document


def _json(raw: bytes, location: ComponentLocation) -> Json:
    document = json_object(raw)
    if not document:
        raise RegistryError(f"{location}: the manifest is not a JSON object")
    return document


def json_object(raw: bytes) -> Json:
    """Return an object, {} for other content."""
    try:
        document = read_json(raw)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def json_objects(body: Mapping[str, Any], key: str) -> list[Json]:
    """Return the objects of a list, [] where there is none."""
    value = body.get(key)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
