"""Copies of components between registries, layouts and archives; nothing is read but what is copied.

A component in a registry names its place in the descriptor, because lifecycle-manager looks for its layers there, and
with `recursive` the places of its images, which lifecycle-manager installs instead of those in the manifest. Signatures
do not cover places, so a copy stays signed; its digest changes.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kymatui.actions.components.stored_components import StoredComponent, require_component
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.component_source import MANIFEST_TYPE, blob_digest, component_artifact
from kymatui.errors import RegistryError
from kymatui.ocm.component_location import ComponentLocation
from kymatui.publishing.blob_transfer import Place, check_tag, require_manifest, transfer_artifact, transfer_blob
from kymatui.publishing.copy_images import CopyOptions, CopyResult, copy_referrers, copy_resource_images, with_images
from kymatui.publishing.create import with_context

MOST_COMPONENTS: Final = 100  # of one copy: references lead from component to component


def copy_component(
    source: ArtifactStore,
    here: ComponentLocation,
    target: ArtifactStore,
    destination: ComponentLocation,
    options: CopyOptions,
) -> CopyResult:
    """Copy a component version. Raise RegistryError, DescriptorError, and RefusedError for a tag that is taken."""
    result = CopyResult()
    _copy_component(source, here, target, destination, options, result, set())
    return result


def _copy_component(
    source: ArtifactStore,
    here: ComponentLocation,
    target: ArtifactStore,
    destination: ComponentLocation,
    options: CopyOptions,
    result: CopyResult,
    visited: set[ComponentLocation],
) -> None:
    if here in visited:
        return
    visited.add(here)
    if len(visited) > MOST_COMPONENTS:
        raise RegistryError(f"{here} refers to more than {MOST_COMPONENTS} components")
    component = require_component(source, here)
    for reference in component.descriptor.references if options.recursive else ():
        named: dict[str, Any] = {"name": reference.component, "version": reference.version}
        _copy_component(source, replace(here, **named), target, replace(destination, **named), options, result, visited)
    images: dict[str, str] = {}
    if options.recursive:
        images = copy_resource_images(source, component.descriptor, target, destination.base, options, result)
    digest = _copied(source, component, target, destination, options, result, images)
    result.copied.append((str(destination), digest))


def _copied(
    source: ArtifactStore,
    component: StoredComponent,
    target: ArtifactStore,
    destination: ComponentLocation,
    options: CopyOptions,
    result: CopyResult,
    images: dict[str, str],
) -> str:
    old, new = Place(source, component.location.repository), Place(target, destination.repository)
    document = dict(component.document)
    if destination.base and not options.exact:
        document = with_images(with_context(document, destination, options.scheme), images)
    if options.exact or document == component.document:
        raw, media_type = require_manifest(old, component.location.tag)
        check_tag(new, destination.tag, blob_digest(raw), overwrite=options.overwrite)
        if options.signatures:
            copy_referrers(old, new, blob_digest(raw), result)
        return transfer_artifact(old, new, raw, media_type, destination.tag, result.count)
    annotations = component.manifest.get("annotations")
    artifact = component_artifact(document, component.layers, annotations if isinstance(annotations, dict) else None)
    check_tag(new, destination.tag, artifact.digest, overwrite=options.overwrite)
    for layer in component.layers:
        transfer_blob(old, new, str(layer.get("digest")), int(layer.get("size") or 0), result.count)
    for content in (artifact.descriptor, artifact.config):
        target.push_blob(destination.repository, content)
    result.count.manifests += 1
    return target.push_manifest(destination.repository, destination.tag, artifact.manifest, MANIFEST_TYPE)
