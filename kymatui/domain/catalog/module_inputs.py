"""The inputs for one row: everything in the cluster that concerns one module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.catalog.rows import CatalogOrigin, Offer
from kymatui.domain.installed import InstallationRun, RecordedInstallation, installation_run, is_deleted_elsewhere
from kymatui.domain.kubernetes.image_references import Image, parse_image
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import ObjectMeta, field_managers, read_meta, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma, ModuleReport, ModuleRequest
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.module_templates import ManagerRef, ModuleTemplate
from kymatui.domain.kyma.states import State, state_rank
from kymatui.domain.kyma.template_index import ReleaseMeta
from kymatui.domain.kyma.versions import newest_version, parse_version, same_version
from kymatui.domain.modules.presence import ManagerVisibility, PresenceEvidence
from kymatui.domain.modules.readiness import LABEL_MODULE, check_readiness
from kymatui.domain.ownership import applying_keeper, read_owner
from kymatui.domain.snapshot.cluster_index import (
    CATALOG_FEEDS,
    KYMA_FEED,
    MANIFEST_FEED,
    WORKLOAD_FEEDS,
    WORKLOADS,
    ClusterIndex,
)
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.versions import refusals
from kymatui.domain.versions.evidence import (
    DeployedVersion,
    RawManifests,
    ReportedVersions,
    deployed_version,
    gather_evidence,
    manager_images,
)
from kymatui.domain.versions.resolution import ChannelSource, Resolution, resolve
from kymatui.patterns import deferred

# The search for the workload that is a module's manager.


FIELD_MANAGER = "kymatui"


class ModuleManager(Struct, frozen=True):
    """A module's manager; `others` are installed managers of community templates of the same module."""

    visibility: ManagerVisibility
    workload: Object | None = None
    others: tuple[ObjectRef, ...] = ()
    declared: ManagerRef | None = None

    @property
    def ref(self) -> ObjectRef | None:
        return read_ref(self.workload) if self.workload is not None else None

    @property
    def deleting(self) -> bool:
        return self.workload is not None and read_meta(JsonReader(self.workload)).deleting

    @property
    def applied_by_kymatui(self) -> bool:
        """Return whether kymatui installed it directly and nothing applies it for a Kyma (by field managers)."""
        if self.workload is None:
            return False
        return FIELD_MANAGER in field_managers(self.workload) and applying_keeper(self.workload) is None


def find_manager(
    world: ClusterIndex,
    module: str,
    preferred: ModuleTemplate | None,
    offers: Sequence[ModuleTemplate],
    manifest: Manifest | None,
    raw_manifests: RawManifests,
) -> ModuleManager:
    """Find the manager by the templates, the preferred one first, else by lifecycle-manager's labels."""
    refs = _declared_managers(preferred, offers)
    existing = [(ref, raw) for ref in refs if (raw := _lookup(world, ref)) is not None]
    if existing:
        direct = _directly_installed(world, offers)
        others = tuple(read_ref(raw) for ref, raw in existing[1:] if raw is not existing[0][1] and ref in direct)
        return ModuleManager(ManagerVisibility.FOUND, existing[0][1], others, existing[0][0])
    named = _by_manifest(world, module, manifest, raw_manifests)
    if named is not None:
        return ModuleManager(ManagerVisibility.FOUND, named, (), refs[0] if refs else None)
    return ModuleManager(_not_found(world, refs), declared=refs[0] if refs else None)


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
    own = {template.manager for template in offers if world.templates.is_kyma(template)}
    return {template.manager for template in offers if template.manager is not None and template.manager not in own}


def _declared_managers(preferred: ModuleTemplate | None, offers: Sequence[ModuleTemplate]) -> list[ManagerRef]:
    refs = [template.manager for template in (preferred, *offers) if template is not None]
    return list(dict.fromkeys(ref for ref in refs if ref is not None))


def _not_found(world: ClusterIndex, refs: Sequence[ManagerRef]) -> ManagerVisibility:
    if not world.is_runtime:
        return ManagerVisibility.UNREADABLE
    if not refs:
        listed = all(world.readable(WORKLOAD_FEEDS[kind]) for kind in WORKLOADS)
        return ManagerVisibility.UNIDENTIFIED if listed else ManagerVisibility.UNREADABLE
    feeds = [WORKLOAD_FEEDS.get(ref.kind.kind, "") for ref in refs]
    if any(not feed for feed in feeds):
        return ManagerVisibility.UNIDENTIFIED
    return ManagerVisibility.ABSENT if all(map(world.readable, feeds)) else ManagerVisibility.UNREADABLE


