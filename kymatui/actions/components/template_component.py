"""Where the component of a ModuleTemplate is: templates of the current generation hold no descriptor.

lifecycle-manager reads it from a registry that only its own command line names. Its Manifests name the repositories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kyma.manifests import ImageSpec, Manifest, read_manifest
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.errors import ConfigurationError
from kymatui.ocm import ComponentDescriptor, DescriptorError, read_descriptor
from kymatui.ocm.component_location import COMPONENTS, ComponentLocation, check_name, check_version


def embedded_descriptor(template: ModuleTemplate) -> ComponentDescriptor | None:
    """Return the descriptor that the template holds, None for templates without one. Raise DescriptorError."""
    document = JsonReader(template.raw).child("spec").mapping("descriptor")
    if not document:
        return None
    try:
        return read_descriptor(document)
    except DescriptorError as error:
        raise DescriptorError(f"{template.ref}: {error}", hint=error.hint) from error


def component_name(template: ModuleTemplate, templates: TemplateIndex) -> str:
    """Return the component that the template or its module's ModuleReleaseMeta names, "" if none does."""
    meta = templates.meta(template.module)
    return template.component or (meta.component if meta is not None else "")


def template_location(
    template: ModuleTemplate, templates: TemplateIndex, manifests: Iterable[Mapping[str, Any]], registry: str = ""
) -> ComponentLocation:
    """Return where the component of a template must be. Raise ConfigurationError if its name or registry is unknown.

    manifests  the cluster's Manifests, whose layers are beside their descriptors
    registry   HOST[:PORT][/PATH] that a person named, which has precedence
    """
    name = component_name(template, templates)
    if not name:
        raise ConfigurationError(
            f"{template.ref} names no component, and the ModuleReleaseMeta of {template.module} has no ocmComponentName"
        )
    check_name(name)
    check_version(template.version)
    base = registry.rpartition("://")[2].strip("/") or manifest_registry(manifests, name)
    if not base:
        raise ConfigurationError(
            f"the registry of {name} is unknown",
            hint="use --registry HOST[:PORT][/PATH], or set `registry` in the configuration",
        )
    return ComponentLocation(base, name, template.version)


def manifest_registry(manifests: Iterable[Mapping[str, Any]], component: str) -> str:
    """Return the registry of a component by the cluster's Manifests: its own, else the one that all others share.

    "" if no Manifest names one, or if they differ.
    """
    bases: dict[str, str] = {}
    for raw in manifests:
        manifest = read_manifest(raw)
        for install in manifest.installs if isinstance(manifest, Manifest) else ():
            if isinstance(install.source, ImageSpec):
                # "BASE/component-descriptors" with the component's name beside it, or both in one
                path = install.source.repo.rpartition("://")[2].rstrip("/")
                base, middle, name = f"{path}/".partition(f"/{COMPONENTS}/")
                if base and middle:
                    bases[name.rstrip("/") or install.source.name] = base
    if component in bases:
        return bases[component]
    others = set(bases.values())
    return others.pop() if len(others) == 1 else ""
