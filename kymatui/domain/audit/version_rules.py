"""Rules about version drift."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.kyma.problems import Severity
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.messages import drift_words

BEHIND = AuditRule(
    "drift.behind",
    "an older version is running than expected",
    Severity.WARNING,
    "The cluster lacks fixes of the channel, possibly security fixes.",
    "Managed: find out what blocks lifecycle-manager. Installed directly: `kymatui upgrade MODULE`.",
)
AHEAD = AuditRule(
    "drift.ahead",
    "a newer version is running than expected",
    Severity.WARNING,
    "It was installed outside the channel and is not tested with the other modules.",
    "Wait for the channel, or install the channel's version again.",
)
HELD_BACK = AuditRule(
    "drift.held-back",
    "the installed version is newer than the channel",
    Severity.WARNING,
    "The module gets no updates until the channel has a newer version.",
    "Wait for the channel, or delete the module and enable it again.",
)
WINDOW = AuditRule(
    "drift.window",
    "an upgrade awaits its maintenance window",
    Severity.INFO,
    "The upgrade needs downtime, which this runtime allows only in maintenance windows.",
    "Wait, or let the Kyma skip maintenance windows.",
)
UNKNOWN = AuditRule(
    "drift.unknown",
    "the running version is unknown",
    Severity.INFO,
    "Without the installed version, drift cannot be detected.",
    "Set a tag on the manager's image, or the label app.kubernetes.io/version on its workload.",
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
            message = f"running {row.installed or 'an unknown version'}, expected {row.desired or 'an unknown version'}"
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
