"""The component of a module: its descriptor in schema v2 as ocm writes it, its local blobs, and the constructor.

Everything follows from the sources: images are sorted, tars are normalised, the creation time comes from the commit.
"""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from kymatui.actions.components.component_template import (
    BETA,
    CLUSTER_SCOPED,
    DEFAULT_CR,
    INTERNAL,
    MODULE_TEMPLATE,
    REQUIRES_DOWNTIME,
)
from kymatui.engine.sources.component_source import blob_digest, pack_file, resource_layer
from kymatui.ocm.component_location import ComponentLocation
from kymatui.publishing.manifest_images import ImageProblemError, ImageResource
from kymatui.publishing.module_config import ModuleConfig
from kymatui.structs import hash_by, repr_without

TAR: Final = "application/x-tar"
PLAIN: Final = "application/octet-stream"
PROVIDER: Final = "kyma-project.io"
BUILT_BY: Final = "kymatui"
RAW_MANIFEST: Final = "raw-manifest"

Json = dict[str, Any]


class SourceFile(Struct, frozen=True):
    """A file of a module: its name in the archive, its content, and its path for the constructor."""

    name: str
    content: bytes
    path: str = ""


class GitCommit(Struct, frozen=True):
    """The commit that a module is built from; `time` in seconds since 1970."""

    hash: str
    time: int


class LocalBlob(Struct, frozen=True):
    """A resource whose content lies beside the descriptor."""

    name: str
    type: str
    media_type: str
    content: bytes
    input: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = hash_by("name", "type", "media_type", "content")
    __repr__ = repr_without("content")


class ModuleComponentParts(Struct, frozen=True):
    """What a component is made of."""

    config: ModuleConfig
    commit: str
    creation_time: str
    cluster_scoped: bool
    images: tuple[ImageResource, ...]
    blobs: tuple[LocalBlob, ...]


def local_blobs(
    manifest: SourceFile, default_cr: SourceFile | None, template: str, template_path: str
) -> tuple[LocalBlob, ...]:
    """Return the local blobs of a module in the order of its layers."""
    files = [_directory(RAW_MANIFEST, manifest)]
    if default_cr is not None:
        files.append(_directory(DEFAULT_CR, default_cr))
    blob_input = {"type": "file", "path": template_path}
    return (*files, LocalBlob(MODULE_TEMPLATE, "PlainText", PLAIN, template.encode(), blob_input))


def _directory(name: str, file: SourceFile) -> LocalBlob:
    folder = posixpath.dirname(file.path) or "."  # without a folder it is the constructor's own, and not the root
    blob_input = {"type": "dir", "path": folder, "includeFiles": [file.name]}
    return LocalBlob(name, "directoryTree", TAR, pack_file(file.name, file.content), blob_input)


def check_identities(images: Sequence[ImageResource]) -> None:
    """Raise ImageProblemError if two images, or an image and a file of the module, would be one resource."""
    own = (RAW_MANIFEST, DEFAULT_CR, MODULE_TEMPLATE)
    identities: dict[tuple[str, str], str] = {}
    for image in images:
        if image.name in own:
            message = f"image {image.reference!r} has the name of a resource of the module: {image.name}"
            raise ImageProblemError(image.reference, message)
        other = identities.setdefault((image.name, image.version), image.reference)
        if other != image.reference:
            raise ImageProblemError(
                other,
                f"images {other!r} and {image.reference!r} would be one resource: {image.name} {image.version}",
                hint="a component names an image by the last part of its repository and by its tag; add digests",
            )


def descriptor(parts: ModuleComponentParts, location: ComponentLocation | None, scheme: str = "") -> Json:
    """Return the descriptor's document.

    lifecycle-manager reads layers from the last repository context; `scheme` precedes the host ("http://").
    """
    config = parts.config
    component = {
        "name": config.name,
        "version": config.version,
        "provider": json.dumps(_provider(), separators=(",", ":")),
        "labels": _labels(parts),
        "creationTime": parts.creation_time,
        "repositoryContexts": [repository_context(location, scheme)] if location is not None else [],
        "resources": [*resources(parts), *(_local(blob, config.version) for blob in parts.blobs)],
        "sources": _sources(parts),
        "componentReferences": [],
    }
    return {"meta": {"schemaVersion": "v2"}, "component": component}