def _lookup(world: ClusterIndex, ref: ManagerRef) -> Object | None:
    if ref.kind.kind == "CustomResourceDefinition":
        return next((raw for raw in world.snapshot.definitions if read_ref(raw).name == ref.name), None)
    named = world.workloads.get((ref.kind.kind, ref.name), ())
    return next((raw for raw in named if not ref.namespace or read_ref(raw).namespace == ref.namespace), None)


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


_MISSING = (
    refusals.NoReleaseMeta,
    refusals.TemplateMissing,
    refusals.NoTemplateInChannel,
    refusals.TemplateWithoutChannel,
)
_CHART_LABEL = deferred(r".+?-(v?\d+\.\d+.*)")
_NOT_A_MODULE = "Kyma"  # a template with the Kyma as default CR has no CR of its own


class CatalogOptions(Struct, frozen=True):
    """The options for building a catalog, and facts from outside the cluster.

    `raw_manifests` are parsed objects by module and version; they explain image tags that are no versions. `rules` is
    lifecycle-manager's own configuration.
    """

    rules: ControllerSettings = field(default_factory=ControllerSettings)
    raw_manifests: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]] = field(default_factory=dict)


class ModuleInputs(Struct, frozen=True):
    """The inputs of one module.

    `active` is the template of the running version, whose manager, kind and rules apply. `resources` is None if
    unreadable, `kind` None if the module has none. `installation` is the record of kymatui or helm, `missing` are
    its workloads that do not exist although they were installed. `is_unoffered` means that no catalog has what is
    installed, or anything newer.
    """

    name: str
    origin: CatalogOrigin
    meta: ReleaseMeta | None
    resolution: Resolution
    offers: tuple[Offer, ...]
    templates: tuple[ModuleTemplate, ...]
    request: ModuleRequest | None
    report: ModuleReport | None
    manifest: Manifest | None
    manager: ModuleManager
    deployed: DeployedVersion
    desired: str
    newest: str
    active: ModuleTemplate | None
    kind: GroupVersionKind | None
    resources: tuple[Object, ...] | None
    mandatory: bool
    managed: bool
    installation: RecordedInstallation | None = None
    run: InstallationRun | None = None
    missing: tuple[ObjectRef, ...] = ()
    workloads: tuple[ObjectRef, ...] = ()
    is_unoffered: bool = False

    @property
    def installed(self) -> str:
        """Return the installed version, or the tag that stands in for it; "" if nothing names one.

        What no catalog offers has the version that was recorded: its images have versions of their own.
        """
        running, recorded = self.deployed.version or self.deployed.text, self.recorded_version
        return recorded or running if self.origin is CatalogOrigin.NONE else running or recorded

    @property
    def recorded_version(self) -> str:
        """Return the version in the record of the installation, else that of its chart in a label."""
        if self.installation is None or is_deleted_elsewhere(self.run):
            return ""
        return self.installation.version or _chart_version(self.manager.workload)

    @property
    def shown(self) -> ModuleTemplate | None:
        """Return the template that describes the module: the resolved one, else the active one."""
        return self.resolution.template or self.active

    @property
    def created(self) -> float | None:
        """Return the oldest creation time of Manifest, manager and module CRs."""
        metas: list[ObjectMeta] = [self.manifest.meta] if self.manifest is not None else []
        objects = [self.manager.workload] if self.manager.workload is not None else []
        metas += [read_meta(JsonReader(raw)) for raw in (*objects, *(self.resources or ()))]
        return min((meta.created for meta in metas if meta.created is not None), default=None)


