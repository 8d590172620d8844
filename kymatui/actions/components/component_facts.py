"""What is in a component version and which versions a repository has, without any verification."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.actions.components.component_template import module_template
from kymatui.actions.components.stored_components import StoredComponent, component_versions, require_component
from kymatui.actions.components.template_component import embedded_descriptor
from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.versions import version_order
from kymatui.engine.bundles.tar_archives import is_tar, read_tar, unpack
from kymatui.engine.sources.artifact_store import ArtifactStore, ContentStore
from kymatui.errors import KymatuiError, RegistryError, UsageError
from kymatui.helm.yaml.writing import dump_yaml
from kymatui.json_input import read_json
from kymatui.ocm import ComponentResource, Digest
from kymatui.ocm.component_location import ComponentLocation, parse_location
from kymatui.ocm.module_layers import access_kind, image_of, local_digest
from kymatui.ocm.module_layers import repository as repository_in

_SIGNATURE_TAG: Final = re.compile(r"sha256-[0-9a-f]{64}(?:\.[a-z]+)?")


class ShownResource(Struct, frozen=True):
    """A resource: `location` is the digest of its blob, its image, or the type of its access; `size` may be unknown."""

    name: str
    version: str
    type: str
    media_type: str
    location: str
    size: int | None
    digest: str


class ShownComponent(Struct, frozen=True):
    """A component with its resources, and the names of its templates (made of the descriptor if it carries none).

    `repository` has its local blobs, "" if a template holds the descriptor and names no registry.
    """

    component: StoredComponent
    resources: tuple[ShownResource, ...]
    templates: tuple[str, ...]
    repository: str


def show_component(store: ContentStore, location: ComponentLocation) -> ShownComponent:
    """Read a component. Raise RegistryError and DescriptorError."""
    component = require_component(store, location)
    sizes = {str(layer.get("digest")): layer.get("size") for layer in component.layers}
    resources = tuple(_resource(resource, sizes) for resource in component.descriptor.resources)
    return ShownComponent(component, resources, _templates(store, location), location.repository)


def registry_location(reference: str) -> ComponentLocation:
    """Return the component that `HOST[:PORT][/PATH]//COMPONENT:VERSION` names. Raise UsageError and DescriptorError."""
    location = parse_location(reference)
    if not location.base:
        raise UsageError(f"{reference} names no registry", hint="write HOST//COMPONENT:VERSION")
    return location


def show_embedded(template: ModuleTemplate) -> ShownComponent | None:
    """Return the component whose descriptor a ModuleTemplate holds, None for templates without one.

    Nothing is fetched. Raise DescriptorError.
    """
    descriptor = embedded_descriptor(template)
    document = JsonReader(template.raw).child("spec").mapping("descriptor")
    if descriptor is None or document is None:
        return None
    location = ComponentLocation("", descriptor.name, descriptor.version)
    component = StoredComponent(location, "", descriptor, document, {}, "")
    resources = tuple(_resource(resource, {}) for resource in descriptor.resources)
    return ShownComponent(component, resources, (f"ModuleTemplate/{template.meta.name}",), repository_in(descriptor))


def component_facts(shown: ShownComponent, verdict: str = "not verified") -> list[tuple[str, str]]:
    """Return label and text of all that is known of a component but its resources, for people.

    `verdict` says of all signatures whether they are verified.
    """
    stored, descriptor = shown.component, shown.component.descriptor
    is_stored = bool(stored.digest)
    origin = f"{stored.location.repository}:{stored.location.tag}" if is_stored else f"in {shown.templates[0]}"
    signatures = [f"{signature.name} ({signature.algorithm}), {verdict}" for signature in descriptor.signatures]
    return [
        ("component", f"{descriptor.name}:{descriptor.version}"),
        ("provider", descriptor.provider),
        ("created", descriptor.creation_time or "unknown"),
        ("stored as", origin),
        *([("digest", stored.digest)] if is_stored else [("layers in", shown.repository or "unknown")]),
        *(
            ("label", f"{label.name}={_label_text(label.value)}{' (signed)' if label.signing else ''}")
            for label in descriptor.labels
        ),
        *(("source", f"{source.name} {(source.access or {}).get('repoUrl', '')}") for source in descriptor.sources),
        *(("refers to", f"{reference.component}:{reference.version}") for reference in descriptor.references),
        *(("template", template) for template in shown.templates if is_stored),
        *(("signature", signature) for signature in signatures or ["none"]),
    ]


def list_versions(store: ArtifactStore, location: ComponentLocation) -> list[str]:
    """Return the versions of a component, the newest first; tags of signatures are left out."""
    versions = (version for version in component_versions(store, location) if not _SIGNATURE_TAG.fullmatch(version))
    return sorted(versions, key=version_order, reverse=True)


def list_tags(store: ArtifactStore, repository: str) -> list[str]:
    """Return the tags of an image, the newest version first; tags of signatures are left out."""
    tags = (tag for tag in store.tags(repository) if not _SIGNATURE_TAG.fullmatch(tag))
    return sorted(tags, key=version_order, reverse=True)


def component_json(shown: ShownComponent) -> dict[str, Any]:
    """Return the component as data for scripts."""
    stored, descriptor = shown.component, shown.component.descriptor
    return {
        "name": descriptor.name,
        "version": descriptor.version,
        "provider": descriptor.provider,
        "schema": descriptor.schema,
        "created": descriptor.creation_time or None,
        "repository": stored.location.repository,
        "tag": stored.location.tag,
        "digest": stored.digest,
        "labels": {label.name: label.value for label in descriptor.labels},
        "repositoryContexts": [dict(context) for context in descriptor.contexts],
        "resources": [
            {
                "name": resource.name,
                "version": resource.version,
                "type": resource.type,
                "mediaType": resource.media_type or None,
                "place": resource.location,
                "size": resource.size,
                "digest": resource.digest or None,
            }
            for resource in shown.resources
        ],
        "sources": [
            {"name": source.name, "version": source.version, "access": source.access} for source in descriptor.sources
        ],
        "references": [
            {
                "name": reference.name,
                "component": reference.component,
                "version": reference.version,
                "digest": _digest(reference.digest) or None,
            }
            for reference in descriptor.references
        ],
        "signatures": [
            {
                "name": signature.name,
                "algorithm": signature.algorithm,
                "normalisation": signature.digest.normalisation_algorithm,
                "digest": _digest(signature.digest),
                "issuer": signature.issuer or None,
            }
            for signature in descriptor.signatures
        ],
        "templates": list(shown.templates),
    }


def _resource(resource: ComponentResource, sizes: Mapping[str, Any]) -> ShownResource:
    try:
        location = local_digest(resource) or image_of(resource)
    except KymatuiError:  # a broken access is displayed as such, next to the other resources
        location = ""
    access = resource.access or {}
    size = sizes.get(location)
    return ShownResource(
        resource.name,
        resource.version,
        resource.type,
        str(access.get("mediaType") or ""),
        location or access_kind(access) or "unknown",
        size if isinstance(size, int) else None,
        _digest(resource.digest),
    )


def _label_text(value: Any) -> str:
    """Return a label's value: a text as it is, others as JSON; whole numbers were read as floats."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _digest(digest: Digest | None) -> str:
    return f"{digest.hash_algorithm}:{digest.value}" if digest is not None else ""


