"""A change of a fleet's objects: catalog, Kymas, and lifecycle-manager's settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import mapping_at
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, WindowPolicy
from kymatui.domain.kyma_edit.label_effects import Labels, with_labels
from kymatui.domain.remote.catalog_sync import name_key
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.whatif.fleet_objects import KYMA, CatalogKey, FleetObjects, catalog_key


class CatalogChange(Struct, frozen=True):
    """A change.

    objects     new or changed ModuleReleaseMetas, ModuleTemplates and Kymas, each with its namespace
    deleted     the ModuleReleaseMetas and ModuleTemplates that are deleted
    labels      labels for all Kymas
    windows     another maintenance policy; None: as it is
    restricted  other restricted modules; None: as they are
    """

    objects: tuple[Object, ...] = ()
    deleted: frozenset[CatalogKey] = frozenset()
    labels: Labels = field(default_factory=dict)
    windows: WindowPolicy | None = None
    restricted: frozenset[str] | None = None

    @property
    def kymas(self) -> tuple[Object, ...]:
        return tuple(raw for raw in self.objects if raw.get("kind") == KYMA)


def apply_change(fleet: FleetObjects, change: CatalogChange) -> FleetObjects:
    """Return the fleet after the change; catalog objects are replaced, Kymas keep what the change does not name."""
    catalog = {key: raw for key, raw in fleet.catalog.items() if key not in change.deleted}
    catalog |= {catalog_key(raw): raw for raw in change.objects if raw.get("kind") != KYMA}
    kymas = dict(fleet.kymas)
    for raw in change.kymas:
        key = name_key(raw)
        kymas[key] = _changed_kyma(kymas.get(key), raw)
    if change.labels:
        kymas = {key: with_labels(raw, change.labels) for key, raw in kymas.items()}
    settings = _changed_settings(fleet.settings, {key[0] for key in kymas}, change)
    return replace(fleet, catalog=catalog, kymas=kymas, settings=settings)


def without_other_kymas(change: CatalogChange, fleet: FleetObjects) -> CatalogChange:
    """Return the change of a part of a fleet: Kymas that are not in the part are left out."""
    kept = tuple(raw for raw in change.objects if raw.get("kind") != KYMA or name_key(raw) in fleet.kymas)
    return replace(change, objects=kept)


def _changed_kyma(before: Object | None, change: Object) -> Object:
    """Return a Kyma with the labels and the fields of the spec that a document has; `spec.modules` is replaced whole.

    A document's status is ignored: lifecycle-manager writes it.
    """
    if before is None:
        before = {key: value for key, value in change.items() if key != "status"}
    labels = mapping_at(change, "metadata", "labels")
    return with_labels({**before, "spec": {**mapping_at(before, "spec"), **mapping_at(change, "spec")}}, labels)


def _changed_settings(
    settings: Mapping[str, ControllerSettings], namespaces: Iterable[str], change: CatalogChange
) -> Mapping[str, ControllerSettings]:
    if change.windows is None and change.restricted is None:
        return settings
    changed = {name: settings.get(name) or ControllerSettings() for name in {*settings, *namespaces}}
    return {
        name: replace(
            current,
            windows=current.windows if change.windows is None else change.windows,
            restricted=current.restricted if change.restricted is None else change.restricted,
        )
        for name, current in changed.items()
    }
