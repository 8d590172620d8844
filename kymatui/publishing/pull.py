"""The content of a component as files: the descriptor, and each local resource unpacked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from kymatui.actions.components.component_digests import LARGEST_BLOB, LARGEST_BLOBS
from kymatui.actions.components.stored_components import StoredComponent, require_component
from kymatui.engine.bundles.tar_archives import is_gzip, is_tar, read_tar, unpack
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.component_source import DESCRIPTOR_FILE
from kymatui.errors import RegistryError
from kymatui.helm.yaml.writing import dump_yaml
from kymatui.ocm import ComponentResource, check_content
from kymatui.ocm.component_location import ComponentLocation
from kymatui.ocm.module_layers import image_of, local_digest

_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[-_+.a-zA-Z0-9]*[-_+a-zA-Z0-9])?")  # also safe as the name of a file
_LONGEST_NAME: Final = 200  # characters; file systems end names at 255 bytes, and a number may follow


class PulledComponent(Struct, frozen=True):
    """Files by their path below the folder, and the resources that lie elsewhere."""

    component: StoredComponent
    files: Mapping[str, bytes]
    resources: tuple[str, ...]
    elsewhere: tuple[str, ...]


def pull_component(store: ArtifactStore, location: ComponentLocation) -> PulledComponent:
    """Fetch a component with its local resources, each compared with its digest in the descriptor.

    Tars become folders with the name of the resource, compressed files are decompressed. Raise RegistryError,
    SignatureError for other content, and SourceError for archives that lead out of their folder.
    """
    component = require_component(store, location)
    files = {DESCRIPTOR_FILE: dump_yaml(component.document).encode("utf-8", "surrogateescape")}
    pulled: list[str] = []
    elsewhere: list[str] = []
    remaining = LARGEST_BLOBS
    for resource in component.descriptor.resources:
        digest = local_digest(resource)
        if not digest:
            elsewhere.append(image_of(resource) or resource.name)
            continue
        content = store.blob(location.repository, digest, min(LARGEST_BLOB, remaining))
        remaining -= len(content)
        if resource.digest is not None and not resource.digest.is_excluded:
            check_content(resource, content)
        name = _folder(resource, set(pulled))
        pulled.append(name)
        files.update(_unpacked(name, content, str(location)))
    return PulledComponent(component, files, tuple(pulled), tuple(elsewhere))


def _folder(resource: ComponentResource, used: set[str]) -> str:
    """Return the name of a resource's files; equal names are told apart by identity or number."""
    for name in (resource.name, "-".join([resource.name, *map(str, resource.extra_identity.values())])):
        if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
            break
        if name not in used and name != DESCRIPTOR_FILE:
            return name
    if len(resource.name) > _LONGEST_NAME or not _NAME.fullmatch(resource.name):
        raise RegistryError(f"resource {resource.name!r} cannot be a file name", hint="nothing was written")
    return next(name for at in range(2, len(used) + 3) if (name := f"{resource.name}-{at}") not in used)


def _unpacked(name: str, content: bytes, where: str) -> dict[str, bytes]:
    plain = unpack(content, f"{where} {name}") if is_gzip(content) else content
    if is_tar(plain):
        return {f"{name}/{path}": data for path, data in read_tar(plain, f"{where} {name}").items()}
    return {name: plain}
