"""The catalog of a snapshot: one explained row for each module. Malformed objects never raise.

`build_catalog(snapshot, now)` is the entry point; `catalog_to_json` gives the documented JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kymatui.domain.catalog.assessment import (
    START_GRACE,
    Assessment,
    ReasonInputs,
    assess,
    check_resources,
    effective_rules,
)
from kymatui.domain.catalog.catalog_problems import catalog_problems, is_orphaned, row_problems, taken_over_problems
from kymatui.domain.catalog.module_inputs import (
    CatalogOptions,
    ModuleInputs,
    channels_of,
    gather_inputs,
    kyma_inputs,
    presence_evidence,
    row_inputs,
    unreadable_kinds,
    unreadable_workloads,
)
from kymatui.domain.catalog.reasons import choose_reason
from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, CheckedResource, KymaSummary, ModuleRow, StateReports
from kymatui.domain.installed import is_deleted_elsewhere
from kymatui.domain.inventories import installation_owner
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP, read_meta
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kyma_keeper import for_reader, reason_for_reader, with_keeper
from kymatui.domain.kyma.kymas import KYMA_NAME, KYMA_NAMESPACE, Kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.manifests import default_resource, default_resource_body
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.kyma.problems import Actor, Problem, with_advice
from kymatui.domain.kyma.states import State, kyma_state
from kymatui.domain.modules.presence import ManagerVisibility, Presence, determine_presence
from kymatui.domain.modules.readiness import PodFailure, Readiness, check_readiness, find_pod_failure
from kymatui.domain.modules.risks import find_risks, kyma_error_advice, kyma_error_words
from kymatui.domain.ownership import applying_tool
from kymatui.domain.snapshot.cluster_index import (
    CATALOG_FEEDS,
    INVENTORY_FEED,
    KYMA_FEED,
    MANIFEST_FEED,
    RELEASE_FEED,
    ClusterIndex,
    index_cluster,
)
from kymatui.domain.snapshot.missing_lists import ListGap, RowFact, UnknownFact
from kymatui.domain.snapshot.snapshots import PODS, RUNTIME_FEED, ReadCache, Snapshot, namespaced_feed
from kymatui.domain.versions.drift import Drift, DriftKind, compute_drift
from kymatui.domain.versions.refusals import CatalogUnreadable, ChannelUnknown
from kymatui.domain.versions.resolution import upcoming_window

_REMEMBERED = "row "
_DEFAULT_NAME = "default"
_FRESH = 10.0  # seconds until an unchanged row is rebuilt, because grace periods and windows end

__all__ = ["build_catalog"]


def build_catalog(
    snapshot: Snapshot,
    now: float,
    settings: CatalogOptions | None = None,
    cache: ReadCache | None = None,
    *,
    only: str = "",
) -> Catalog:
    """Return the catalog of all modules that are offered, requested, reported or left over.

    Rows are sorted by name; `now` is in seconds of the Unix clock. A caller that repeats the call passes the same
    `cache`: only changed objects are read again, and facts that depend on time alone may be ten seconds old. With
    `only`, the one row is that module's, if there is one, and the problems are its own and those of no module.
    """
    settings, cache = _settings(settings or CatalogOptions(), snapshot), cache or ReadCache()
    world = index_cluster(snapshot, cache)
    names = module_names(world)
    rows = _rows([name for name in names if only in ("", name)], world, now, settings, cache)
    attached = {row.installation.record for row in rows if row.installation is not None}
    others = [name for name, release in world.releases.items() if release.record not in attached and only in ("", name)]
    releases = _rows(sorted(others), world, now, settings, cache)
    cache.forget_others(_REMEMBERED, [*names, *others])
    return Catalog(
        cluster=snapshot.cluster,
        kyma=_summary(world.kyma, world) if world.kyma is not None else None,
        rows=rows,
        releases=releases,
        problems=catalog_problems(world, rows),
        taken_at=snapshot.taken_at,
        feeds=snapshot.feeds,
        is_control_plane=not world.is_runtime,
        unnamed_kymas=_unnamed_kymas(world),
    )


def _unnamed_kymas(world: ClusterIndex) -> int:
    """Return the number of Kymas of which none is the runtime's own, 0 for a single one."""
    count = len(world.snapshot.kymas)
    if world.kyma is None or count < 2:
        return 0
    return count if (world.kyma.meta.namespace, world.kyma.meta.name) != (KYMA_NAMESPACE, KYMA_NAME) else 0


