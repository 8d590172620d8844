"""The layers of a Kyma module, from its component descriptor: manifest, default CR, charts, images.

Four generations of tools exist: chart folders with a config (2022), `raw-manifest` as YAML (until 2024) and as a
tar (since), with `default-cr`; access by `localOciBlob`, `localBlob`, `ociBlob`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import text_at
from kymatui.ocm.component_location import NameMapping, repository_of
from kymatui.ocm.descriptors import AccessSpec, ComponentDescriptor, ComponentResource
from kymatui.ocm.errors import DescriptorError

RAW_MANIFEST: Final = "raw-manifest"
DEFAULT_CR: Final = "default-cr"
CONFIG: Final = "config"
DEFINITIONS: Final = "crds"
CHART_TYPES: Final = frozenset(["helm-chart", "helmChart", "helm"])
TAR_TYPES: Final = ("application/x-tar", "application/tar", "+tar")

_REPOSITORIES: Final = frozenset(["ociregistry", "ocirepository", "oci"])
_BLOBS: Final = frozenset(["localBlob", "localOciBlob", "localOCIBlob", "ociBlob", "OCIBlob"])
_ARTIFACTS: Final = frozenset(["ociArtifact", "OCIArtifact", "ociRegistry", "ociImage", "OCIImage", "OCIRegistry"])


class ModuleLayer(Struct, frozen=True):
    """A layer: `repository` ("host/path", "" if unknown) and `digest` ("sha256:…").

    `is_archive` means a tar.
    """

    name: str
    type: str
    version: str
    repository: str
    digest: str
    media_type: str
    resource: ComponentResource

    @property
    def is_archive(self) -> bool:
        return self.media_type.endswith(TAR_TYPES) or self.media_type.endswith("tar+gzip")


class ModuleLayers(Struct, frozen=True):
    """The layers of a module, None or () if absent; `images` are its image references."""

    raw_manifest: ModuleLayer | None = None
    default_resource: ModuleLayer | None = None
    config: ModuleLayer | None = None
    definitions: ModuleLayer | None = None
    charts: tuple[ModuleLayer, ...] = ()
    images: tuple[str, ...] = ()


def module_layers(descriptor: ComponentDescriptor, registry: str = "") -> ModuleLayers:
    """Return the layers of a module.

    `registry` ("host/path") replaces the location in the descriptor. Raises DescriptorError for a resource with an
    invalid access of a known type.
    """
    where = repository(descriptor, registry)
    blobs = {
        resource.name: _layer(resource, where)
        for resource in descriptor.resources
        if access_kind(resource.access) in _BLOBS
    }
    charts = tuple(layer for layer in blobs.values() if layer.type in CHART_TYPES)
    return ModuleLayers(
        blobs.get(RAW_MANIFEST),
        blobs.get(DEFAULT_CR),
        blobs.get(CONFIG),
        blobs.get(DEFINITIONS),
        charts,
        tuple(dict.fromkeys(image for resource in descriptor.resources if (image := image_of(resource)))),
    )


def access_kind(access: AccessSpec | None) -> str:
    """Return the type of an access without its version ("ociArtifact" for "ociArtifact/v1")."""
    return text_at(access or {}, "type").partition("/")[0]


def local_digest(resource: ComponentResource) -> str:
    """Return the digest of a blob in the component's own repository, "" for other resources."""
    kind = access_kind(resource.access)
    if kind not in _BLOBS or kind.lower() == "ociblob":
        return ""
    return _text(resource, "localReference" if kind == "localBlob" else "digest")


def image_of(resource: ComponentResource) -> str:
    """Return the reference of an OCI artifact, "" for other resources."""
    if access_kind(resource.access) not in _ARTIFACTS:
        return ""
    return _text(resource, "imageReference")


def repository(descriptor: ComponentDescriptor, registry: str = "") -> str:
    """Return the repository of a component, "" if its base is unknown.

    `<base>[/<subPath>]/component-descriptors/<name>`, or `<base>[/<subPath>]/<digest of the name>`.
    """
    context = _context(descriptor)
    base = registry or _base(context)
    if not base:
        return ""
    hashed = context.get("componentNameMapping") == NameMapping.SHA256
    return repository_of(base, descriptor.name, NameMapping.SHA256 if hashed else NameMapping.URL_PATH)


def _context(descriptor: ComponentDescriptor) -> Mapping[str, Any]:
    """Return the current repository context, which is the last one."""
    known = (context for context in reversed(descriptor.contexts) if access_kind(context).lower() in _REPOSITORIES)
    return next(known, {})


def _base(context: Mapping[str, Any]) -> str:
    base, below = context.get("baseUrl"), context.get("subPath")
    if not isinstance(base, str):
        return ""
    return f"{base.rstrip('/')}/{below.strip('/')}" if isinstance(below, str) and below.strip("/") else base


def _layer(resource: ComponentResource, where: str) -> ModuleLayer:
    kind, access = access_kind(resource.access), resource.access or {}
    if kind == "localBlob":
        digest = _text(resource, "localReference")
        if "," in digest:
            raise DescriptorError(f"resource {resource.name} is split into blobs, which is not supported for modules")
    else:
        digest = _text(resource, "digest")
    if kind.lower() == "ociblob":
        where = _text(resource, "ref").rpartition("://")[2]
    media_type = access.get("mediaType")
    return ModuleLayer(
        resource.name,
        resource.type,
        resource.version,
        where,
        digest,
        media_type if isinstance(media_type, str) else "",
        resource,
    )


def _text(resource: ComponentResource, field: str) -> str:
    value = (resource.access or {}).get(field)
    if not isinstance(value, str) or not value:
        raise DescriptorError(f"resource {resource.name}: its access has no {field}")
    return value
