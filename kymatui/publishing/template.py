"""The template of a component version in a registry: the one that it carries, else one from its descriptor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kymatui.actions.components.component_template import module_template
from kymatui.actions.components.stored_components import require_component
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.artifact_store import ContentStore
from kymatui.ocm.component_location import ComponentLocation
from kymatui.publishing.module_component import repository_context
from kymatui.publishing.module_template import legacy_template
from kymatui.publishing.release import ReleaseRequest, release_objects


def component_templates(
    store: ContentStore, location: ComponentLocation, release: ReleaseRequest | None = None, *, scheme: str = ""
) -> list[Object]:
    """Return the ModuleTemplate of a component version, and the ModuleReleaseMeta of a release.

    A legacy release has one template of the older generation for each channel. Raise RegistryError, SignatureError,
    ConfigurationError, DescriptorError and SourceError.
    """
    release = release or ReleaseRequest()
    component = require_component(store, location)
    template = module_template(store, component)
    if release.legacy:
        document = with_context(component.document, component.location, scheme)
        return [legacy_template(template, document, channel) for channel in release.channels]
    return [template, *release_objects(release, location.name, location.version)]


def with_context(source: Mapping[str, Any], location: ComponentLocation, scheme: str) -> Object:
    """Return a document with the place where it is; after a plain copy it still names the old one."""
    own = repository_context(location, scheme)
    document = dict(source)
    holder = dict(document["component"]) if isinstance(document.get("component"), dict) else document
    contexts = [context for context in holder.get("repositoryContexts") or [] if isinstance(context, dict)]
    if location.base and (not contexts or contexts[-1] != own):
        holder["repositoryContexts"] = [*contexts, own]
    return {**document, "component": holder} if holder is not document else document
