"""The drift check: whether the installed objects match their manifest in every field."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.managed_fields import KUBERNETES_COMPONENTS
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.modules.readiness import Readiness, check_readiness
from kymatui.engine.apply.planner import Planner
from kymatui.engine.cluster.concurrency import WIDTH, run_for_each
from kymatui.engine.cluster.ports import FIELD_MANAGER, Clock, Cluster, Object
from kymatui.engine.cluster.read_once import read_once
from kymatui.engine.cluster.retries import DEFAULT_RETRY, RetryPolicy
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.jobs.wait import has_readiness
from kymatui.engine.plans.plan import Action, FieldConflict, FieldDiff, Intent, Plan, Step

_KEYED: Final = re.compile(r'\[(?:[A-Za-z]+="([^"]*)"(?:,[^\]]*)?)\]')


class ObjectDriftKind(StrEnum):
    """The kinds of drift of an object."""

    CHANGED = "changed"
    MISSING = "missing"
    EXTRA = "extra"  # of an earlier version, or kept; not in the manifest
    BLOCKED = "blocked"  # unknown: the server rejects the dry run


class DriftedField(Struct, frozen=True):
    """A drifted field: expected value, actual value, and the field manager that wrote it ("" if unknown).

    `since` is the manager's last write to the object, as the server prints it ("2026-11-21T12:00:00Z").
    """

    path: str
    expected: object
    actual: object
    manager: str = ""
    since: str = ""


class ObjectDrift(Struct, frozen=True):
    """The drift of one object."""

    finding: ObjectDriftKind
    ref: ObjectRef
    fields: tuple[DriftedField, ...] = ()
    reason: str = ""


class DriftReport(Struct, frozen=True):
    """The result of a check; applying `plan` repairs the drift (with force if others own the fields).

    `well` is the result of the caller's check function; with `by_helm`, helm installed the same chart with the same
    values, so that only its record is another than kymatui's.
    """

    plan: Plan
    drifts: tuple[ObjectDrift, ...]
    readiness: tuple[Readiness, ...] = ()
    well: bool = True
    by_helm: bool = False

    @property
    def installed(self) -> bool:
        """Return whether the installation was ever completed."""
        return not self.plan.first

    @property
    def consistent(self) -> bool:
        """Return whether every object matches the manifest and no run was interrupted."""
        return self.installed and not self.drifts and (self.by_helm or not self.plan.unfinished)

    @property
    def ready(self) -> bool:
        return self.consistent and self.well and all(entry.ready for entry in self.readiness)


def check(
    intent: Intent,
    cluster: Cluster,
    clock: Clock,
    *,
    manager: str = FIELD_MANAGER,
    cancel: threading.Event | None = None,
    width: int = WIDTH,
    ready: bool = True,
    retry: RetryPolicy = DEFAULT_RETRY,
) -> DriftReport:
    """Compare with the cluster, without writes; with `ready`, also check the readiness."""
    stop = cancel or threading.Event()
    patient = read_once(cluster, clock, stop, retry)
    planner = Planner(as_installed(intent, patient, clock), patient, clock, manager, stop, width)
    plan, known = planner.plan(), planner.previous
    drifted = [step for step in plan.steps if step.action is not Action.SAME]
    touched = [step for step in drifted if step.action in (Action.CHANGE, Action.CONFLICT) and step.changes]
    live = dict(
        zip(
            (step.ref for step in touched),
            run_for_each(touched, lambda s: patient.get(s.ref), stop, width),
            strict=True,
        )
    )
    drifts = tuple(_drift(step, live.get(step.ref), manager) for step in drifted if _is_drift(step))
    readiness = _readiness(plan, patient, clock, stop, width) if ready else ()
    bundle = intent.bundle
    by_helm = known is not None and known.chart and not known.digest and known.finished
    own = ReleaseStore(patient, bundle.name, bundle.namespace, clock.now).as_installed(bundle) if by_helm else bundle
    return DriftReport(plan, drifts, readiness, by_helm=own is not bundle)


def as_installed(intent: Intent, cluster: Cluster, clock: Clock) -> Intent:
    """Return the intent with the release's stored rendering if chart and values are the same.

    A chart may generate passwords and certificates; their difference in a new rendering is no drift.
    """
    bundle = intent.bundle
    if bundle.release is None:
        return intent
    kept = ReleaseStore(cluster, bundle.name, bundle.namespace, clock.now).as_installed(bundle)
    same = kept.release is None or kept.release.manifest == bundle.release.manifest
    return intent if same else replace(intent, bundle=kept)


def _is_drift(step: Step) -> bool:
    return step.action is not Action.CHANGE or bool(step.changes)


def _drift(step: Step, live: Object | None, manager: str) -> ObjectDrift:
    if step.action is Action.CREATE:
        return ObjectDrift(ObjectDriftKind.MISSING, step.ref, reason=step.reason)
    if step.action in (Action.DELETE, Action.KEEP):
        return ObjectDrift(ObjectDriftKind.EXTRA, step.ref, reason=step.reason)
    if step.action is Action.BLOCKED:
        return ObjectDrift(ObjectDriftKind.BLOCKED, step.ref, reason=step.reason)
    fields = tuple(_field(change, step.conflicts, live or {}, manager) for change in step.changes)
    return ObjectDrift(ObjectDriftKind.CHANGED, step.ref, fields, step.reason)


def _field(
    change: FieldDiff, conflicts: tuple[FieldConflict, ...], live: Mapping[str, Any], manager: str
) -> DriftedField:
    owners = [conflict.manager for conflict in conflicts if _same_place(change.path, plain_path(conflict.path))]
    entries = _others(live, manager)
    if owners:
        since = max((time for time, name in entries if name == owners[0]), default="")
        return DriftedField(change.path, change.after, change.before, owners[0], since)
    clients = [entry for entry in entries if entry[1] not in KUBERNETES_COMPONENTS]
    since, who = max(clients, default=("", ""))  # a removed field has no owner, so name the latest writer
    return DriftedField(change.path, change.after, change.before, who, since)


def plain_path(path: str) -> str:
    """Return a path of a conflict in the syntax of differences: list items by name."""
    return _KEYED.sub(lambda match: f"[{match[1]}]", path)


def _same_place(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}[")) or other.startswith((f"{path}.", f"{path}["))


def _others(live: Mapping[str, Any], manager: str) -> list[tuple[str, str]]:
    """Return time and name of the other field managers of an object."""
    return [
        (str(entry.get("time") or ""), str(entry.get("manager") or ""))
        for entry in (live.get("metadata") or {}).get("managedFields") or ()
        if entry.get("manager") != manager and not entry.get("subresource")
    ]


def _readiness(
    plan: Plan, cluster: Cluster, clock: Clock, cancel: threading.Event, width: int
) -> tuple[Readiness, ...]:
    refs = [read_ref(body) for body in plan.bundle.objects]
    checked = [ref for ref in refs if has_readiness(ref) and cluster.kind(ref.kind) is not None]
    bodies = run_for_each(checked, cluster.get, cancel, width)
    return tuple(check_readiness(body, clock.now()) for body in bodies if body is not None)


def not_ready(report: DriftReport) -> Iterator[str]:
    """Yield what is not ready."""
    return (f"{readiness.ref}: {readiness.message}" for readiness in report.readiness if not readiness.ready)
