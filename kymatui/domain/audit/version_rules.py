"""Rules about version drift."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.kyma.problems import Severity
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.messages import drift_words

BEHIND = AuditRule(
    "drift.behind",
    "an older version runs than should",
    Severity.WARNING,
    "Fixes that the channel has, security fixes among them, are not in this cluster.",
    "For a managed module find out what holds lifecycle-manager up; upgrade one that was installed directly.",
)
AHEAD = AuditRule(
    "drift.ahead",
    "a newer version runs than should",
    Severity.WARNING,
    "Somebody installed it past the channel; nobody tested this version with the others.",
    "Find out who did it; wait for the channel, or install the channel's version again.",
)
HELD_BACK = AuditRule(
    "drift.held-back",
    "the channel has a lower version, and nothing is downgraded",
    Severity.WARNING,
    "The module gets no updates until the channel has caught up.",
    "Wait for the channel, or delete the module and add it again.",
)
WINDOW = AuditRule(
    "drift.window",
    "an update waits for a maintenance window",
    Severity.INFO,
    "The update needs a downtime, which this runtime allows at certain times only.",
    "Nothing, or let the Kyma skip maintenance windows.",
)
UNKNOWN = AuditRule(
    "drift.unknown",
    "nobody can tell which version runs",
    Severity.INFO,
    "Without the installed version no drift can be seen.",
    "Give the manager's image a tag, or its workload the label app.kubernetes.io/version.",
)
RULES = (BEHIND, AHEAD, HELD_BACK, WINDOW, UNKNOWN)
_KINDS = {
    DriftKind.BEHIND: BEHIND,
    DriftKind.AHEAD: AHEAD,
    DriftKind.CHANNEL_SKEW: HELD_BACK,
    DriftKind.PENDING_MAINTENANCE: WINDOW,
    DriftKind.UNKNOWN: UNKNOWN,
}


def check(case: AuditInput) -> Iterator[AuditFinding]:
    for row in case.catalog.rows:
        rule = _KINDS.get(row.drift.kind)
        if rule is not None:
            message = f"{row.installed or 'an unknown version'} runs, {row.desired or 'an unknown version'} should"
            words = drift_words(row.drift)
            yield AuditFinding(
                rule,
                f"{message} ({words})",
                row.name,
                str(row.manager) if row.manager else "",
                "version",
                row.installed,
                actor=row.actor,
            )
