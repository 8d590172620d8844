"""Modules from a component in a registry or an image layout: template, layers and newer versions.

The template is the one that `kymatui bundle template` prints; what is installed comes from the layers beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.components.component_template import module_template
from kymatui.actions.components.stored_components import StoredComponent, component_versions, require_component
from kymatui.actions.modules.module_sources import ModuleSource, find_installed
from kymatui.actions.modules.signatures import SignatureOptions, only_bundle, read_trust, require_offered
from kymatui.domain.inventories import COMPONENT, Inventory, Origin
from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.manifests import default_resource, default_resource_body
from kymatui.domain.kyma.module_templates import read_template
from kymatui.domain.kyma.versions import newest_above
from kymatui.domain.plans.direct_install import InstallChoice
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import Cluster, FetchedChart
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.engine.sources.component_source import ModuleComponent
from kymatui.engine.sources.render_target import chart_target
from kymatui.errors import RefusedError, RegistryError, UsageError
from kymatui.ocm.component_location import ComponentLocation, parse_location
from kymatui.ocm.errors import DescriptorError
from kymatui.ocm.module_layers import repository

LARGEST_LAYER: Final = 32 * 1024 * 1024  # bytes of a layer that is parsed for its objects
_LAYOUT: Final = "layout:"


class InstallableComponent(Struct, frozen=True):
    """What a component installs, and the kinds whose objects its users create."""

    bundle: Bundle
    associated: tuple[GroupVersionKind, ...]


def read_component(
    name: str,
    namespace: str,
    source: ModuleSource,
    store: ArtifactStore,
    cluster: Cluster,
    signers: SignatureOptions | None,
) -> InstallableComponent:
    """Return what a component installs; with `signers`, nothing of it is read before its signature is verified.

    Raise UsageError if it is another module than `name`, RegistryError, DescriptorError, SignatureError, SourceError
    and HelmError.
    """
    location = source.component
    assert location is not None
    if source.version:
        raise UsageError(f"{location} has a version already", hint="leave out --version")
    trust = read_trust(signers) if signers is not None else None
    stored = require_component(store, location)
    base = location.base or "layout"  # the layers are where the descriptor is, whatever place it names
    blobs = _StoredLayers(store, stored, repository(stored.descriptor, base))
    component = ModuleComponent(stored.descriptor, blobs, registry=base, trust=trust)
    template = read_template(module_template(store, stored, signed=trust is not None))
    if isinstance(template, MalformedObject):
        raise RegistryError(f"{location}: its template is unusable: {template.reason}")
    if template.module != name:
        raise UsageError(f"{location} is module {template.module}, not {name}", hint=f"use the name {template.module}")
    manager = template.manager.namespace if template.manager is not None else ""
    target_namespace = namespace or manager or KYMA_NAMESPACE
    target = None
    if component.layers.charts:
        known = find_installed(cluster, name, target_namespace)
        target = chart_target(cluster, installed=known is not None, revision=(known.revision if known else 0) + 1)
    built = only_bundle(component, target_namespace, str(location), target)
    resource = built.resource
    if template.data:
        resource = default_resource_body(template.data, default_resource(template.data, name))
    origin = Origin(COMPONENT, _address(location, source.layout), location.version, stored.digest)
    bundle = replace(built, name=name, version=location.version, resource=resource, origin=origin)
    return InstallableComponent(bundle, template.associated)


def signed_catalog_module(
    choice: InstallChoice, location: ComponentLocation, store: ArtifactStore, signers: SignatureOptions
) -> Bundle:
    """Return a module of the catalog from the layers of its component in a registry, each as it was signed.

    Nothing but the descriptor is read before its signature is verified. Raise SignatureError, RegistryError,
    DescriptorError and SourceError.
    """
    trust = read_trust(signers)
    component = require_component(store, location)
    require_offered(choice.template, component.descriptor)
    blobs = _StoredLayers(store, component, repository(component.descriptor, location.base))
    module = ModuleComponent(component.descriptor, blobs, registry=location.base, trust=trust)
    bundle = only_bundle(module, choice.namespace, str(location))
    return replace(bundle, name=choice.template.module, version=choice.template.version)


class _StoredLayers:
    """Implements `Blobs` for the layers of one component; it fetches nothing else."""

    def __init__(self, store: ArtifactStore, component: StoredComponent, named: str) -> None:
        self._store, self._where, self._named = store, component.location, named

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        local = repository == self._named or not self._where.base
        return self._store.blob(self._where.repository if local else repository, digest, LARGEST_LAYER)

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> FetchedChart:
        raise RegistryError(f"chart {reference} is not in {self._where}")

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        raise RegistryError(f"chart {reference} is not in {self._where}")

    def url(self, address: str) -> bytes:
        raise RegistryError(f"{address} is not in {self._where}")


def newest_component(
    known: Inventory, artifacts: Callable[[str], ArtifactStore], *, version: str = "", devel: bool = False
) -> ModuleSource:
    """Return the source of `version`, or of the newest one in the place that an installation came from.

    Without a newer version it is the installed one. Raise RefusedError for a folder of the installing machine,
    RegistryError if the registry does not answer.
    """
    address = known.origin.address
    if address.startswith(_LAYOUT):
        raise RefusedError(
            f"it came from {address}, a folder on the machine where it was installed",
            hint=f"run `kymatui upgrade {known.name} --component REFERENCE`",
        )
    try:
        location = parse_location(address)
    except DescriptorError as error:
        raise RefusedError(f"its recorded source cannot be read: {error}") from error
    chosen_version = version
    if not version:
        offered = component_versions(artifacts(""), location)
        chosen_version = newest_above(known.version, offered, devel=devel) or known.version
    return ModuleSource(component=replace(location, version=chosen_version))


def _address(location: ComponentLocation, layout: str) -> str:
    return f"{_LAYOUT}{layout}//{location}" if layout else str(location)