def gather_inputs(name: str, world: ClusterIndex, now: float, settings: CatalogOptions) -> ModuleInputs:
    """Return everything in the cluster that concerns one module."""
    meta, templates = world.templates.meta(name), world.templates.offers(name)
    offers = offers_of(world, name)
    origin = _origin(world, name, offers)
    resolution = _resolution(name, world, origin, now, settings.rules)
    own = newest_version(_versions(offer for offer in offers if offer.origin is origin))
    desired = resolution.version or (own if origin is CatalogOrigin.COMMUNITY else "")
    request = world.kyma.request(name) if world.kyma is not None else None
    report = world.kyma.report(name) if world.kyma is not None else None
    manifest = world.manifests.get(name)
    preferred = resolution.template or template_of_version(templates, own)
    raw_manifests = _raw_manifests(name, settings)
    manager = find_manager(world, name, preferred, templates, manifest, raw_manifests)
    installation = _installation(name, world, [manager.workload] if manager.workload is not None else [])
    run, workloads = None, world.workloads_of(installation) if installation is not None else ()
    if installation is not None:
        manager = _with_installed(manager, workloads, now)
        run = installation_run(installation, world.existing_objects(installation), world.snapshot.leases, now)
    recorded = None if is_deleted_elsewhere(run) else installation
    claims = _claims(world.kyma, report, manifest)
    images = manager_images(raw_manifests)
    deployed = deployed_version(
        gather_evidence(manager.workload, claims, images, _descriptor_images(templates)), desired, claims.settled
    )
    is_known = not isinstance(resolution.refusal, refusals.ChannelUnknown | refusals.CatalogUnreadable)
    if not desired and request is None and deployed.evidence and is_known:
        desired = own  # installed directly; the channel has no version to compare with
    unoffered = origin is CatalogOrigin.NONE or _is_beyond(installation, deployed, origin, own)
    desired = "" if unoffered and origin is CatalogOrigin.COMMUNITY else desired
    active = template_of_version(templates, deployed.version) or preferred
    kind = _kind((active, *templates)) or _default_kind(installation)
    mandatory = _is_mandatory(meta, templates, manifest)
    return ModuleInputs(
        name=name,
        origin=origin,
        meta=meta,
        resolution=resolution,
        offers=offers,
        templates=templates,
        request=request,
        report=report,
        manifest=manifest,
        manager=manager,
        deployed=deployed,
        desired=desired,
        newest=_newest(offers, meta),
        active=active,
        kind=kind,
        resources=world.resources_of(kind) if kind is not None else (),
        mandatory=mandatory,
        managed=_is_managed(request, report, mandatory and world.kyma is not None)
        or (world.kyma_unreadable and manifest is not None and not manifest.unmanaged),
        installation=installation,
        run=run,
        workloads=tuple(map(read_ref, workloads)),
        missing=tuple(_missing_workloads(recorded, manager, world, offered=bool(offers))),
        is_unoffered=unoffered,
    )


def _is_beyond(
    installation: RecordedInstallation | None, deployed: DeployedVersion, origin: CatalogOrigin, newest: str
) -> bool:
    """Return whether kymatui installed a higher version than the catalogs have: from a catalog that is not read now."""
    if installation is None or not installation.is_own or origin is not CatalogOrigin.COMMUNITY:
        return False
    recorded, offered = parse_version(installation.version), parse_version(newest)
    is_higher = recorded is not None and offered is not None and recorded > offered
    return is_higher and same_version(deployed.version, installation.version)


def _installation(name: str, world: ClusterIndex, workloads: Iterable[Object]) -> RecordedInstallation | None:
    """Return the installation of a row: by its name, else by the marks of its manager."""
    installation = world.installation(name)
    owners = (read_owner(raw) for raw in workloads) if installation is None and world.releases else ()
    return installation or next(
        (owned for owner in owners if (owned := world.installation_of(owner)) is not None), None
    )


def _with_installed(manager: ModuleManager, workloads: Sequence[Object], now: float) -> ModuleManager:
    """Return the manager; where no template or label names one, the workload of the installation in the worst state."""
    if manager.workload is not None or not workloads:
        return manager
    worst = min(workloads, key=lambda raw: state_rank(check_readiness(raw, now).state))
    return replace(manager, visibility=ManagerVisibility.FOUND, workload=worst)


def _missing_workloads(
    installation: RecordedInstallation | None, manager: ModuleManager, world: ClusterIndex, *, offered: bool
) -> Iterator[ObjectRef]:
    """Yield the workloads that were installed and do not exist; of an offered module, its manager alone decides."""
    if installation is None or installation.is_unfinished or (offered and manager.workload is not None):
        return
    existing_keys = {read_ref(raw).key for raw in world.workloads_of(installation)}
    for ref in installation.refs:
        if (
            ref.kind.kind in WORKLOADS
            and ref.key not in existing_keys
            and world.readable(WORKLOAD_FEEDS[ref.kind.kind])
        ):
            yield ref


def _default_kind(installation: RecordedInstallation | None) -> GroupVersionKind | None:
    default = installation.default_cr if installation is not None else None
    return default.kind if default is not None else None


def _chart_version(workload: Object | None) -> str:
    """Return the version in helm's recommended label "NAME-VERSION" of a chart's objects."""
    label = read_meta(JsonReader(workload)).labels.get("helm.sh/chart", "") if workload is not None else ""
    match = _CHART_LABEL.fullmatch(label)
    return match[1].replace("_", "+") if match is not None else ""


