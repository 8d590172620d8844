"""Create a module: build it, publish its component, write template and constructor.

The template of a component version in a registry: the one that it carries, else one from its descriptor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.components.component_template import module_template
from kymatui.actions.components.stored_components import Publication, publish, require_component
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.artifact_store import ArtifactStore, ContentStore
from kymatui.ocm.component_location import ComponentLocation, NameMapping
from kymatui.publishing.disk_sources import DiskSources
from kymatui.publishing.module_build import BuildRequest, BuiltModule, build_module
from kymatui.publishing.module_component import repository_context
from kymatui.publishing.module_template import legacy_template, to_yaml
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


class Destination(Struct, frozen=True):
    """Where a component is published; `base` is "" for a layout, `plain` means without TLS."""

    store: ArtifactStore
    base: str = ""
    mapping: NameMapping = NameMapping.URL_PATH
    plain: bool = False

    def location(self, name: str, version: str) -> ComponentLocation:
        return ComponentLocation(self.base, name, version, self.mapping)

    @property
    def scheme(self) -> str:
        return "http://" if self.plain else ""


class CreateRequest(Struct, frozen=True):
    """What to create; `overwrite` replaces a version with other content."""

    build: BuildRequest
    release: ReleaseRequest = ReleaseRequest()
    overwrite: bool = False


class CreatedModule(Struct, frozen=True):
    """What was created: the module, the files that were written, and the publication if there is a destination."""

    module: BuiltModule
    files: tuple[str, ...]
    publication: Publication | None = None


def create_module(request: CreateRequest, sources: DiskSources, destination: Destination | None) -> CreatedModule:
    """Build a module, publish it, then write its files. Raise ConfigurationError, RefusedError, RegistryError."""
    build = replace(request.build, constructor=request.build.constructor or "component-constructor.yaml")
    module = build_module(build, sources)
    template = to_yaml(templates(request.release, module, _document(module, destination)))
    publication = None
    if destination is not None:
        publication = publish_module(module, destination, overwrite=request.overwrite)
    files = {request.build.template: template}
    if request.build.constructor:
        files |= {path: content.decode("utf-8", "replace") for path, content in module.saved.items()}
        files[request.build.constructor] = module.constructor
    for path, text in files.items():
        sources.write(path, text)
    return CreatedModule(module, tuple(files), publication)


def publish_module(module: BuiltModule, destination: Destination, *, overwrite: bool = False) -> Publication:
    """Publish the component of a module. Raise RefusedError for a version with other content, and RegistryError."""
    location = destination.location(module.config.name, module.config.version)
    document = _document(module, destination)
    return publish(destination.store, location, document, module.blobs, module.layers, overwrite=overwrite)


def _document(module: BuiltModule, destination: Destination | None) -> Object:
    """Return the descriptor's document, with the registry that it is for."""
    if destination is None:
        return module.document(None)
    location = destination.location(module.config.name, module.config.version)
    return module.document(location if location.base else None, destination.scheme)


def templates(release: ReleaseRequest, module: BuiltModule, document: Object) -> list[Object]:
    """Return the objects of the template's file."""
    config = module.config
    if release.legacy:
        rules = [
            {"jsonPath": rule.path, "value": rule.value, "mappedState": rule.mapped_state}
            for rule in config.state_checks
        ]
        extra = {"customStateCheck": rules, "mandatory": config.mandatory}
        return [legacy_template(module.template, document, channel, extra) for channel in release.channels]
    return [module.template, *release_objects(release, config.name, config.version)]
