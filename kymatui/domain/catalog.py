"""The catalog: a snapshot in, one row a module out, explained. It never raises, whatever the objects are.

`catalog(snapshot, now)` is the one way in; `kymatui.domain.listing.to_json` gives the documented JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kymatui.domain.assessing import assess, check_resources, rules_in_force
from kymatui.domain.drift import Drift, DriftKind, drift
from kymatui.domain.evidence import Claims, Deployed, deployed, gather, manager_images
from kymatui.domain.faults import catalog_problems, row_problems
from kymatui.domain.images import Image, parse_image
from kymatui.domain.kymas import Kyma, ModuleReport
from kymatui.domain.listing import to_json
from kymatui.domain.managing import ManagerSight, find_manager
from kymatui.domain.manifests import Manifest
from kymatui.domain.objects import read_meta
from kymatui.domain.observing import WORKLOAD_FEEDS, World, observe
from kymatui.domain.presence import Presence, Sight, Traces, presence
from kymatui.domain.readiness import Readiness, readiness
from kymatui.domain.reading import Reader
from kymatui.domain.reasons import Case, reason
from kymatui.domain.resolution import Resolution, Rules, resolve, upcoming_window
from kymatui.domain.rows import Catalog, Checked, KymaSummary, Offer, Origin, Reports, Row
from kymatui.domain.snapshots import Object, Snapshot
from kymatui.domain.statechecks import Mode
from kymatui.domain.states import State, kyma_state
from kymatui.domain.templates import Template
from kymatui.domain.versions import newest, same

__all__ = ["Catalog", "Origin", "Row", "Settings", "catalog", "to_json"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to look at a cluster, and what is known besides it.

    `kyma` is `namespace/name`, "" for the one that a runtime has. `raw_manifests` are the parsed objects of known
    versions, by module and version: they name image tags that are no versions. `rules` is lifecycle-manager's own
    configuration.
    """

    kyma: str = ""
    mode: Mode = Mode.KLM
    rules: Rules = field(default_factory=Rules)
    raw_manifests: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def catalog(snapshot: Snapshot, now: float, settings: Settings | None = None) -> Catalog:
    """Every module that is offered, asked for, reported or left over, in the order of their names."""
    settings = settings or Settings()
    world = observe(snapshot, settings.kyma)
    rows = tuple(_row(name, world, now, settings) for name in _modules(world))
    return Catalog(
        cluster=snapshot.cluster,
        kyma=_summary(world.kyma) if world.kyma is not None else None,
        rows=rows,
        problems=catalog_problems(world, rows, settings.kyma),
        taken_at=snapshot.taken_at,
    )


def _modules(world: World) -> list[str]:
    names = {meta.module for meta in world.shelf.metas} | set(world.shelf.by_module) | set(world.manifests)
    if world.kyma is not None:
        names |= {request.name for request in world.kyma.modules} | {report.name for report in world.kyma.reports}
    return sorted(name for name in names if name)


def _summary(kyma: Kyma) -> KymaSummary:
    return KymaSummary(
        ref=kyma.ref,
        channel=kyma.channel,
        state=kyma.state,
        expected=kyma_state((r.state for r in kyma.reports), (c.status for c in kyma.conditions)),
        deleting=kyma.meta.deleting,
        skipped=kyma.meta.label_is_true("operator.kyma-project.io/skip-reconciliation"),
    )


def _offers(world: World, module: str) -> tuple[Offer, ...]:
    meta = world.shelf.meta(module)
    channels = meta.channels if meta is not None else {}
    offers = []
    for template in world.shelf.offers(module):
        origin = Origin.KYMA if world.shelf.is_kyma(template) else Origin.COMMUNITY
        own = [template.channel] if template.channel else []
        if meta is not None and origin is Origin.KYMA:
            own += [name for name, version in channels.items() if version and same(version, template.version)]
        offers.append(Offer(template.version, template.ref, origin, tuple(dict.fromkeys(own))))
    return tuple(offers)


def _channels(world: World, module: str, offers: Sequence[Offer]) -> dict[str, str]:
    """Channel to version: as the release meta says; in the old style, as the templates' own channels say."""
    meta = world.shelf.meta(module)
    if meta is not None:
        return dict(meta.channels)
    found: dict[str, str] = {}
    for offer in offers:
        for channel in offer.channels:
            found.setdefault(channel, offer.version)
    return found


@dataclass(frozen=True, slots=True)
class _Subject:
    """One module with everything that was found of it."""

    name: str
    resolution: Resolution
    offers: tuple[Offer, ...]
    templates: tuple[Template, ...]
    origin: Origin
    report: ModuleReport | None
    manifest: Manifest | None
    manager: ManagerSight
    deployed: Deployed
    desired: str
    newest: str
    active: Template | None
    resources: tuple[Object, ...] | None
    configurable: bool
    mandatory: bool