def row_inputs(name: str, world: ClusterIndex, settings: CatalogOptions) -> tuple[object, ...]:
    """Return every object that the row depends on; Kyma, lists, options and time are separate inputs."""
    templates, manifest = world.templates.offers(name), world.manifests.get(name)
    raw_manifests = _raw_manifests(name, settings)
    kinds = dict.fromkeys(template.resource_kind for template in templates)
    resources = (world.resources.get((kind.group, kind.kind), ()) for kind in kinds if kind is not None)
    return (
        world.templates,
        world.definitions,
        manifest.raw if manifest is not None else None,
        *(candidates := manager_candidates(world, name, templates, manifest, raw_manifests)),
        *(raw for group in resources for raw in group),
        *world.pods,
        *_installation_inputs(_installation(name, world, candidates), world),
    )


def _installation_inputs(installation: RecordedInstallation | None, world: ClusterIndex) -> Iterator[object]:
    if installation is None:
        return
    yield installation
    yield from world.workloads_of(installation)
    if (kind := _default_kind(installation)) is not None:
        yield from world.resources.get((kind.group, kind.kind), ())
    yield from world.snapshot.applied.get(installation.record, ())
    yield installation.record in world.snapshot.applied
    if installation.is_unfinished:
        yield from world.snapshot.leases or ()
        yield world.snapshot.leases is None


def kyma_inputs(name: str, kyma: Kyma | None) -> object:
    """Return what the row depends on in the Kyma, to compare: all but the requests and reports of other modules."""
    if kyma is None:
        return None
    requests = tuple(request for request in kyma.modules if request.name == name)
    reports = tuple(report for report in kyma.reports if report.name == name)
    return kyma.ref, replace(kyma, modules=requests, reports=reports, raw={})


def _raw_manifests(name: str, settings: CatalogOptions) -> dict[str, Sequence[Mapping[str, Any]]]:
    return {version: objects for (module, version), objects in settings.raw_manifests.items() if module == name}


def offers_of(world: ClusterIndex, module: str) -> tuple[Offer, ...]:
    """Return every template of a module with its catalog and its channels."""
    meta = world.templates.meta(module)
    offers = []
    for template in world.templates.offers(module):
        origin = CatalogOrigin.KYMA if world.templates.is_kyma(template) else CatalogOrigin.COMMUNITY
        superseded = world.templates.is_superseded(template)
        channels = [template.channel] if template.channel and not superseded else []
        if meta is not None and origin is CatalogOrigin.KYMA and not superseded:
            channels += [name for name, version in meta.channels.items() if same_version(version, template.version)]
        offers.append(
            Offer(
                template.version,
                template.ref,
                origin,
                tuple(dict.fromkeys(channels)),
                template.meta.annotations.get("source", ""),
                superseded,
            )
        )
    return tuple(offers)


def channels_of(meta: ReleaseMeta | None, offers: Sequence[Offer]) -> dict[str, str]:
    """Return version by channel, from the release meta, else (old style) from the templates' own channels."""
    if meta is not None:
        return dict(meta.channels)
    channels: dict[str, str] = {}
    for offer in offers:
        for channel in offer.channels:
            channels.setdefault(channel, offer.version)
    return channels


def template_of_version(templates: Sequence[ModuleTemplate], version: str) -> ModuleTemplate | None:
    """Return the first template of a version."""
    return next((t for t in templates if version and t.version and same_version(t.version, version)), None)


def unreadable_workloads(subject: ModuleInputs, world: ClusterIndex) -> list[str]:
    """Return the unreadable kinds of which the module's manager may be one."""
    if subject.manager.visibility is not ManagerVisibility.UNREADABLE or not world.is_runtime:
        return []
    declared = subject.manager.declared
    kinds = [declared.kind.kind] if declared is not None else WORKLOADS
    return [name for kind in kinds if not world.readable(name := WORKLOAD_FEEDS.get(kind, "workloads"))]


def unreadable_kinds(subject: ModuleInputs, world: ClusterIndex) -> tuple[str, ...]:
    """Return the unreadable kinds that would tell more about the module."""
    names = unreadable_workloads(subject, world)
    if subject.resources is None and subject.kind is not None:
        names.append(world.feed_of(subject.kind) or subject.kind.kind)
    return tuple(names)


def _resolution(
    name: str, world: ClusterIndex, origin: CatalogOrigin, now: float, rules: ControllerSettings
) -> Resolution:
    """Return the resolution; if the Kyma is unreadable, take the channel from the Manifest."""
    manifest = world.manifests.get(name)
    channel = manifest.channel if world.kyma_unreadable and manifest is not None else ""
    resolution = resolve(name, world.kyma, world.templates, now=now, rules=rules, channel=channel)
    needs_channel = resolution.meta is None or resolution.meta.mandatory_version is None
    kyma = world.missing([KYMA_FEED]) if world.kyma is None else None
    if kyma is not None and not channel and origin is CatalogOrigin.KYMA and needs_channel:
        return Resolution(
            name, "", ChannelSource.UNKNOWN, meta=resolution.meta, refusal=refusals.ChannelUnknown(name, kyma)
        )
    return _readable_refusal(resolution, world)