def constructor(parts: ModuleComponentParts) -> Json:
    """Return the component constructor that `ocm add componentversions` reads."""
    config = parts.config
    files = [
        {"name": blob.name, "type": blob.type, "version": config.version, "input": dict(blob.input)}
        for blob in parts.blobs
    ]
    images = [
        {key: value for key, value in resource.items() if key != "extraIdentity"} for resource in resources(parts)
    ]
    component = {
        "name": config.name,
        "version": config.version,
        "provider": _provider(),
        "labels": _labels(parts),
        "resources": [*images, *files],
        "sources": _sources(parts),
    }
    return {"components": [component]}


def layers(blobs: Sequence[LocalBlob]) -> list[Json]:
    """Return the content descriptors of the local blobs; equal contents are one layer."""
    names: dict[str, list[str]] = {}
    for blob in blobs:
        names.setdefault(blob_digest(blob.content), []).append(blob.name)
    first = {blob_digest(local_blob.content): local_blob for local_blob in reversed(blobs)}
    return [
        resource_layer(first[digest].content, first[digest].media_type, [{"name": name} for name in blob_names])
        for digest, blob_names in names.items()
    ]


def repository_context(location: ComponentLocation, scheme: str = "") -> Json:
    host, _, path = location.base.partition("/")
    context = {"type": "OCIRegistry", "baseUrl": f"{scheme}{host}", "componentNameMapping": str(location.mapping)}
    return {**context, "subPath": path} if path else context


def resources(parts: ModuleComponentParts) -> list[Json]:
    """Return the images as resources; those of one name are told apart by their versions."""
    names = Counter(image.name for image in parts.images)
    return [
        {
            "name": image.name,
            "version": image.version,
            "type": "ociArtifact",
            "relation": "external",
            **({"extraIdentity": {"version": image.version}} if names[image.name] > 1 else {}),
            "labels": [_label("scan.security.kyma-project.io/type", "third-party-image")],
            "access": {"type": "ociArtifact", "imageReference": image.reference},
        }
        for image in parts.images
    ]


def _local(blob: LocalBlob, version: str) -> Json:
    digest = blob_digest(blob.content)
    return {
        "name": blob.name,
        "version": version,
        "type": blob.type,
        "relation": "local",
        "access": {"type": "localBlob", "localReference": digest, "mediaType": blob.media_type},
        "digest": {
            "hashAlgorithm": "SHA-256",
            "normalisationAlgorithm": "genericBlobDigest/v1",
            "value": digest.partition(":")[2],
        },
    }


def _sources(parts: ModuleComponentParts) -> list[Json]:
    access = {"type": "gitHub", "repoUrl": parts.config.repository, "commit": parts.commit}
    return [{"name": "module-sources", "type": "Github", "version": parts.config.version, "access": access}]


def _provider() -> Json:
    return {"name": PROVIDER, "labels": [_label(f"{PROVIDER}/built-by", BUILT_BY)]}


def _labels(parts: ModuleComponentParts) -> list[Json]:
    config = parts.config
    flags = {
        BETA: config.beta,
        INTERNAL: config.internal,
        REQUIRES_DOWNTIME: config.requires_downtime,
        CLUSTER_SCOPED: parts.cluster_scoped,
    }
    labels = [_label(name, "true" if value else "false") for name, value in flags.items()]
    if config.security_scan:
        team = {"github_hostname": "github.tools.sap", "teamname": config.team, "type": "githubTeam"}
        labels.append(_label("security.kyma-project.io/scan", "enabled"))
        labels.append(_label("cloud.gardener.cnudie/responsibles", [team]))
    return labels


def _label(name: str, value: Any) -> Json:
    return {"name": name, "value": value, "version": "v1"}
