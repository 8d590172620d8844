"""Rules about module states: failing modules, and modules in transition for too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.conditions import read_conditions
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_meta, read_ref, read_time
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.presence import Presence
from kymatui.domain.versions.drift import DriftKind

PATIENCE = 900.0
"""Seconds that a module may be in transition without a finding."""

ERROR = AuditRule(
    "state.error",
    "a module is in error",
    Severity.ERROR,
    "What the module is for does not work.",
    "Read the reason; it says who has to act.",
)
WARNING = AuditRule(
    "state.warning",
    "a module warns",
    Severity.WARNING,
    "The module needs something that only a person can give it.",
    "Read the reason; it says what is missing.",
)
DELETING = AuditRule(
    "state.deleting",
    "a deletion does not come to its end",
    Severity.WARNING,
    "Something holds the module's resource; until it lets go, the module stays half there.",
    "Look at the finalizers and at what is left of the module's resources, and remove those.",
)
PROCESSING = AuditRule(
    "state.processing",
    "a module has been on its way for a long time",
    Severity.WARNING,
    "An installation or an upgrade that does not end may have left parts of two versions side by side.",
    "Look at the manager's pods and events.",
)
DISAGREE = AuditRule(
    "state.disagree",
    "Kyma, Manifest and the module's resource say different things",
    Severity.INFO,
    "Whoever looks at one of them only is misled.",
    "Nothing, if it passes; else find out who does not look any more.",
)
ZERO = AuditRule(
    "manager.zero",
    "a manager is scaled to zero",
    Severity.WARNING,
    "Nothing acts on the module's resources.",
    "Scale it up, or take the module away.",
)
_TOLD_ELSEWHERE = (Presence.ORPHAN, Presence.CONFLICT)
RULES = (ERROR, WARNING, DELETING, PROCESSING, DISAGREE, ZERO)


def check(case: AuditInput) -> Iterator[AuditFinding]:
    resources = {read_ref(raw): raw for objects in case.snapshot.module_resources.values() for raw in objects}
    manifests = {read_ref(raw): raw for raw in case.snapshot.manifests}
    for row in case.catalog.rows:
        since = _since(row, resources, manifests)
        rule = _rule(row, since, case.now)
        if rule is not None:
            yield AuditFinding(
                rule,
                row.reason.text,
                row.name,
                str(row.checked[0].resource if row.checked else row.manifest or row.manager or ""),
                row.state_source.value,
                row.state.value,
                since,
                row.actor,
            )
        yield from _besides(row)


def _rule(row: ModuleRow, since: float | None, now: float) -> AuditRule | None:
    waiting = since is not None and now - since > PATIENCE
    if row.presence is Presence.DELETING:
        return DELETING if waiting else None
    if row.state is State.PROCESSING:
        return PROCESSING if waiting else None
    if row.presence in _TOLD_ELSEWHERE or row.drift.kind is DriftKind.CHANNEL_SKEW:
        return ERROR if row.state is State.ERROR and row.presence not in _TOLD_ELSEWHERE else None
    return {State.ERROR: ERROR, State.WARNING: WARNING}.get(row.state)


def _besides(row: ModuleRow) -> Iterator[AuditFinding]:
    if row.managed and row.reports.disagree:
        said = {"Kyma": row.reports.kyma, "Manifest": row.reports.manifest, "resource": row.reports.resource}
        words = ", ".join(f"{who} says {word}" for who, word in said.items() if word)
        yield AuditFinding(DISAGREE, words, row.name, str(row.manifest) if row.manifest else "", "status.state")
    if row.readiness is not None and row.readiness.scaled_to_zero:
        words = f"{row.manager} has no replicas"
        yield AuditFinding(ZERO, words, row.name, str(row.manager or ""), "spec.replicas", "0", actor=Actor.YOU)


def _since(
    row: ModuleRow, resources: Mapping[ObjectRef, Mapping[str, Any]], manifests: Mapping[ObjectRef, Mapping[str, Any]]
) -> float | None:
    """Return since when the state of a row holds, according to its first module CR, else its Manifest.

    This is the deletion time, else the newest condition change, else the last operation, else the creation.
    """
    raw = resources.get(row.checked[0].resource) if row.checked else None
    if raw is None and row.manifest is not None:
        raw = manifests.get(row.manifest)
    if raw is None:
        return None
    reader = JsonReader(raw)
    meta, status = read_meta(reader), reader.child("status")
    if meta.deleted is not None:
        return meta.deleted
    times = [found.since for found in read_conditions(status) if found.since is not None]
    changed = read_time(status.child("lastOperation"), "lastUpdateTime")
    return max(times, default=changed if changed is not None else meta.created)
