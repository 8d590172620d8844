"""Whether what is installed is still what its manifest says: every field, what is missing, what is too much."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.modules.readiness import Readiness, check_readiness
from kymatui.engine.apply.planner import plan
from kymatui.engine.cluster.concurrency import WIDTH, run_for_each
from kymatui.engine.cluster.ports import FIELD_MANAGER, Clock, Cluster, Object
from kymatui.engine.cluster.retries import DEFAULT_RETRY, RetryingCluster, RetryPolicy
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.jobs.wait import has_readiness
from kymatui.engine.plans.diff import FieldDiff
from kymatui.engine.plans.plan import Action, FieldConflict, Intent, Plan, Step

_KEYED: Final = re.compile(r'\[(?:[A-Za-z]+="([^"]*)"(?:,[^\]]*)?)\]')


class ObjectDriftKind(StrEnum):
    """What is wrong with an object."""

    CHANGED = "changed"
    MISSING = "missing"
    EXTRA = "extra"  # an earlier version had it, or it was kept; the manifest does not have it
    BLOCKED = "blocked"  # nobody can say: the server refuses to compare


@dataclass(frozen=True, slots=True)
class DriftedField:
    """One field: what the manifest says, what is there, and which field manager wrote that ("" where nobody knows).

    `since` is when that manager wrote to the object last, in the server's words ("2026-11-21T12:00:00Z").
    """

    path: str
    wanted: object
    found: object
    manager: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True)
class ObjectDrift:
    """One object that is not as it should be."""

    finding: ObjectDriftKind
    ref: ObjectRef
    fields: tuple[DriftedField, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DriftReport:
    """What a check found; carrying out `plan` repairs it (with force where others own the fields).

    `well` is what a check function of the caller said.
    """

    plan: Plan
    drifts: tuple[ObjectDrift, ...]
    readiness: tuple[Readiness, ...] = ()
    well: bool = True

    @property
    def installed(self) -> bool:
        """Whether it was ever installed to its end."""
        return not self.plan.first

    @property
    def consistent(self) -> bool:
        """Whether everything is there as the manifest says, and no run was cut off."""
        return self.installed and not self.drifts and not self.plan.unfinished

    @property
    def ready(self) -> bool:
        return self.consistent and self.well and all(one.ready for one in self.readiness)


def check(
    intent: Intent,
    cluster: Cluster,
    clock: Clock,
    *,
    manager: str = FIELD_MANAGER,
    cancel: threading.Event | None = None,
    width: int = WIDTH,
    ready: bool = True,
    patience: RetryPolicy = DEFAULT_RETRY,
) -> DriftReport:
    """Compares, and writes nothing; with `ready` also whether everything does what it is for."""
    stop = cancel or threading.Event()
    intent = as_installed(intent, cluster, clock)
    made = plan(intent, cluster, clock, manager=manager, cancel=stop, width=width, patience=patience)
    drifted = [step for step in made.steps if step.action is not Action.SAME]
    patient = RetryingCluster(cluster, clock, stop, patience)
    touched = [step for step in drifted if step.action in (Action.CHANGE, Action.CONFLICT) and step.changes]
    live = dict(
        zip(
            (step.ref for step in touched),
            run_for_each(touched, lambda s: patient.get(s.ref), stop, width),
            strict=True,
        )
    )
    drifts = tuple(_drift(step, live.get(step.ref), manager) for step in drifted if _is_drift(step))
    seen = _readiness(made, patient, clock, stop, width) if ready else ()
    return DriftReport(made, drifts, seen)


def as_installed(intent: Intent, cluster: Cluster, clock: Clock) -> Intent:
    """With the rendering that is kept in the release, where chart and values are the same and the rendering is not.

    A chart makes up passwords and certificates: that they are others when it is rendered anew is no drift.
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
    owners = [one.manager for one in conflicts if _same_place(change.path, plain_path(one.path))]
    entries = _others(live, manager)
    if owners:
        since = max((time for time, name in entries if name == owners[0]), default="")
        return DriftedField(change.path, change.after, change.before, owners[0], since)
    since, who = max(entries, default=("", ""))  # a field that was taken away has no owner any more
    return DriftedField(change.path, change.after, change.before, who, since)


def plain_path(path: str) -> str:
    """A path as the server writes it in conflicts, in the words of differences: list items by their names."""
    return _KEYED.sub(lambda match: f"[{match[1]}]", path)


def _same_place(one: str, other: str) -> bool:
    return one == other or one.startswith((f"{other}.", f"{other}[")) or other.startswith((f"{one}.", f"{one}["))


def _others(live: Mapping[str, Any], manager: str) -> list[tuple[str, str]]:
    """When who else wrote the object."""
    return [
        (str(entry.get("time") or ""), str(entry.get("manager") or ""))
        for entry in (live.get("metadata") or {}).get("managedFields") or ()
        if entry.get("manager") != manager and not entry.get("subresource")
    ]


def _readiness(
    made: Plan, cluster: Cluster, clock: Clock, cancel: threading.Event, width: int
) -> tuple[Readiness, ...]:
    refs = [read_ref(body) for body in made.bundle.objects]
    wanted = [ref for ref in refs if has_readiness(ref) and cluster.kind(ref.kind) is not None]
    found = run_for_each(wanted, cluster.get, cancel, width)
    return tuple(check_readiness(body, clock.now()) for body in found if body is not None)


def not_ready(report: DriftReport) -> Iterator[str]:
    """What is not ready, in words."""
    return (f"{one.ref}: {one.words}" for one in report.readiness if not one.ready)