def _templates(store: ContentStore, location: ComponentLocation) -> tuple[str, ...]:
    try:
        template = module_template(store, require_component(store, location))
    except KymatuiError:
        return ()  # components that are no modules have none
    return (f"{template.get('kind')}/{(template.get('metadata') or {}).get('name')}",)


# The content of a component's resources as text, for a screen; nothing of it is used for anything else.


LARGEST_BLOB: Final = 16 * 1024 * 1024  # bytes of a blob whose files are displayed
LONGEST_TEXT: Final = 1024 * 1024
"""Characters that are displayed."""


def descriptor_text(shown: ShownComponent) -> str:
    """Return the descriptor as it is stored, as YAML."""
    return _cut(dump_yaml(dict(shown.component.document)))


def resource_text(store: ContentStore, shown: ShownComponent, number: int) -> str:
    """Return the files of a blob, the manifest of an image, or the access of another resource, up to a limit.

    `number` is the place of the resource in the descriptor. Raise RegistryError, DescriptorError and SourceError.
    """
    resource = shown.component.descriptor.resources[number]
    name = resource.name
    if digest := local_digest(resource):
        if not shown.repository:
            raise RegistryError(f"the registry of {shown.component.location} is unknown")
        content = store.blob(shown.repository, digest, LARGEST_BLOB)
        return _cut("\n".join(_texts(content, f"{shown.component.location} {name}")))
    image = image_of(resource)
    if not image:
        return _cut(dump_yaml(dict(resource.access or {})))
    parsed = parse_image(image)
    if parsed is None:
        raise RegistryError(f"{name}: {image!r} is not an image reference")
    manifest = store.manifest(f"{parsed.registry}/{parsed.repository}", parsed.digest or parsed.tag or "latest")
    if manifest is None:
        raise RegistryError(f"image {image} does not exist")
    try:
        return _cut(json.dumps(read_json(manifest[0]), indent=2, ensure_ascii=False))
    except ValueError as error:
        raise RegistryError(f"image {image}: the manifest is not JSON") from error


def _texts(content: bytes, where: str) -> Iterator[str]:
    plain = unpack(content, where)
    if not is_tar(plain):
        yield _readable(plain)
        return
    files: Mapping[str, bytes] = read_tar(plain, where)
    for name, body in files.items():
        if len(files) > 1:
            yield f"# {name} ({len(body)} bytes)"
        yield _readable(body)


def _readable(body: bytes) -> str:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"# binary, {len(body)} bytes"
    if "\0" in text:
        return f"# binary, {len(body)} bytes"
    return text


def _cut(text: str) -> str:
    rest = len(text) - LONGEST_TEXT
    return text if rest <= 0 else f"{text[:LONGEST_TEXT]}\n# … {rest} more characters; `kymatui bundle pull` writes all"
