"""Push everything that an image layout holds to a registry: components with their images, then other images."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.component_source import VERSION_ANNOTATION
from kymatui.errors import RegistryError
from kymatui.ocm.component_location import COMPONENTS, ComponentLocation, NameMapping, parse_location, version_of
from kymatui.publishing.blob_transfer import Place, manifest_body, require_manifest
from kymatui.publishing.copy import copy_component
from kymatui.publishing.copy_images import CopyOptions, CopyResult, copy_image

_HASHED: Final = re.compile(r"[0-9a-f]{64}")


def push_layout(
    source: ArtifactStore, names: Sequence[str], target: ArtifactStore, base: str, options: CopyOptions
) -> CopyResult:
    """Push the named manifests of a layout to `base` ("host/path").

    Images of components that the layout holds are pushed too, and the components name them there; others stay where
    they are. Raise RegistryError, DescriptorError, SignatureError, and RefusedError for a tag that is taken.
    """
    result = CopyResult()
    components = {name: location for name in names if (location := _component(source, name)) is not None}
    for here in components.values():
        destination = replace(here, base=base)
        how = replace(options, recursive=True, registries=None)
        _join(result, copy_component(source, here, target, destination, how))
    done = {name for name, _ in result.copied}
    for name in names:
        if name not in components and (image_path := _image_place(name, base)) not in done:
            repository, _, tag = name.rpartition(":")
            where = Place(target, image_path.rpartition(":")[0])
            _join(result, copy_image(Place(source, repository), tag, where, tag, options))
    return result


def _join(result: CopyResult, other: CopyResult) -> None:
    known = {name for name, _ in result.copied}
    result.copied += [entry for entry in other.copied if entry[0] not in known]
    result.count.copied_bytes += other.count.copied_bytes
    for transfer, count in other.count.blobs.items():
        result.count.blobs[transfer] += count


def _component(source: ArtifactStore, name: str) -> ComponentLocation | None:
    """Return the component that a name of the layout stands for, None for an image."""
    repository, _, tag = name.rpartition(":")
    head, _, rest = repository.partition("/")
    if head == COMPONENTS and rest:
        return ComponentLocation("", rest, version_of(tag))
    if not _HASHED.fullmatch(repository):
        return None
    raw, _ = require_manifest(Place(source, repository), tag)
    annotations = manifest_body(raw, name).get("annotations")
    written = annotations.get(VERSION_ANNOTATION) if isinstance(annotations, Mapping) else None
    if not isinstance(written, str):
        return None
    location = parse_location(written.removeprefix(f"{COMPONENTS}/"))
    return replace(location, base="", mapping=NameMapping.SHA256)


def _image_place(name: str, base: str) -> str:
    """Return the new reference of an image: `registry.example/team/image:1` becomes `<base>/team/image:1`."""
    repository, colon, tag = name.rpartition(":")
    image = parse_image(name) if colon and repository else None
    if image is None:
        raise RegistryError(
            f"the layout names an image {name!r}, without a repository",
            hint=f"copy it: kymatui bundle copy layout:DIR//REPOSITORY:{tag} {base}/REPOSITORY:{tag}",
        )
    first = repository.partition("/")[0]
    has_host = "/" in repository and first == image.registry
    return f"{base}/{image.repository if has_host else repository}:{tag}"
