"""The catalog: a snapshot in, one row a module out, explained. It never raises, whatever the objects are.

`catalog(snapshot, now)` is the one way in; `to_json` gives the documented JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kymatui.domain.assessing import START_GRACE, Assessment, assess, check_resources, in_mode, rules_in_force
from kymatui.domain.drift import Drift, DriftKind, drift
from kymatui.domain.faults import catalog_problems, row_problems
from kymatui.domain.foreseen import foreseen
from kymatui.domain.kymas import Kyma
from kymatui.domain.listing import to_json
from kymatui.domain.objects import LABEL_SKIP, read_meta
from kymatui.domain.observing import KYMA_FEED, World, observe
from kymatui.domain.presence import Presence, Sight, presence
from kymatui.domain.readiness import Readiness, readiness
from kymatui.domain.reading import Reader
from kymatui.domain.reasons import Case, reason
from kymatui.domain.remembering import Memory
from kymatui.domain.resolution import Rules, upcoming_window
from kymatui.domain.rows import Catalog, Checked, KymaSummary, Origin, Reports, Row
from kymatui.domain.snapshots import Snapshot
from kymatui.domain.statechecks import Mode
from kymatui.domain.states import State, kyma_state
from kymatui.domain.subjects import Settings, Subject, channels_of, gather_subject, inputs_of, traces_of, unreadable
from kymatui.domain.unknowns import unknown_facts

_REMEMBERED = "row "
_FRESH = 10.0  # seconds after which a row is made again though nothing changed: grace periods and windows pass

__all__ = ["Catalog", "Memory", "Origin", "Row", "Settings", "catalog", "to_json"]


def catalog(snapshot: Snapshot, now: float, settings: Settings | None = None, memory: Memory | None = None) -> Catalog:
    """Every module that is offered, asked for, reported or left over, in the order of their names.

    `now` is in seconds of the Unix clock. Who calls again and again gives the same `memory` each time: then only what
    changed since is read, and what depends on the time alone may be ten seconds old.
    """
    settings, memory = _settings(settings or Settings(), snapshot), memory or Memory()
    world = observe(snapshot, settings.kyma, memory)
    names = modules(world)
    rows = _rows(names, world, now, settings, memory)
    memory.forget_others(_REMEMBERED, names)
    return Catalog(
        cluster=snapshot.cluster,
        kyma=_summary(world.kyma) if world.kyma is not None else None,
        rows=rows,
        problems=catalog_problems(world, rows, settings.kyma),
        taken_at=snapshot.taken_at,
        feeds=snapshot.feeds,
    )


def _settings(settings: Settings, snapshot: Snapshot) -> Settings:
    """What is known besides the cluster comes with the snapshot; what the caller knows comes first."""
    if snapshot.raw_manifests and not settings.raw_manifests:
        settings = replace(settings, raw_manifests=snapshot.raw_manifests)
    if snapshot.rules is not None and settings.rules == Rules():
        settings = replace(settings, rules=snapshot.rules)
    return settings


def _rows(names: Sequence[str], world: World, now: float, settings: Settings, memory: Memory) -> tuple[Row, ...]:
    """A row is made again when one of its objects changed, and every few seconds because time passes."""
    feeds = tuple(sorted((name, feed.state) for name, feed in world.snapshot.feeds.items()))

    def row(name: str) -> Row:
        def make() -> Row:
            return _row(gather_subject(name, world, now, settings), world, now, settings)

        inputs = (inputs_of(name, world, settings),)
        return memory.recall(_REMEMBERED + name, inputs, make, settings, feeds, now // _FRESH)

    return tuple(map(row, names))


def modules(world: World) -> list[str]:
    """The names of all modules that anything speaks of."""
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
        skipped=kyma.meta.label_is_true(LABEL_SKIP),
    )


def _row(subject: Subject, world: World, now: float, settings: Settings) -> Row:
    there = presence(traces_of(subject, world))
    workload = subject.manager.workload
    ready = readiness(workload, now) if workload is not None else None
    checked = check_resources(
        subject.resources or (),
        rules_in_force(subject.active.rules if subject.active else (), subject.manifest),
        manager=workload,
        manifest=subject.manifest,
        now=now,
        mode=settings.mode,
    )
    assessment = _assessment(subject, there, checked, ready, settings.mode, now)
    drifted = _drift(subject, there, ready, world, now, settings.rules)
    return _finished(subject, world, settings.mode, there, checked, ready, assessment, drifted)


def _assessment(
    subject: Subject, there: Presence, checked: Sequence[Checked], ready: Readiness | None, mode: Mode, now: float
) -> Assessment:
    reported_ready = subject.report is not None and subject.report.state == State.READY
    return assess(
        there,
        checked,
        mode,
        readiness=ready,
        manager_missing=subject.managed and reported_ready and subject.manager.sight is Sight.ABSENT,
        report=subject.report,
        manifest=subject.manifest,
        refusal=subject.resolution.refusal if subject.request is not None else None,
        managed=subject.managed,
        starting=_is_starting(subject, now),
    )


def _is_starting(subject: Subject, now: float) -> bool:
    """Whether the manager is so new that an Error of lifecycle-manager may only mean that it has not started."""
    workload = subject.manager.workload
    created = read_meta(Reader(workload)).created if workload is not None else None
    return created is not None and now - created < START_GRACE


def _drift(subject: Subject, there: Presence, ready: Readiness | None, world: World, now: float, rules: Rules) -> Drift:
    if _is_nothing_installed(subject, there):
        return Drift(DriftKind.NONE)
    return drift(
        subject.deployed.version,
        subject.desired,
        follows=there.follows_channel,
        refusal=subject.resolution.refusal,
        maintenance=subject.report is not None and subject.report.maintenance,
        window=upcoming_window(world.kyma, rules, now) if world.kyma is not None else None,
        rolling=ready.rolling if ready is not None else _only_intended(subject),
    )


def _is_nothing_installed(subject: Subject, there: Presence) -> bool:
    nothing_runs = not subject.deployed.evidence and subject.manager.sight in (Sight.ABSENT, Sight.UNIDENTIFIED)
    return there in (Presence.NOT_INSTALLED, Presence.ORPHAN) or (nothing_runs and there is not Presence.UNKNOWN)


def _only_intended(subject: Subject) -> bool:
    """Whether nothing but lifecycle-manager's word names the version, and it says itself that it is still at work."""
    report = subject.report
    return subject.manager.workload is None and report is not None and report.state == State.PROCESSING


