"""The objects of a fleet that decide which module versions its runtimes get."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import is_not
from typing import Final

from msgspec import Struct, field

from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.fleet.manifest_summary import ManifestSummary
from kymatui.domain.kubernetes.json_reader import objects_at
from kymatui.domain.kubernetes.label_selectors import is_label_value
from kymatui.domain.kubernetes.object_meta import (
    LABEL_MANDATORY,
    LABEL_MODULE_NAME,
    LABEL_SKIP,
    MalformedObject,
    read_ref,
)
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.template_index import index_templates, mandatory_metas
from kymatui.domain.remote.kyma_sync import with_requests
from kymatui.domain.snapshot.snapshots import Object

KYMA: Final = "Kyma"
TEMPLATE: Final = "ModuleTemplate"
RELEASE_META: Final = "ModuleReleaseMeta"
CATALOG_KINDS: Final = (TEMPLATE, RELEASE_META)
CatalogKey = tuple[str, str, str]
"""Kind, namespace and name of an object of the catalog."""
_ReadKyma = tuple[Object, RuntimeKey, Object | MalformedObject]
"""A Kyma, its key, and what is read from it. Holding the object keeps its id from being used again."""


class FleetObjects(Struct, frozen=True):
    """The objects of a control plane, or of a single cluster with its one Kyma.

    `kymas` have the spec that lifecycle-manager works with, which for a runtime is its own Kyma's. `settings` are
    lifecycle-manager's, by namespace. `manifests` are those that a forecast depends on, or all of them. `malformed` are
    Kymas whose modules are unknown.
    """

    cluster: str = ""
    kymas: Mapping[RuntimeKey, Object] = field(default_factory=dict)
    catalog: Mapping[CatalogKey, Object] = field(default_factory=dict)
    settings: Mapping[str, ControllerSettings] = field(default_factory=dict)
    malformed: tuple[MalformedObject, ...] = ()
    taken_at: float = 0.0
    manifests: Mapping[RuntimeKey, tuple[ManifestSummary, ...]] = field(default_factory=dict)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Return the namespaces of Kymas, and without Kymas those of the catalog."""
        return tuple(sorted({key[0] for key in self.kymas} or {key[1] for key in self.catalog}))

    def settings_of(self, namespace: str) -> ControllerSettings:
        return self.settings.get(namespace) or ControllerSettings()


class FleetObjectsBuilder:
    """Builds a fleet's objects again and again: what is built from the same object stays the same object.

    Use it from one thread.
    """

    def __init__(self) -> None:
        self._kymas: dict[int, _ReadKyma] = {}
        self._listed: tuple[Object, ...] = ()
        self._catalog: Mapping[CatalogKey, Object] = {}

    def build(
        self,
        cluster: str,
        kymas: Iterable[Object],
        catalog: Iterable[Object],
        settings: Mapping[str, ControllerSettings],
        taken_at: float,
    ) -> FleetObjects:
        """Return the objects by key; `taken_at` is in seconds of the Unix clock."""
        usable: dict[RuntimeKey, Object] = {}
        malformed = []
        known: dict[int, _ReadKyma] = {}
        for raw in kymas:
            _, key, kyma = known[id(raw)] = self._kymas.get(id(raw)) or _read(raw)
            if isinstance(kyma, MalformedObject):
                malformed.append(kyma)
            else:
                usable[key] = kyma
        self._kymas = known
        listed = tuple(catalog)
        if not self._catalog or len(listed) != len(self._listed) or any(map(is_not, listed, self._listed)):
            self._listed, self._catalog = listed, {catalog_key(raw): raw for raw in listed}
        return FleetObjects(cluster, usable, self._catalog, settings, tuple(malformed), taken_at)


class ManifestChoice(Struct, frozen=True):
    """The Manifests that a forecast depends on: a fleet has tens of thousands.

    Those with the skip label, whose modules do not change; those of `modules`, whose versions nothing else tells; and
    those that are left of modules that were mandatory: `mandatory` are today's.
    """

    modules: frozenset[str]
    mandatory: frozenset[str]

    @property
    def selectors(self) -> tuple[str, ...]:
        """Return the label selectors that list them."""
        others = f",{LABEL_MODULE_NAME} notin ({','.join(sorted(self.mandatory))})" if self.mandatory else ""
        named = (f"{LABEL_MODULE_NAME} in ({','.join(sorted(self.modules))})",) if self.modules else ()
        return (f"{LABEL_SKIP}=true", f"{LABEL_MANDATORY}=true{others}", *named)

    def covers(self, manifest: ManifestSummary) -> bool:
        left = manifest.mandatory and manifest.module not in self.mandatory
        return manifest.skipped or left or manifest.module in self.modules


def manifest_choice(fleet: FleetObjects) -> ManifestChoice:
    """Return the Manifests that a forecast of a fleet depends on.

    A module that lost its template is reported without a version. Mandatory modules are in no report, and the catalog
    does not say what is installed where one of them lacks its template.
    """
    modules: set[str] = set()
    always: set[str] = set()
    for raw in fleet.kymas.values():
        modules.update(_undisclosed(raw))
    for namespace in fleet.namespaces:
        catalog = [raw for key, raw in fleet.catalog.items() if key[1] == namespace]
        templates, metas = ([raw for raw in catalog if raw.get("kind") == kind] for kind in CATALOG_KINDS)
        index = index_templates(templates, metas, namespace)
        mandatory = {meta.meta.name: f"{meta.meta.name}-{meta.mandatory_version}" for meta in mandatory_metas(index)}
        always |= mandatory.keys()
        if any((namespace, name) not in index.by_name for name in mandatory.values()):
            modules |= mandatory.keys()
    # no label has any other name, so that nothing is installed under it, and a server rejects a selector with it
    return ManifestChoice(frozenset(filter(is_label_value, modules)), frozenset(filter(is_label_value, always)))


def _undisclosed(raw: Object) -> Iterator[str]:
    """Yield the modules whose version a Kyma does not report; it is read as it is, because a fleet has thousands."""
    reported = {str(entry.get("name")): bool(entry.get("version")) for entry in objects_at(raw, "status", "modules")}
    yield from (name for name, has_version in reported.items() if not has_version)
    yield from (
        name for entry in objects_at(raw, "spec", "modules") if (name := str(entry.get("name"))) not in reported
    )


def _read(raw: Object) -> _ReadKyma:
    kyma = read_kyma(raw)
    return raw, (kyma.ref.namespace, kyma.ref.name), with_requests(kyma) if isinstance(kyma, Kyma) else kyma


def build_fleet_objects(
    cluster: str,
    kymas: Iterable[Object],
    catalog: Iterable[Object],
    settings: Mapping[str, ControllerSettings],
    taken_at: float,
) -> FleetObjects:
    """Return the objects by key; `taken_at` is in seconds of the Unix clock."""
    return FleetObjectsBuilder().build(cluster, kymas, catalog, settings, taken_at)


def catalog_key(raw: Object) -> CatalogKey:
    ref = read_ref(raw)
    return ref.kind.kind, ref.namespace, ref.name