def _settings(settings: CatalogOptions, snapshot: Snapshot) -> CatalogOptions:
    """Fill in raw manifests and controller settings from the snapshot unless the caller set them."""
    if snapshot.raw_manifests and not settings.raw_manifests:
        settings = replace(settings, raw_manifests=snapshot.raw_manifests)
    if snapshot.rules is not None and settings.rules == ControllerSettings():
        settings = replace(settings, rules=snapshot.rules)
    return settings


def _rows(
    names: Sequence[str], world: ClusterIndex, now: float, settings: CatalogOptions, cache: ReadCache
) -> tuple[ModuleRow, ...]:
    """Return the rows; rebuild a row if one of its objects changed, and every few seconds as time passes."""
    feeds = tuple(sorted((name, feed.state) for name, feed in world.snapshot.feeds.items()))
    keeper = world.keeper, bool(world.stopped)

    def row(name: str) -> ModuleRow:
        def make() -> ModuleRow:
            return _row(gather_inputs(name, world, now, settings), world, now, settings)

        inputs = (row_inputs(name, world, settings),)
        kyma = kyma_inputs(name, world.kyma)
        return cache.recall(_REMEMBERED + name, inputs, make, settings, feeds, now // _FRESH, kyma, keeper)

    return tuple(map(row, names))


def module_names(world: ClusterIndex) -> list[str]:
    """Return the sorted names of all modules in templates, release metas, Manifests, the Kyma and inventories."""
    return sorted({*world.modules, *world.installations})


def _summary(kyma: Kyma, world: ClusterIndex) -> KymaSummary:
    return KymaSummary(
        ref=kyma.ref,
        channel=kyma.channel,
        state=kyma.state,
        expected=kyma_state((r.state for r in kyma.reports), (c.status for c in kyma.conditions)),
        deleting=kyma.meta.deleting,
        skipped=kyma.meta.label_is_true(LABEL_SKIP),
        keeper=world.keeper,
        stopped=world.stopped,
        own_error=with_keeper(_own_error(kyma), world.keeper),
    )


def _own_error(kyma: Kyma) -> str:
    words = kyma_error_words(kyma.state, kyma.operation, (report.state for report in kyma.reports))
    return with_advice(words, kyma_error_advice(kyma.operation, kyma.meta.name)) if words else ""


def _row(subject: ModuleInputs, world: ClusterIndex, now: float, settings: CatalogOptions) -> ModuleRow:
    presence = determine_presence(presence_evidence(subject, world))
    workload = subject.manager.workload
    ready = check_readiness(workload, now) if workload is not None else None
    checked = check_resources(
        subject.resources or (),
        effective_rules(subject.active.rules if subject.active else (), subject.manifest),
        manager=workload,
        manifest=subject.manifest,
        now=now,
    )
    assessment = _assessment(subject, presence, checked, ready, now)
    drifted = _drift(subject, presence, ready, world, now, settings.rules)
    return _finished(subject, world, presence, checked, ready, assessment, drifted)


def _assessment(
    subject: ModuleInputs, presence: Presence, checked: Sequence[CheckedResource], ready: Readiness | None, now: float
) -> Assessment:
    reported_ready = subject.report is not None and subject.report.state == State.READY
    return assess(
        presence,
        checked,
        readiness=ready,
        manager_missing=bool(subject.missing)
        or (subject.managed and reported_ready and subject.manager.visibility is ManagerVisibility.ABSENT),
        report=subject.report,
        manifest=subject.manifest,
        refusal=subject.resolution.refusal if subject.request is not None else None,
        managed=subject.managed,
        starting=_is_starting(subject, now),
        recorded=subject.installation is not None,
    )


def _is_starting(subject: ModuleInputs, now: float) -> bool:
    """Return whether the manager is so new that lifecycle-manager's Error may only mean "not started yet"."""
    workload = subject.manager.workload
    created = read_meta(JsonReader(workload)).created if workload is not None else None
    return created is not None and now - created < START_GRACE


def _drift(
    subject: ModuleInputs,
    presence: Presence,
    ready: Readiness | None,
    world: ClusterIndex,
    now: float,
    rules: ControllerSettings,
) -> Drift:
    if presence in (Presence.PARTIAL, Presence.DELETION_INTERRUPTED):
        return Drift(DriftKind.INCOMPLETE)
    if _is_nothing_installed(subject, presence):
        return Drift(DriftKind.NONE)
    if subject.is_unoffered:
        return Drift(DriftKind.UNKNOWN, is_offered=False)
    drift = compute_drift(
        subject.deployed.version,
        subject.desired,
        follows=presence.follows_channel,
        refusal=subject.resolution.refusal,
        maintenance=subject.report is not None and subject.report.maintenance,
        window=upcoming_window(world.kyma, rules, now) if world.kyma is not None else None,
        rolling=ready.rolling if ready is not None else _only_intended(subject),
    )
    if drift.kind in (DriftKind.UP_TO_DATE, DriftKind.ROLLING_OUT) and unreadable_workloads(subject, world):
        return Drift(DriftKind.UNKNOWN)  # lifecycle-manager reports what it applied, and not what runs
    return drift


def _is_nothing_installed(subject: ModuleInputs, presence: Presence) -> bool:
    if subject.installation is not None and not is_deleted_elsewhere(subject.run):
        return False
    nothing_runs = not subject.deployed.evidence and subject.manager.visibility in (
        ManagerVisibility.ABSENT,
        ManagerVisibility.UNIDENTIFIED,
    )
    return presence in (Presence.NOT_INSTALLED, Presence.ORPHAN) or (nothing_runs and presence is not Presence.UNKNOWN)


def _only_intended(subject: ModuleInputs) -> bool:
    """Return whether only lifecycle-manager's report names the version, and the report says Processing."""
    report = subject.report
    return subject.manager.workload is None and report is not None and report.state == State.PROCESSING


def _finished(
    subject: ModuleInputs,
    world: ClusterIndex,
    presence: Presence,
    checked: tuple[CheckedResource, ...],
    ready: Readiness | None,
    assessment: Assessment,
    drifted: Drift,
) -> ModuleRow:
    nothing = _is_nothing_installed(subject, presence)
    installed = "" if nothing else subject.installed
    hidden = unreadable_kinds(subject, world)
    unseen, kyma_unseen = world.unseen(hidden), world.unseen([KYMA_FEED] if world.kyma_unreadable else [])
    case = ReasonInputs(
        subject,
        presence,
        assessment,
        drifted,
        installed,
        ready,
        checked,
        unseen,
        kyma_unseen,
        skipped_kyma=_skipped_kyma(world),
        kyma_deleting=world.kyma is not None and world.kyma.meta.deleting,
        is_orphaned=is_orphaned(subject.name, subject.manifest, world.kyma, mandatory=subject.mandatory),
        lacks_manifest=_lacks_manifest(subject, world),
        pod_failure=_pod_failure(subject, world, ready),
        pods_unseen=_pods_unseen(subject, world),
    )
    shown, meta = subject.shown, subject.meta
    reason = reason_for_reader(choose_reason(case), world.keeper, world.runtime, stopped=world.stopped)
    risks = find_risks(
        subject.request,
        subject.report,
        subject.manifest,
        drifted,
        subject.desired,
        ready,
        [resource.resource for resource in checked],
    )
    has_channel = subject.origin is CatalogOrigin.KYMA and not subject.mandatory
    keeper = world.keeper
    problems = (
        *row_problems(subject.name, subject.templates, meta, subject.manifest, checked, ready),
        *_taken_over(world, subject.name),
        *(risk.problem(subject.name) for risk in risks),
    )
    return ModuleRow(
        name=subject.name,
        origin=subject.origin,
        channels=channels_of(meta, subject.offers),
        channel=subject.resolution.channel if has_channel else "",
        desired=subject.desired,
        installed=installed,
        newest=subject.newest,
        drift=drifted,
        state=assessment.state,
        state_source=assessment.source,
        presence=presence,
        managed=subject.managed,
        mandatory=subject.mandatory,
        beta=(meta is not None and meta.beta) or (shown is not None and shown.beta),
        internal=(meta is not None and meta.internal) or (shown is not None and shown.internal),
        reason=reason,
        resolution=subject.resolution,
        shown=shown,
        evaluation=assessment.evaluation,
        checked=checked,
        evidence=subject.deployed.evidence,
        readiness=ready,
        reports=_reports(subject, checked, ready),
        offers=subject.offers,
        policy=subject.request.policy if subject.request is not None else "",
        manager=subject.manager.ref,
        manifest=subject.manifest.ref if subject.manifest is not None else None,
        created=subject.created,
        problems=tuple(for_reader(problem, keeper, world.runtime, stopped=world.stopped) for problem in problems),
        foreseen=tuple(for_reader(risk, keeper, world.runtime, stopped=world.stopped) for risk in risks),
        unknown=unknown_facts(subject, world, presence, drifted, installed, reason.actor),
        keeper=keeper,
        installation=subject.installation,
        run=subject.run,
        workloads=subject.workloads,
        new_cr=_new_cr(subject, world) if presence is Presence.NOT_CONFIGURED else None,
        applied_by=_applied_by(subject),
    )


def _applied_by(subject: ModuleInputs) -> str:
    namespace = subject.manager.ref.namespace if subject.manager.ref is not None else ""
    return applying_tool(subject.manager.workload, installation_owner(subject.name, namespace, chart=False))


def _new_cr(subject: ModuleInputs, world: ClusterIndex) -> Mapping[str, Any] | None:
    """Return the default CR, else an empty CR of the module's kind; None if the module has no kind."""
    kind, manifest, template = subject.kind, subject.manifest, subject.active or subject.shown
    if kind is None:
        return None
    data: Mapping[str, Any] = {"apiVersion": kind.api_version, "kind": kind.kind}
    if manifest is not None and manifest.resource is not None:
        data = manifest.resource
    elif template is not None and template.data is not None and template.resource_kind == kind:
        data = template.data
    ref = default_resource(data, _DEFAULT_NAME, cluster_scoped=world.is_cluster_scoped(kind))
    return default_resource_body(data, ref)


def _skipped_kyma(world: ClusterIndex) -> ObjectRef | None:
    kyma = world.kyma
    is_skipped = kyma is not None and kyma.meta.label_is_true(LABEL_SKIP) and not kyma.meta.deleting
    return kyma.ref if kyma is not None and is_skipped else None


def _pod_failure(subject: ModuleInputs, world: ClusterIndex, ready: Readiness | None) -> PodFailure | None:
    workload = subject.manager.workload
    if workload is None or ready is None or ready.ready:
        return None
    return find_pod_failure(workload, world.pods, world.snapshot.events)


def _pods_unseen(subject: ModuleInputs, world: ClusterIndex) -> str:
    ref = subject.manager.ref
    why = world.missing([namespaced_feed(PODS, ref.namespace)]) if ref is not None else None
    return str(why) if why is not None else ""


def _lacks_manifest(subject: ModuleInputs, world: ClusterIndex) -> bool:
    """Return whether lifecycle-manager has still to create the Manifest of a requested module."""
    is_requested = subject.managed and subject.request is not None and subject.resolution.refusal is None
    knows_manifests = world.snapshot.joined and world.missing([MANIFEST_FEED]) is None
    return is_requested and subject.manifest is None and knows_manifests


def _taken_over(world: ClusterIndex, module: str) -> Iterator[Problem]:
    """Yield the problems of the module's templates on the runtime that have the name of a synced one."""
    for template in map(read_template, world.snapshot.taken_over):
        if isinstance(template, ModuleTemplate) and template.module == module:
            yield from taken_over_problems(module, template)


def _reports(subject: ModuleInputs, checked: Sequence[CheckedResource], ready: Readiness | None) -> StateReports:
    report, manifest = subject.report, subject.manifest
    return StateReports(
        kyma=report.state if report is not None else "",
        kyma_message=report.message if report is not None else "",
        kyma_version=report.version if report is not None else "",
        manifest=manifest.state if manifest is not None else "",
        manifest_message=manifest.operation if manifest is not None else "",
        resource=checked[0].klm.state.value if checked else "",
        manager=ready.state.value if ready is not None else "",
    )


def unknown_facts(
    subject: ModuleInputs, world: ClusterIndex, presence: Presence, drifted: Drift, installed: str, actor: Actor
) -> Mapping[RowFact, UnknownFact]:
    """Return why facts of a module's row are unknown; facts without an entry are known."""
    kyma = world.missing([KYMA_FEED]) if world.kyma is None else None
    facts = {fact: why for fact, why in _declared(subject, world, kyma) if why is not None}
    facts |= {fact: why for fact, why in _observed(subject, world, presence, installed, kyma) if why is not None}
    if actor is Actor.UNKNOWN:
        facts[RowFact.ACTOR] = facts.get(RowFact.CHECKS) or UnknownFact(ListGap.UNKNOWN, (), "the runtime was not read")
    compared = drifted.kind not in (DriftKind.UNKNOWN, DriftKind.NONE) or presence is Presence.NOT_INSTALLED
    hidden = world.missing(unreadable_workloads(subject, world)) if subject.desired else None
    why = facts.get(RowFact.INSTALLED) or facts.get(RowFact.DESIRED) or hidden
    return facts if compared or why is None else {**facts, RowFact.DRIFT: why}


def _declared(
    subject: ModuleInputs, world: ClusterIndex, kyma: UnknownFact | None
) -> Iterator[tuple[RowFact, UnknownFact | None]]:
    catalog = world.missing(CATALOG_FEEDS)
    if not subject.managed:
        yield RowFact.MANAGED, kyma
    if subject.managed or kyma is not None:  # the status mirrors the requests, but not the policy
        why = world.missing([KYMA_FEED, RUNTIME_FEED])
        if why is None and subject.request is not None and subject.request.is_reported:
            why = UnknownFact(ListGap.UNKNOWN, (), "only the runtime's Kyma has it")
        yield RowFact.POLICY, why
    if not subject.mandatory and subject.meta is None:
        yield RowFact.MANDATORY, catalog
    if not subject.resolution.channel and subject.origin is CatalogOrigin.KYMA and not subject.mandatory:
        yield RowFact.CHANNEL, kyma
    if not subject.desired:
        refusal = subject.resolution.refusal
        why = refusal.why if isinstance(refusal, ChannelUnknown | CatalogUnreadable) else None
        yield RowFact.DESIRED, why or catalog or kyma
    if subject.meta is None and not any(offer.channels for offer in subject.offers):
        yield RowFact.CHANNELS, catalog
    yield RowFact.NEWEST, world.missing(CATALOG_FEEDS[:1])
    if subject.manifest is None:
        yield RowFact.MANIFEST, world.missing([MANIFEST_FEED])


def _observed(
    subject: ModuleInputs, world: ClusterIndex, presence: Presence, installed: str, kyma: UnknownFact | None
) -> Iterator[tuple[RowFact, UnknownFact | None]]:
    names = unreadable_kinds(subject, world)
    hidden = world.missing(names) or (UnknownFact(ListGap.UNKNOWN, names) if names else None)
    sources = world.missing((CATALOG_FEEDS[0], MANIFEST_FEED))
    if subject.resources is None:
        kind = world.feed_of(subject.kind) if subject.kind is not None else ""
        yield RowFact.CHECKS, world.missing([kind]) or hidden
    elif subject.kind is None:  # the template, which names the kind, may be missing
        yield RowFact.CHECKS, world.missing(CATALOG_FEEDS[:1])
    if presence is Presence.UNKNOWN:
        yield RowFact.STATE, hidden or kyma or sources or UnknownFact(ListGap.UNKNOWN)
    unrecorded = subject.manifest is None and subject.installation is None
    if not subject.managed and unrecorded and presence is not Presence.NOT_INSTALLED:
        yield RowFact.INSTALLED_BY, world.missing([KYMA_FEED, MANIFEST_FEED, INVENTORY_FEED, RELEASE_FEED])
    if not installed and presence is not Presence.NOT_INSTALLED:
        yield RowFact.INSTALLED, hidden or kyma or sources