def _finished(
    subject: Subject,
    world: World,
    mode: Mode,
    there: Presence,
    checked: tuple[Checked, ...],
    ready: Readiness | None,
    assessment: Assessment,
    drifted: Drift,
) -> Row:
    nothing = _is_nothing_installed(subject, there)
    installed = "" if nothing else subject.deployed.version or subject.deployed.text
    hidden = unreadable(subject, world)
    unseen, kyma_unseen = world.unseen(hidden), world.unseen([KYMA_FEED] if world.kyma_unreadable else [])
    case = Case(subject, there, assessment, drifted, installed, ready, checked, unseen, kyma_unseen)
    shown, meta = subject.shown, subject.meta
    risks = foreseen(
        subject.request,
        subject.report,
        subject.manifest,
        drifted,
        subject.desired,
        ready,
        [one.resource for one in checked],
    )
    has_channel = subject.origin is Origin.KYMA and not subject.mandatory
    return Row(
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
        presence=there,
        managed=subject.managed,
        mandatory=subject.mandatory,
        beta=(meta is not None and meta.beta) or (shown is not None and shown.beta),
        internal=(meta is not None and meta.internal) or (shown is not None and shown.internal),
        reason=reason(case),
        resolution=subject.resolution,
        evaluation=assessment.evaluation,
        checked=checked,
        evidence=subject.deployed.evidence,
        readiness=ready,
        reports=_reports(subject, checked, ready, mode),
        offers=subject.offers,
        policy=subject.request.policy if subject.request is not None else "",
        manager=subject.manager.ref,
        manifest=subject.manifest.ref if subject.manifest is not None else None,
        created=subject.created,
        problems=(
            *row_problems(subject.name, subject.templates, meta, subject.manifest, checked, ready),
            *(one.problem(subject.name) for one in risks),
        ),
        foreseen=risks,
        unknown=unknown_facts(subject, world, there, drifted, installed),
    )


def _reports(subject: Subject, checked: Sequence[Checked], ready: Readiness | None, mode: Mode) -> Reports:
    report, manifest = subject.report, subject.manifest
    return Reports(
        kyma=report.state if report is not None else "",
        kyma_message=report.message if report is not None else "",
        kyma_version=report.version if report is not None else "",
        manifest=manifest.state if manifest is not None else "",
        manifest_message=manifest.operation if manifest is not None else "",
        resource=in_mode(checked[0], mode).state.value if checked else "",
        manager=ready.state.value if ready is not None else "",
    )
