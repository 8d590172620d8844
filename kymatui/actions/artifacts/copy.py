"""Copies of components and images between registries, layouts and archives; nothing is read but what is copied.

A component in a registry names its place in the descriptor, because lifecycle-manager looks for its layers there.
Signatures do not cover it, so a copy stays signed; its digest changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from kymatui.actions.artifacts.blob_transfer import (
    Place,
    TransferCount,
    check_tag,
    require_manifest,
    transfer_artifact,
    transfer_blob,
)
from kymatui.actions.artifacts.image_signatures import legacy_tag
from kymatui.actions.authoring.template import with_context
from kymatui.actions.bundle.ports import ArtifactStore
from kymatui.actions.bundle.stored_components import StoredComponent, require_component
from kymatui.engine.authoring.component_artifact import MANIFEST_TYPE, blob_digest, component_artifact
from kymatui.errors import RegistryError
from kymatui.ocm.component_location import ComponentLocation

MOST_COMPONENTS: Final = 100
MOST_REFERRERS: Final = 100


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """How to copy.

    overwrite   move tags that name something else
    exact       keep the bytes of components: their descriptors still name the former place
    recursive   also copy the components that a component refers to
    signatures  also copy signatures of cosign and other referrers; of components only with `exact`
    scheme      "http://" for a target without TLS
    """

    overwrite: bool = False
    exact: bool = False
    recursive: bool = False
    signatures: bool = False
    scheme: str = ""


@dataclass(slots=True)
class CopyResult:
    """What was copied: (name, digest) of each artifact, the requested one last."""

    copied: list[tuple[str, str]] = field(default_factory=list)
    count: TransferCount = field(default_factory=TransferCount)


def copy_component(
    source: ArtifactStore,
    here: ComponentLocation,
    target: ArtifactStore,
    there: ComponentLocation,
    options: CopyOptions,
) -> CopyResult:
    """Copy a component version. Raise RegistryError, DescriptorError, and RefusedError for a tag that is taken."""
    result = CopyResult()
    _copy_component(source, here, target, there, options, result, set())
    return result


def copy_image(source: Place, pointer: str, target: Place, tag: str, options: CopyOptions) -> CopyResult:
    """Copy an image or index with all that it names. Raise RegistryError, and RefusedError for a tag that is taken."""
    result = CopyResult()
    raw, media_type = require_manifest(source, pointer)
    check_tag(target, tag, blob_digest(raw), overwrite=options.overwrite)
    if options.signatures:
        _copy_signatures(source, target, blob_digest(raw), result)
    digest = transfer_artifact(source, target, raw, media_type, tag, result.count)
    result.copied.append((f"{target.repository}:{tag}", digest))
    return result


def _copy_component(
    source: ArtifactStore,
    here: ComponentLocation,
    target: ArtifactStore,
    there: ComponentLocation,
    options: CopyOptions,
    result: CopyResult,
    seen: set[ComponentLocation],
) -> None:
    if here in seen:
        return
    seen.add(here)
    if len(seen) > MOST_COMPONENTS:
        raise RegistryError(f"{here} refers to more than {MOST_COMPONENTS} components")
    component = require_component(source, here)
    for one in component.descriptor.references if options.recursive else ():
        named: dict[str, Any] = {"name": one.component, "version": one.version}
        _copy_component(source, replace(here, **named), target, replace(there, **named), options, result, seen)
    digest = _copied(source, component, target, there, options, result)
    result.copied.append((str(there), digest))


def _copied(
    source: ArtifactStore,
    component: StoredComponent,
    target: ArtifactStore,
    there: ComponentLocation,
    options: CopyOptions,
    result: CopyResult,
) -> str:
    old, new = Place(source, component.location.repository), Place(target, there.repository)
    document = with_context(component.document, there, options.scheme) if there.base else dict(component.document)
    if options.exact or document == component.document:
        raw, media_type = require_manifest(old, component.location.tag)
        check_tag(new, there.tag, blob_digest(raw), overwrite=options.overwrite)
        if options.signatures:
            _copy_signatures(old, new, blob_digest(raw), result)
        return transfer_artifact(old, new, raw, media_type, there.tag, result.count)
    annotations = component.manifest.get("annotations")
    artifact = component_artifact(document, component.layers, annotations if isinstance(annotations, dict) else None)
    check_tag(new, there.tag, artifact.digest, overwrite=options.overwrite)
    for layer in component.layers:
        transfer_blob(old, new, str(layer.get("digest")), int(layer.get("size") or 0), result.count)
    for content in (artifact.descriptor, artifact.config):
        target.push_blob(there.repository, content)
    result.count.manifests += 1
    return target.push_manifest(there.repository, there.tag, artifact.manifest, MANIFEST_TYPE)


def _copy_signatures(source: Place, target: Place, digest: str, result: CopyResult) -> None:
    """Copy what refers to a manifest, and the legacy signatures, which are added to by replacing their tag."""
    for referrer in source.store.referrers(source.repository, digest)[:MOST_REFERRERS]:
        name = str(referrer.get("digest", ""))
        raw, media_type = require_manifest(source, name)
        transfer_artifact(source, target, raw, media_type, name, result.count)
        result.copied.append((f"{target.repository}@{name}", name))
    tag = legacy_tag(digest)
    found = source.store.manifest(source.repository, tag)
    if found is not None:
        transfer_artifact(source, target, *found, tag, result.count)
        result.copied.append((f"{target.repository}:{tag}", blob_digest(found[0])))
