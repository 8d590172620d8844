"""Direct installations for front ends: from what a person names to a bundle, and to what is installed already."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.installed import deletion_command, install_command
from kymatui.domain.inventories import Inventory, inventory_name
from kymatui.domain.kubernetes.refs import CONFIG_MAP, SECRET
from kymatui.domain.kubernetes.schema_forms import overrides
from kymatui.domain.kyma.manifests import default_resource, default_resource_body
from kymatui.errors import ConfigurationError, RefusedError

if TYPE_CHECKING:
    from kymatui.domain.plans.direct_install import InstallChoice
    from kymatui.engine.bundles.bundle import Bundle
    from kymatui.engine.cluster.ports import Blobs, Cluster
    from kymatui.engine.sources.chart_source import LoadedChart
    from kymatui.helm.charts.values import ValuesText
    from kymatui.ocm.component_location import ComponentLocation

_OWN = "app.kubernetes.io/managed-by=kymatui"


class ModuleSource(Struct, frozen=True):
    """The source, where that is not a template of the catalog: at most one of file, chart, kustomization and component.

    component     a component version in a registry, or in the OCI image layout of the folder `layout`
    keeps_values   merge the values into those of the chart's release, as `helm upgrade --reset-then-reuse-values`
    checks_values  refuse values that the chart's schema does not allow
    follows_links  follow links of a chart's folder that lead out of its repository
    """

    file: str = ""
    chart: str = ""
    kustomization: str = ""
    component: ComponentLocation | None = None
    layout: str = ""
    repository: str = ""
    version: str = ""
    value_files: tuple[str | ValuesText, ...] = ()
    set: tuple[str, ...] = ()
    set_string: tuple[str, ...] = ()
    set_json: tuple[str, ...] = ()
    set_file: tuple[str, ...] = ()
    set_literal: tuple[str, ...] = ()
    keeps_values: bool = True
    checks_values: bool = True
    follows_links: bool = False

    @property
    def is_catalog(self) -> bool:
        """Return whether the catalog says what is installed."""
        return not self._named

    @property
    def _named(self) -> tuple[object, ...]:
        return tuple(source for source in (self.file, self.chart, self.kustomization, self.component) if source)

    def require_one(self) -> None:
        """Raise ConfigurationError unless exactly one source is named."""
        if len(self._named) != 1:
            raise ConfigurationError("exactly one source is needed: a file, a chart, a kustomization or a component")

    @property
    def has_values(self) -> bool:
        """Return whether values of a chart are given."""
        flags = (self.value_files, self.set, self.set_string, self.set_json, self.set_file, self.set_literal)
        return any(flags)


def load_bundle(
    name: str,
    namespace: str,
    source: ModuleSource,
    blobs: Blobs,
    cluster: Cluster,
    *,
    chart: LoadedChart | None = None,
    values: dict[str, Any] | None = None,
) -> Bundle:
    """Return what a named source consists of; `chart` where it was loaded already, `values` are all that it shall have.

    Raises ConfigurationError, RegistryError and HelmError.
    """
    source.require_one()
    if source.chart:
        loaded = chart or located_chart(source, blobs)
        own = overrides(values, loaded.chart.values) if values is not None else None
        return _chart(name, namespace, source, loaded, cluster, own)
    bundle = _read(name, namespace, source, blobs)
    if not bundle.objects:
        address = source.kustomization or bundle.origin.address
        raise ConfigurationError(f"{address} has no objects", hint="to remove what is installed, use `kymatui delete`")
    return bundle


def located_chart(source: ModuleSource, blobs: Blobs) -> LoadedChart:
    """Return the chart that a source names. Raises HelmError, RegistryError."""
    from kymatui.engine.sources import chart_source

    return chart_source.locate_chart(
        source.chart, blobs, repository=source.repository, version=source.version, links_out=source.follows_links
    )


def _read(name: str, namespace: str, source: ModuleSource, blobs: Blobs) -> Bundle:
    from kymatui.engine.bundles.addresses import archive_path

    path, folder = archive_path(source.kustomization or source.file)
    if source.kustomization:
        from kymatui.engine.sources.render_target import from_address, from_path

        if "://" in source.kustomization:
            return from_address(source.kustomization, blobs, name=name, namespace=namespace)
        return from_path(path, name=name, namespace=namespace, folder=folder)
    from kymatui.engine.bundles import yaml_objects

    if "://" in source.file:
        return yaml_objects.from_url(source.file, blobs, name=name, namespace=namespace)
    return yaml_objects.from_path(path, name=name, namespace=namespace, recursive=True, folder=folder)


def _chart(
    name: str,
    namespace: str,
    source: ModuleSource,
    loaded: LoadedChart,
    cluster: Cluster,
    values: dict[str, Any] | None,
) -> Bundle:
    from kymatui.engine.sources import chart_source
    from kymatui.engine.sources.render_target import chart_target

    known = find_installed(cluster, name, namespace)
    if values is None:
        values = chart_source.updated_values(
            release_values(cluster, known) if source.keeps_values else {},
            value_files=source.value_files,
            set=source.set,
            set_string=source.set_string,
            set_json=source.set_json,
            set_file=source.set_file,
            set_literal=source.set_literal,
        )
    target = chart_target(cluster, installed=known is not None, revision=(known.revision if known else 0) + 1)
    return chart_source.chart_bundle(
        loaded, name=name, namespace=namespace, values=values, target=target, check_schema=source.checks_values
    )


def release_values(cluster: Cluster, known: Inventory | None) -> dict[str, Any]:
    """Return the values that a chart's release was given, {} where nothing was, or it is no chart."""
    from kymatui.engine.inventory.release_store import ReleaseStore

    if known is None or not known.chart:
        return {}
    return ReleaseStore(cluster, known.name, known.namespace, time.time).values()