def _subject(name: str, world: World, now: float, settings: Settings) -> _Subject:
    resolution = resolve(name, world.kyma, world.shelf, now=now, rules=settings.rules)
    offers = _offers(world, name)
    origin = _origin(world, name, offers)
    latest = newest([offer.version for offer in offers if offer.origin is origin and offer.version])
    desired = resolution.version or (latest if origin is Origin.COMMUNITY else "")
    templates = world.shelf.offers(name)
    report = world.kyma.report(name) if world.kyma is not None else None
    manifest = world.manifests.get(name)
    raw_manifests = {v: objects for (module, v), objects in settings.raw_manifests.items() if module == name}
    preferred = resolution.template or _of_version(templates, latest)
    manager = find_manager(world, name, preferred, templates, manifest, raw_manifests)
    claims = _claims(world.kyma, report, manifest)
    known = _descriptor_images(templates)
    evidence = gather(manager.workload, claims, manager_images(raw_manifests), known)
    found = deployed(evidence, desired, claims.settled)
    active = _of_version(templates, found.version) or preferred
    kinds = dict.fromkeys(template.resource_kind for template in (active, *templates) if template is not None)
    kind = next((kind for kind in kinds if kind is not None and kind.kind != "Kyma"), None)
    return _Subject(
        name=name,
        resolution=resolution,
        offers=offers,
        templates=templates,
        origin=origin,
        report=report,
        manifest=manifest,
        manager=manager,
        deployed=found,
        desired=desired,
        newest=latest or newest(dict.fromkeys((world.shelf.meta(name) or _NOTHING).channels.values())),
        active=active,
        resources=world.resources_of(kind) if kind is not None else (),
        configurable=kind is not None,
        mandatory=_is_mandatory(world, name, templates, manifest),
    )


@dataclass(frozen=True, slots=True)
class _Nothing:
    channels: Mapping[str, str] = field(default_factory=dict)


_NOTHING = _Nothing()


def _origin(world: World, name: str, offers: Sequence[Offer]) -> Origin:
    asked = world.kyma is not None and (world.kyma.request(name) or world.kyma.report(name))
    if asked or world.shelf.meta(name) is not None or name in world.manifests:
        return Origin.KYMA
    return Origin.KYMA if any(offer.origin is Origin.KYMA for offer in offers) else Origin.COMMUNITY


def _of_version(templates: Sequence[Template], version: str) -> Template | None:
    return next((t for t in templates if version and t.version and same(t.version, version)), None)


def _is_mandatory(world: World, name: str, templates: Sequence[Template], manifest: Manifest | None) -> bool:
    meta = world.shelf.meta(name)
    if meta is not None:
        return meta.mandatory_version is not None
    if manifest is not None and manifest.mandatory:
        return True
    return any(template.mandatory or template.labelled_mandatory for template in templates)


def _claims(kyma: Kyma | None, report: ModuleReport | None, manifest: Manifest | None) -> Claims:
    states = [report.state] if report is not None else []
    states += [manifest.state] if manifest is not None else []
    return Claims(
        manifest=manifest.version if manifest is not None else "",
        kyma=report.version if report is not None else "",
        manifest_ref=manifest.ref if manifest is not None else None,
        kyma_ref=kyma.ref if kyma is not None and report is not None else None,
        settled=bool(states) and all(state == State.READY for state in states),
    )


def _descriptor_images(templates: Sequence[Template]) -> tuple[Image, ...]:
    texts = [resource.image for template in templates for resource in template.descriptor_resources if resource.image]
    return tuple(image for image in map(parse_image, texts) if image is not None)


def _traces(subject: _Subject, world: World) -> Traces:
    request = world.kyma.request(subject.name) if world.kyma is not None else None
    resources = subject.resources
    deleting = sum(read_meta(Reader(raw)).deleting for raw in resources or ())
    manager = subject.manager
    return Traces(
        requested=request is not None,
        managed=request.managed if request is not None else True,
        reported=subject.report.state if subject.report is not None else None,
        mandatory=subject.mandatory,
        manifest=subject.manifest is not None,
        manifest_deleting=subject.manifest is not None and subject.manifest.meta.deleting,
        manager=manager.sight,
        manager_deleting=manager.deleting,
        resources=len(resources) if resources is not None else None,
        resources_deleting=deleting,
        configurable=subject.configurable,
        direct=bool(manager.others) or manager.applied_by_kymatui,
    )


def _drift(
    subject: _Subject, there: Presence, ready: Readiness | None, world: World, now: float, rules: Rules
) -> Drift:
    if there in (Presence.NOT_INSTALLED, Presence.ORPHAN):
        return Drift(DriftKind.NONE)
    report = subject.report
    return drift(
        subject.deployed.version,
        subject.desired,
        refusal=subject.resolution.refusal,
        maintenance=report is not None and report.maintenance,
        window=upcoming_window(world.kyma, rules, now) if world.kyma is not None else None,
        rolling=ready is not None and ready.rolling,
    )


