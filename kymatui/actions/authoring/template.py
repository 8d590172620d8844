"""The template of a component version in a registry: the one that it carries, else one from its descriptor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kymatui.actions.authoring.release import ReleaseRequest, release_objects
from kymatui.actions.bundle.stored_components import StoredComponent, require_component
from kymatui.domain.kubernetes.json_reader import text_at
from kymatui.engine.authoring.module_component import DEFAULT_CR, MODULE_TEMPLATE, repository_context
from kymatui.engine.authoring.module_manifest import read_default_cr
from kymatui.engine.authoring.module_template import (
    API_VERSION,
    BETA,
    CLUSTER_SCOPED,
    INTERNAL,
    MODULE_NAME,
    REQUIRES_DOWNTIME,
    legacy_template,
)
from kymatui.engine.bundles.yaml_objects import read_objects
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.artifact_store import ContentStore
from kymatui.engine.sources.oci_layers import raw_manifest
from kymatui.errors import RegistryError
from kymatui.ocm import check_content
from kymatui.ocm.component_location import ComponentLocation
from kymatui.ocm.module_layers import TAR_TYPES, access_kind

LARGEST_TEMPLATE: Final = 4 * 1024 * 1024  # bytes of a local blob that has a template or a default CR


def component_templates(
    store: ContentStore,
    location: ComponentLocation,
    release: ReleaseRequest | None = None,
    *,
    scheme: str = "",
) -> list[Object]:
    """Return the ModuleTemplate of a component version, and the ModuleReleaseMeta of a release.

    A legacy release has one template of the older generation for each channel. Raise RegistryError, SignatureError,
    ConfigurationError, DescriptorError and SourceError.
    """
    release = release or ReleaseRequest()
    found = require_component(store, location)
    template = module_template(store, found)
    if release.legacy:
        document = with_context(found.document, found.location, scheme)
        return [legacy_template(template, document, channel) for channel in release.channels]
    return [template, *release_objects(release, location.name, location.version)]


def module_template(store: ContentStore, found: StoredComponent, *, signed: bool = False) -> Object:
    """Return the ModuleTemplate of a component: the one that it carries, else one from its descriptor.

    With `signed`, every resource that is read needs a digest in the descriptor, whose signature the caller verified.
    Raise RegistryError, SignatureError and SourceError.
    """
    return _carried(store, found, signed=signed) or _derived(store, found, signed=signed)


def _carried(store: ContentStore, found: StoredComponent, *, signed: bool) -> Object | None:
    """Return the template among the resources, None in components of older tools."""
    content = _content(store, found, MODULE_TEMPLATE, signed=signed)
    if content is None:
        return None
    where = f"{found.location}: resource {MODULE_TEMPLATE}"
    objects = [one for one in read_objects(content, where) if one["kind"] == "ModuleTemplate"]
    if len(objects) != 1 or not isinstance(objects[0].get("spec"), dict):
        raise RegistryError(f"{where} is not a ModuleTemplate")
    return objects[0]


def _derived(store: ContentStore, found: StoredComponent, *, signed: bool) -> Object:
    """Return a template with what a descriptor knows: names, flags, sources and default CR."""
    descriptor = found.descriptor
    name = descriptor.name.rpartition("/")[2]
    content = _content(store, found, DEFAULT_CR, signed=signed)
    custom_resource = read_default_cr(content, str(found.location)) if content is not None else None
    sources = [one.access.get("repoUrl") for one in descriptor.sources if one.access]
    labels = {label: "true" for label in (BETA, INTERNAL) if descriptor.label(label) == "true"}
    scoped = "true" if descriptor.label(CLUSTER_SCOPED) == "true" else "false"
    spec: dict[str, Any] = {
        "moduleName": name,
        "version": descriptor.version,
        "requiresDowntime": descriptor.label(REQUIRES_DOWNTIME) == "true",
        **({"info": {"repository": sources[0], "documentation": sources[0]}} if sources and sources[0] else {}),
        **({"data": custom_resource} if custom_resource else {}),
        "descriptor": {},
    }
    metadata = {
        "name": f"{name}-{descriptor.version}",
        "labels": {MODULE_NAME: name, **labels},
        "annotations": {CLUSTER_SCOPED: scoped},
    }
    return {"apiVersion": API_VERSION, "kind": "ModuleTemplate", "metadata": metadata, "spec": spec}


def _content(store: ContentStore, found: StoredComponent, name: str, *, signed: bool) -> bytes | None:
    """Return the text of a local blob, checked against the digest in the descriptor; None without such a resource."""
    resource = found.descriptor.resource(name)
    if resource is None or access_kind(resource.access) != "localBlob":
        return None
    digest, media_type = (text_at(resource.access or {}, field) for field in ("localReference", "mediaType"))
    content = store.blob(found.location.repository, digest, LARGEST_TEMPLATE)
    if signed or (resource.digest is not None and not resource.digest.is_excluded):
        check_content(resource, content)
    return raw_manifest(content, f"{found.location}: resource {name}", archive=media_type.endswith(TAR_TYPES))


def with_context(source: Mapping[str, Any], location: ComponentLocation, scheme: str) -> Object:
    """Return a document with the place where it is; after a plain copy it still names the old one."""
    own = repository_context(location, scheme)
    document = dict(source)
    holder = dict(document["component"]) if isinstance(document.get("component"), dict) else document
    contexts = [one for one in holder.get("repositoryContexts") or [] if isinstance(one, dict)]
    if location.base and (not contexts or contexts[-1] != own):
        holder["repositoryContexts"] = [*contexts, own]
    return {**document, "component": holder} if holder is not document else document