def catalog_bundle(choice: InstallChoice, blobs: Blobs) -> Bundle:
    """Return what a template of the catalog consists of: its raw manifest, and its default resource."""
    from kymatui.engine.bundles import yaml_objects

    template = choice.template
    bundle = yaml_objects.from_url(choice.address, blobs, name=template.module, namespace=choice.namespace)
    resource: dict[str, Any] | None = None
    if template.data:
        resource = default_resource_body(template.data, default_resource(template.data, template.module))
    origin = replace(bundle.origin, version=template.version)
    return replace(bundle, version=template.version, resource=resource, origin=origin)


def find_installed(cluster: Cluster, name: str, namespace: str = "") -> Inventory | None:
    """Return the installation of a name in a namespace, "" for any. Raise RefusedError if several have it."""
    known = find_installations(cluster, name, namespace)
    if len(known) > 1:
        namespaces = ", ".join(inventory.namespace for inventory in known)
        raise RefusedError(f"{name} is installed in several namespaces: {namespaces}", hint="choose one with -n")
    return known[0] if known else None


def find_installations(cluster: Cluster, name: str, namespace: str = "") -> tuple[Inventory, ...]:
    """Return all installations of a name, by namespace: those of kymatui, and Helm releases."""
    from kymatui.engine.inventory.release_store import read_inventory
    from kymatui.engine.jobs.run import SystemClock

    namespaces = [namespace] if namespace else sorted(set(_places(cluster, name)))
    candidates = (read_inventory(cluster, SystemClock(), name, home) for home in namespaces)
    return tuple(inventory for inventory in candidates if inventory is not None)


def refuse_deleting(known: Inventory | None) -> None:
    """Raise RefusedError for what an interrupted deletion is still to delete: an upgrade would bring it back."""
    if known is not None and known.is_deleting:
        raise RefusedError(
            "its deletion was interrupted",
            hint=f"run `{deletion_command(known.name, known.namespace)}` to complete it, "
            f"or `{install_command(known)}` to install it again",
        )


def inventories(cluster: Cluster) -> list[tuple[str, str]]:
    """Return namespace and name of each installation of kymatui, except those of charts."""
    start = inventory_name("")
    metadata = [raw["metadata"] for raw in cluster.list(CONFIG_MAP, labels=_OWN)]
    names = [
        (str(meta["namespace"]), str(meta["name"]).removeprefix(start)) for meta in metadata if meta["name"] != start
    ]
    return sorted((namespace, name) for namespace, name in names if name)


def _places(cluster: Cluster, name: str) -> Iterator[str]:
    """Yield the namespaces with an inventory, or a Helm release, of that name."""
    for raw in cluster.list(CONFIG_MAP, labels=_OWN):
        if raw["metadata"]["name"] == inventory_name(name):
            yield str(raw["metadata"]["namespace"])
    for kind in (SECRET, CONFIG_MAP):
        for raw in cluster.list(kind, labels=f"owner=helm,name={name}"):
            yield str(raw["metadata"]["namespace"])
