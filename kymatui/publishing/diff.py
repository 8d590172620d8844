"""What differs between two component versions: images, objects of the manifest one by one, labels, templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kymatui.actions.components.stored_components import StoredComponent, require_component
from kymatui.domain.versions.manifest_diff import DiffSection, manifest_sections, object_changes
from kymatui.domain.versions.version_diff import ValueChange, field_changes
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.errors import KymatuiError
from kymatui.ocm import ComponentDescriptor
from kymatui.ocm.component_location import ComponentLocation
from kymatui.ocm.module_layers import DEFAULT_CR, RAW_MANIFEST, image_of, local_digest
from kymatui.publishing.create import component_templates
from kymatui.publishing.disk_sources import stored_objects


class ComponentDiff(Struct, frozen=True):
    """The differences by section; sections without any are missing."""

    before: StoredComponent
    after: StoredComponent
    sections: Mapping[DiffSection, tuple[ValueChange, ...]]


def diff_components(store: ArtifactStore, before: ComponentLocation, after: ComponentLocation) -> ComponentDiff:
    """Compare two component versions. Raise RegistryError, and SignatureError for layers with another digest."""
    old, new = require_component(store, before), require_component(store, after)
    contents = manifest_sections(stored_objects(store, old, RAW_MANIFEST), stored_objects(store, new, RAW_MANIFEST))
    listed = tuple(field_changes(_images(old.descriptor), _images(new.descriptor)))
    images = {(change.before, change.after) for change in listed}
    deployed = (
        change for change in contents.get(DiffSection.IMAGES, ()) if (change.before, change.after) not in images
    )
    sections = {
        **contents,
        DiffSection.DESCRIPTOR: field_changes(_head(old.descriptor), _head(new.descriptor)),
        DiffSection.LABELS: field_changes(_labels(old.descriptor), _labels(new.descriptor)),
        DiffSection.IMAGES: (*listed, *deployed),
        DiffSection.RESOURCES: field_changes(_blobs(old.descriptor), _blobs(new.descriptor)),
        DiffSection.DEFAULT_CR: object_changes(
            stored_objects(store, old, DEFAULT_CR), stored_objects(store, new, DEFAULT_CR)
        ),
        DiffSection.TEMPLATE: field_changes(_template(store, old), _template(store, new)),
        DiffSection.SIGNATURES: field_changes(_signatures(old.descriptor), _signatures(new.descriptor)),
    }
    changed_sections = {name: tuple(changes) for name, changes in sections.items()}
    return ComponentDiff(old, new, {name: changed_sections[name] for name in DiffSection if changed_sections.get(name)})


def _head(descriptor: ComponentDescriptor) -> dict[str, Any]:
    references = {reference.name: f"{reference.component}:{reference.version}" for reference in descriptor.references}
    sources = {source.name: dict(source.access or {}) for source in descriptor.sources}
    head = {"name": descriptor.name, "version": descriptor.version, "provider": descriptor.provider}
    return {**head, "references": references, "sources": sources}


def _labels(descriptor: ComponentDescriptor) -> dict[str, Any]:
    return {label.name: label.value for label in descriptor.labels}


def _images(descriptor: ComponentDescriptor) -> dict[str, str]:
    images: dict[str, str] = {}
    for resource in descriptor.resources:
        if image := _safely(resource, image_of):
            name = resource.name if resource.name not in images else f"{resource.name} {resource.version}"
            images[name] = image
    return images


def _blobs(descriptor: ComponentDescriptor) -> dict[str, str]:
    return {resource.name: digest for resource in descriptor.resources if (digest := _safely(resource, local_digest))}


def _safely(resource: Any, read: Any) -> str:
    try:
        return str(read(resource))
    except KymatuiError:
        return ""  # an access that cannot be read is neither


def _signatures(descriptor: ComponentDescriptor) -> dict[str, str]:
    return {signature.name: signature.algorithm for signature in descriptor.signatures}


def _template(store: ArtifactStore, component: StoredComponent) -> dict[str, Any]:
    try:
        component_template = component_templates(store, component.location)[0]
    except KymatuiError:
        return {}  # components that are no modules have none
    metadata = component_template.get("metadata")
    kept = {key: value for key, value in component_template.items() if key not in ("metadata", "apiVersion", "kind")}
    known = metadata if isinstance(metadata, dict) else {}
    return {**kept, "labels": known.get("labels") or {}, "annotations": known.get("annotations") or {}}
