"""Rules about version drift."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kyma.problems import AdviceKind, Severity, with_advice
from kymatui.domain.modules.presence import Presence
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.messages import drift_words

BEHIND = AuditRule(
    "drift.behind",
    "an older version is running than expected",
    Severity.WARNING,
    "The cluster lacks fixes of the channel, possibly security fixes.",
    "Managed: `kymatui module MODULE` says what blocks it. Installed directly: `kymatui upgrade MODULE`.",
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
    "On a control plane, run `kymatui audit --remote`, which reads the runtimes. In a runtime, set a tag on the "
    "manager's image, or the label app.kubernetes.io/version on its workload.",
)
RULES = (BEHIND, AHEAD, HELD_BACK, WINDOW, UNKNOWN)
_KINDS = {
    DriftKind.BEHIND: BEHIND,
    DriftKind.AHEAD: AHEAD,
    DriftKind.NEWER_THAN_CHANNEL: HELD_BACK,
    DriftKind.AWAITING_WINDOW: WINDOW,
    DriftKind.UNKNOWN: UNKNOWN,
}


def check(case: AuditInput) -> Iterator[AuditFinding]:
    elsewhere = _elsewhere(case.catalog)
    if elsewhere and case.catalog.kyma is not None:
        message = "running versions are not known from the control plane; use --remote"
        yield AuditFinding(UNKNOWN, message, "", str(case.catalog.kyma.ref))
    for row in case.catalog.rows:
        rule = _KINDS.get(row.drift.kind)
        if rule is not None and row.name not in elsewhere and row.drift.is_offered:
            yield AuditFinding(
                rule,
                _message(row),
                row.name,
                str(row.manager) if row.manager else "",
                "version",
                row.installed,
                actor=row.actor,
            )


def _elsewhere(catalog: Catalog) -> frozenset[str]:
    """Return the modules whose running version is unknown because they run in another cluster."""
    if not catalog.is_control_plane:
        return frozenset()
    return frozenset(row.name for row in catalog.rows if row.drift.kind is DriftKind.UNKNOWN and not row.installed)


def _message(row: ModuleRow) -> str:
    if row.presence is Presence.UNKNOWN and not row.installed:
        return "it is unknown whether the module is running"
    running = f"running {row.installed}" if row.installed else "the running version is unknown"
    expected = f"expected {row.desired}" if row.desired else "the expected version is unknown"
    words = "" if row.drift.kind is DriftKind.UNKNOWN else f" ({drift_words(row.drift)})"
    return _explained(row, f"{running}, {expected}{words}")


_OF_VERSIONS = (AdviceKind.CHANGE_CHANNEL, AdviceKind.REINSTALL, AdviceKind.RESUME, AdviceKind.UPGRADE, AdviceKind.WAIT)


def _explained(row: ModuleRow, message: str) -> str:
    """Return the message with what keeps the version, and the advice, where the row's reason is about that."""
    advice = row.reason.advice
    if advice is None or advice.kind not in _OF_VERSIONS:
        return message
    has_cause = advice.kind in (AdviceKind.RESUME, AdviceKind.WAIT)  # of others the message is the cause
    return with_advice(f"{message}; {row.reason.cause}" if has_cause else message, advice)
