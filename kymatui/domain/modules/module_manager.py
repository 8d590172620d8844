"""The search for the workload that is a module's manager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import field_managers, read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.module_templates import ManagerRef, ModuleTemplate
from kymatui.domain.modules.presence import ManagerVisibility
from kymatui.domain.modules.readiness import LABEL_MODULE
from kymatui.domain.ownership import LIFECYCLE_APPLIER
from kymatui.domain.snapshot.cluster_index import WORKLOAD_FEEDS, WORKLOADS, ClusterIndex
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.versions.evidence import RawManifests

FIELD_MANAGER = "kymatui"


class ModuleManager(Struct, frozen=True):
    """A module's manager; `others` are installed managers of community templates of the same module."""

    sight: ManagerVisibility
    workload: Object | None = None
    others: tuple[ObjectRef, ...] = ()
    wanted: ManagerRef | None = None

    @property
    def ref(self) -> ObjectRef | None:
        return read_ref(self.workload) if self.workload is not None else None

    @property
    def deleting(self) -> bool:
        return self.workload is not None and read_meta(JsonReader(self.workload)).deleting

    @property
    def applied_by_kymatui(self) -> bool:
        """Return whether kymatui installed it and lifecycle-manager has not adopted it (by field managers)."""
        if self.workload is None:
            return False
        managers = field_managers(self.workload)
        return FIELD_MANAGER in managers and LIFECYCLE_APPLIER not in managers


def find_manager(
    world: ClusterIndex,
    module: str,
    preferred: ModuleTemplate | None,
    offers: Sequence[ModuleTemplate],
    manifest: Manifest | None,
    raw_manifests: RawManifests,
) -> ModuleManager:
    """Find the manager by the templates, the preferred one first, else by lifecycle-manager's labels."""
    wanted = _declared_managers(preferred, offers)
    found = [(ref, raw) for ref in wanted if (raw := _lookup(world, ref)) is not None]
    if found:
        direct = _directly_installed(world, offers)
        others = tuple(read_ref(raw) for ref, raw in found[1:] if raw is not found[0][1] and ref in direct)
        return ModuleManager(ManagerVisibility.FOUND, found[0][1], others, found[0][0])
    named = _by_manifest(world, module, manifest, raw_manifests)
    if named is not None:
        return ModuleManager(ManagerVisibility.FOUND, named, (), wanted[0] if wanted else None)
    return ModuleManager(_not_found(world, wanted), wanted=wanted[0] if wanted else None)


def manager_candidates(
    world: ClusterIndex,
    module: str,
    offers: Sequence[ModuleTemplate],
    manifest: Manifest | None,
    raw_manifests: RawManifests,
) -> tuple[Object, ...]:
    """Return every workload that `find_manager` may read for a module."""
    names = [(ref.kind.kind, ref.name) for ref in _declared_managers(None, offers)]
    names += [(ref.kind.kind, ref.name) for ref in _synced_names(manifest, raw_manifests)]
    labels = _labels(module, manifest)
    return tuple(raw for name in names for raw in world.workloads.get(name, ())) + tuple(
        raw for label in labels for raw in world.labelled.get(label, ())
    )


def _directly_installed(world: ClusterIndex, offers: Sequence[ModuleTemplate]) -> set[ManagerRef]:
    """Return the managers that only community templates name.

    A manager of another version in Kyma's own catalog is no second installation.
    """
    own = {template.manager for template in offers if world.shelf.is_kyma(template)}
    return {template.manager for template in offers if template.manager is not None and template.manager not in own}


def _declared_managers(preferred: ModuleTemplate | None, offers: Sequence[ModuleTemplate]) -> list[ManagerRef]:
    refs = [template.manager for template in (preferred, *offers) if template is not None]
    return list(dict.fromkeys(ref for ref in refs if ref is not None))


def _not_found(world: ClusterIndex, wanted: Sequence[ManagerRef]) -> ManagerVisibility:
    if not world.is_runtime:
        return ManagerVisibility.UNREADABLE
    if not wanted:
        listed = all(world.readable(WORKLOAD_FEEDS[kind]) for kind in WORKLOADS)
        return ManagerVisibility.UNIDENTIFIED if listed else ManagerVisibility.UNREADABLE
    feeds = [WORKLOAD_FEEDS.get(ref.kind.kind, "") for ref in wanted]
    if any(not feed for feed in feeds):
        return ManagerVisibility.UNIDENTIFIED
    return ManagerVisibility.ABSENT if all(map(world.readable, feeds)) else ManagerVisibility.UNREADABLE


def _lookup(world: ClusterIndex, ref: ManagerRef) -> Object | None:
    if ref.kind.kind == "CustomResourceDefinition":
        return next((raw for raw in world.snapshot.definitions if read_ref(raw).name == ref.name), None)
    for raw in world.workloads.get((ref.kind.kind, ref.name), ()):
        if not ref.namespace or read_ref(raw).namespace == ref.namespace:
            return raw
    return None


def _by_manifest(
    world: ClusterIndex, module: str, manifest: Manifest | None, raw_manifests: RawManifests
) -> Object | None:
    for name in _synced_names(manifest, raw_manifests):
        for raw in world.workloads.get((name.kind.kind, name.name), ()):
            if not name.namespace or read_ref(raw).namespace == name.namespace:
                return raw
    for label in _labels(module, manifest):
        managers = [raw for raw in world.labelled.get(label, ()) if read_ref(raw).kind.kind in WORKLOADS]
        if len(managers) == 1:
            return managers[0]
    return None


def _labels(module: str, manifest: Manifest | None) -> list[tuple[str, str]]:
    """Return the labels with the module's name, by lifecycle-manager and by the modules' authors."""
    component = [("app.kubernetes.io/component", manifest.meta.name)] if manifest is not None else []
    return [*component, (LABEL_MODULE, module)]


def _synced_names(manifest: Manifest | None, raw_manifests: RawManifests) -> list[ObjectRef]:
    """Return the first workload of each applied list, which lifecycle-manager treats as the manager."""
    names = [ref for ref in (manifest.synced if manifest is not None else ()) if ref.kind.kind in WORKLOADS][:1]
    for resources in raw_manifests.values():
        refs = [read_ref(raw) for raw in resources if isinstance(raw, Mapping)]
        names += [ref for ref in refs if ref.kind.kind in WORKLOADS][:1]
    return names