def _readable_refusal(readable_refusal: Resolution, world: ClusterIndex) -> Resolution:
    """Replace a "missing" refusal by CatalogUnreadable if the catalog is unreadable."""
    hidden = world.missing(CATALOG_FEEDS)
    if hidden is None or not isinstance(readable_refusal.refusal, _MISSING):
        return readable_refusal
    return replace(readable_refusal, refusal=refusals.CatalogUnreadable(readable_refusal.module, hidden))


def presence_evidence(subject: ModuleInputs, world: ClusterIndex) -> PresenceEvidence:
    """Return the inputs for `determine_presence`."""
    resources, manager, manifest = subject.resources, subject.manager, subject.manifest
    return PresenceEvidence(
        requested=subject.request is not None,
        managed=subject.request.managed if subject.request is not None else True,
        reported=subject.report.state if subject.report is not None else None,
        mandatory=subject.mandatory,
        manifest=manifest is not None,
        manifest_deleting=manifest is not None and manifest.meta.deleting,
        manager=manager.visibility,
        manager_deleting=manager.deleting,
        resources=len(resources) if resources is not None else None,
        resources_deleting=sum(read_meta(JsonReader(raw)).deleting for raw in resources or ()),
        configurable=subject.kind is not None,
        direct=bool(manager.others) or manager.applied_by_kymatui,
        kyma_unreadable=world.kyma_unreadable,
        sources_unreadable=world.missing((CATALOG_FEEDS[0], MANIFEST_FEED)) is not None,
        phase=subject.run.phase if subject.run is not None else None,
    )


def _newest(offers: Sequence[Offer], meta: ReleaseMeta | None) -> str:
    """Return the newest version of the module in any catalog."""
    of_channels = (meta.channels if meta is not None else {}).values()
    return newest_version(_versions(offers) or [version for version in of_channels if version])


def _versions(offers: Iterable[Offer]) -> list[str]:
    """Return the versions of the offers but those of superseded templates, which no channel installs."""
    return [offer.version for offer in offers if offer.version and not offer.superseded]


def _origin(world: ClusterIndex, name: str, offers: Sequence[Offer]) -> CatalogOrigin:
    asked = world.kyma is not None and (world.kyma.request(name) or world.kyma.report(name))
    if asked or world.templates.meta(name) is not None or name in world.manifests:
        return CatalogOrigin.KYMA
    if not offers:
        return CatalogOrigin.NONE
    return (
        CatalogOrigin.KYMA if any(offer.origin is CatalogOrigin.KYMA for offer in offers) else CatalogOrigin.COMMUNITY
    )


def _kind(templates: Sequence[ModuleTemplate | None]) -> GroupVersionKind | None:
    kinds = [template.resource_kind for template in templates if template is not None]
    return next((kind for kind in kinds if kind is not None and kind.kind != _NOT_A_MODULE), None)


def _is_mandatory(meta: ReleaseMeta | None, templates: Sequence[ModuleTemplate], manifest: Manifest | None) -> bool:
    if meta is not None:
        return meta.mandatory_version is not None
    if manifest is not None and manifest.mandatory:
        return True
    return any(template.mandatory or template.labelled_mandatory for template in templates)


def _is_managed(request: ModuleRequest | None, report: ModuleReport | None, mandatory: bool) -> bool:
    if request is not None:
        return request.managed
    return mandatory or (report is not None and report.state != State.UNMANAGED)


def _claims(kyma: Kyma | None, report: ModuleReport | None, manifest: Manifest | None) -> ReportedVersions:
    states = [report.state] if report is not None else []
    states += [manifest.state] if manifest is not None else []
    return ReportedVersions(
        manifest=manifest.version if manifest is not None else "",
        kyma=report.version if report is not None else "",
        manifest_ref=manifest.ref if manifest is not None else None,
        kyma_ref=kyma.ref if kyma is not None and report is not None else None,
        settled=bool(states) and all(state == State.READY for state in states),
    )


def _descriptor_images(templates: Sequence[ModuleTemplate]) -> tuple[Image, ...]:
    texts = [resource.image for template in templates for resource in template.descriptor_resources if resource.image]
    return tuple(image for image in map(parse_image, texts) if image is not None)