def _reports(subject: _Subject, checked: Sequence[Checked], ready: Readiness | None, mode: Mode) -> Reports:
    first = (checked[0].klm if mode is Mode.KLM else checked[0].strict) if checked else None
    return Reports(
        kyma=subject.report.state if subject.report is not None else "",
        kyma_message=subject.report.message if subject.report is not None else "",
        manifest=subject.manifest.state if subject.manifest is not None else "",
        manifest_message=subject.manifest.operation if subject.manifest is not None else "",
        resource=first.state.value if first is not None else "",
        manager=ready.state.value if ready is not None else "",
    )


def _row(name: str, world: World, now: float, settings: Settings) -> Row:
    subject = _subject(name, world, now, settings)
    request = world.kyma.request(name) if world.kyma is not None else None
    there = presence(_traces(subject, world))
    ready = readiness(subject.manager.workload, now) if subject.manager.workload is not None else None
    checked = check_resources(
        subject.resources or (),
        rules_in_force(subject.active.rules if subject.active else (), subject.manifest),
        manager=subject.manager.workload,
        manifest=subject.manifest,
        now=now,
        mode=settings.mode,
    )
    leaving = request is None and subject.report is not None and subject.report.state != State.UNMANAGED
    managed = request.managed if request is not None else leaving or (subject.mandatory and world.kyma is not None)
    missing = managed and subject.manager.sight is Sight.ABSENT
    reported_ready = subject.report is not None and subject.report.state == State.READY
    assessment = assess(
        there,
        checked,
        settings.mode,
        readiness=ready,
        manager_missing=missing and reported_ready,
        report=subject.report,
        manifest=subject.manifest,
        refusal=subject.resolution.refusal if request is not None else None,
        managed=managed,
    )
    drifted = _drift(subject, there, ready, world, now, settings.rules)
    installed = "" if drifted.kind is DriftKind.NONE else subject.deployed.version or subject.deployed.text
    case = Case(
        module=name,
        presence=there,
        assessment=assessment,
        drift=drifted,
        resolution=subject.resolution,
        installed=installed,
        desired=subject.desired,
        newest=subject.newest,
        managed=managed,
        mandatory=subject.mandatory,
        request=request,
        report=subject.report,
        manifest=subject.manifest,
        manager=subject.manager,
        readiness=ready,
        checked=checked,
        unreadable=_unreadable(subject, world),
        expects_resource=request is not None and request.policy != "Ignore",
    )
    meta = world.shelf.meta(name)
    return Row(
        name=name,
        origin=subject.origin,
        channels=_channels(world, name, subject.offers),
        channel="" if subject.origin is Origin.COMMUNITY or subject.mandatory else subject.resolution.channel,
        desired=subject.desired,
        installed=installed,
        newest=subject.newest,
        drift=drifted,
        state=assessment.state,
        state_source=assessment.source,
        presence=there,
        managed=managed,
        mandatory=subject.mandatory,
        beta=(meta is not None and meta.beta) or any(t.beta for t in _shown(subject)),
        internal=(meta is not None and meta.internal) or any(t.internal for t in _shown(subject)),
        reason=reason(case),
        resolution=subject.resolution,
        evaluation=assessment.evaluation,
        checked=checked,
        evidence=subject.deployed.evidence,
        readiness=ready,
        reports=_reports(subject, checked, ready, settings.mode),
        offers=subject.offers,
        policy=request.policy if request is not None else "",
        manager=subject.manager.ref,
        manifest=subject.manifest.ref if subject.manifest is not None else None,
        created=_created(subject),
        problems=row_problems(name, subject.templates, meta, checked, ready),
    )


def _shown(subject: _Subject) -> tuple[Template, ...]:
    """The template that the row is about."""
    found = subject.resolution.template or subject.active
    return (found,) if found is not None else ()


def _unreadable(subject: _Subject, world: World) -> tuple[str, ...]:
    names = []
    if subject.manager.sight is Sight.UNREADABLE and subject.manager.wanted is not None:
        names.append(WORKLOAD_FEEDS.get(subject.manager.wanted.kind.kind, "workloads"))
    if subject.resources is None:
        kind = next((t.resource_kind for t in subject.templates if t.resource_kind is not None), None)
        names.append(world.feed_of(kind) or kind.kind if kind is not None else "its resources")
    return tuple(names)


def _created(subject: _Subject) -> float | None:
    """When the module came: the oldest of its Manifest, its manager and its resources."""
    metas = [subject.manifest.meta] if subject.manifest is not None else []
    objects = [subject.manager.workload] if subject.manager.workload is not None else []
    metas += [read_meta(Reader(raw)) for raw in (*objects, *(subject.resources or ()))]
    return min((meta.created for meta in metas if meta.created is not None), default=None)
