"""Rules about states: modules that fail or are in transition for too long, the Kyma, and lists that are unread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_conditions, read_meta, read_ref, read_time
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor, Severity, worst_severity
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.presence import Presence
from kymatui.domain.modules.risks import RiskKind
from kymatui.domain.snapshot.snapshots import PODS, Feed, FeedState, followed_kind
from kymatui.domain.versions.drift import DriftKind

PATIENCE = 900.0
"""Seconds that a module may be in transition without a finding."""
_SLOW, _STUCK = 120.0, 3600.0
"""Seconds after which a deletion is a warning, and an error; one that waits for a person is a warning at once."""

ERROR = AuditRule(
    "state.error",
    "a module is in error",
    Severity.ERROR,
    "The module does not work.",
    "`kymatui module MODULE` lists what its objects report, `kymatui logs MODULE` what its manager logs.",
)
WARNING = AuditRule(
    "state.warning",
    "a module warns",
    Severity.WARNING,
    "The module needs an action from you.",
    "Do what the finding says; `kymatui module MODULE` lists what its objects report.",
)
DELETING = AuditRule(
    "state.deleting",
    "a deletion does not finish",
    Severity.WARNING,
    "A finalizer blocks the deletion; until it is removed, parts of the module stay. After an hour it is an error.",
    "Run `kymatui finalizers MODULE`, and delete the objects that block the deletion.",
)
PROCESSING = AuditRule(
    "state.processing",
    "a module has been Processing for a long time",
    Severity.WARNING,
    "An unfinished installation or upgrade may have left parts of two versions.",
    "`kymatui events MODULE` and `kymatui logs MODULE` have the cause.",
)
DISAGREE = AuditRule(
    "state.disagree",
    "Kyma, Manifest and module CR report different states",
    Severity.INFO,
    "Each of them alone is misleading.",
    "Wait a minute; if it stays, check which controller no longer runs.",
)
ZERO = AuditRule(
    "manager.zero",
    "a module's manager is scaled to zero",
    Severity.WARNING,
    "The module's objects are not reconciled.",
    "Scale it up, or delete the module.",
)
RISK = AuditRule(
    "module.risk",
    "lifecycle-manager is known to do something unexpected with a module",
    Severity.WARNING,
    "It was seen to do so with the fields that the Kyma and the Manifest have now.",
    "Do what the finding says before you change or disable the module.",
)
_TOLD_ELSEWHERE = (Presence.ORPHAN, Presence.CONFLICT, Presence.PARTIAL, Presence.DELETION_INTERRUPTED)
RULES = (ERROR, WARNING, DELETING, PROCESSING, DISAGREE, ZERO, RISK)


def check(case: AuditInput) -> Iterator[AuditFinding]:
    resources = {read_ref(raw): raw for objects in case.snapshot.module_resources.values() for raw in objects}
    manifests = {read_ref(raw): raw for raw in case.snapshot.manifests}
    for row in case.catalog.rows:
        since = _since(row, resources, manifests)
        rule = _rule(row, since, case.now)
        about = [item.resource for item in row.checked] or [ref for ref in (row.manifest, row.manager) if ref]
        if rule is not None:
            yield AuditFinding(
                rule,
                row.reason.text,
                row.name,
                str(next(iter((*row.reason.blocked_by, *about)), "")),
                row.state_source.value,
                row.state.value,
                since,
                row.actor,
                level=worst_severity(rule.severity, row.reason.severity, _of_time(rule, since, case.now)),
            )
        yield from _besides(row)


def _rule(row: ModuleRow, since: float | None, now: float) -> AuditRule | None:
    waiting = _has_waited(since, now, PATIENCE)
    if row.presence is Presence.DELETING:
        needs_person = row.reason.severity is not Severity.INFO
        return DELETING if needs_person or _has_waited(since, now, _SLOW) else None
    if row.state is State.PROCESSING:
        return PROCESSING if waiting else None
    if row.presence in _TOLD_ELSEWHERE or row.drift.kind is DriftKind.NEWER_THAN_CHANNEL:
        return ERROR if row.state is State.ERROR and row.presence not in _TOLD_ELSEWHERE else None
    return {State.ERROR: ERROR, State.WARNING: WARNING}.get(row.state)


def _of_time(rule: AuditRule, since: float | None, now: float) -> Severity:
    return Severity.ERROR if rule is DELETING and _has_waited(since, now, _STUCK) else Severity.INFO


def _has_waited(since: float | None, now: float, seconds: float) -> bool:
    return since is not None and now - since > seconds


def _besides(row: ModuleRow) -> Iterator[AuditFinding]:
    """Yield what else is wrong with a module; a finding about its state or version has its reason."""
    if words := row.disagreement:
        yield AuditFinding(DISAGREE, words, row.name, str(row.manifest) if row.manifest else "", "status.state")
    for risk in row.foreseen if not row.unknown else ():  # an unread list may say otherwise
        # a label is read whatever else is: it is listed also where the versions cannot be compared
        if risk.message != row.reason.cause or risk.risk is RiskKind.PAUSED:
            about = str(row.manifest) if row.manifest else ""
            yield AuditFinding(RISK, risk.text, row.name, about, risk.risk.value, actor=risk.actor, level=risk.severity)
    if row.readiness is not None and row.readiness.scaled_to_zero:
        words = f"{row.manager} has no replicas"
        yield AuditFinding(ZERO, words, row.name, str(row.manager or ""), "spec.replicas", "0", actor=Actor.YOU)


def _since(
    row: ModuleRow, resources: Mapping[ObjectRef, Mapping[str, Any]], manifests: Mapping[ObjectRef, Mapping[str, Any]]
) -> float | None:
    """Return since when the state of a row holds, according to its first module CR, else its Manifest.

    This is the deletion time, else the newest condition change, else the last operation, else the creation. A deletion
    began with the first of the module's objects.
    """
    found = [resources.get(item.resource) for item in row.checked]
    found += [manifests.get(row.manifest)] if row.manifest is not None else []
    present = [body for body in found if body is not None]
    if not present:
        return None
    if row.presence is Presence.DELETING:
        deleted = [read_meta(JsonReader(body)).deleted for body in present]
        if times_of_deletion := [time for time in deleted if time is not None]:
            return min(times_of_deletion)
    raw = present[0]
    reader = JsonReader(raw)
    meta, status = read_meta(reader), reader.child("status")
    if meta.deleted is not None:
        return meta.deleted
    times = [condition.since for condition in read_conditions(status) if condition.since is not None]
    changed = read_time(status.child("lastOperation"), "lastUpdateTime")
    return max(times, default=changed if changed is not None else meta.created)


SKIPPED = AuditRule(
    "kyma.skipped",
    "lifecycle-manager skips the Kyma",
    Severity.WARNING,
    "lifecycle-manager installs, upgrades and repairs nothing for this Kyma.",
    "Remove the label operator.kyma-project.io/skip-reconciliation.",
)
KYMA_DELETING = AuditRule(
    "kyma.deleting",
    "the Kyma is being deleted",
    Severity.WARNING,
    "All its modules are uninstalled with it.",
    "Find out who deleted it; finalizers block the deletion of what is left.",
)
KYMA_ERROR = AuditRule(
    "kyma.error",
    "the Kyma itself is in Error",
    Severity.ERROR,
    "lifecycle-manager cannot install, upgrade or repair modules until this is resolved.",
    "The message is lifecycle-manager's; repair what it names.",
)
KYMA_WARNING = AuditRule(
    "kyma.warning",
    "the Kyma itself is in Warning",
    Severity.WARNING,
    "A condition of the Kyma needs an action, although its modules are well.",
    "The message is lifecycle-manager's; repair what it names.",
)
UNTRUE = AuditRule(
    "kyma.state",
    "the Kyma's state does not match its modules",
    Severity.INFO,
    "The Kyma alone is misleading.",
    "Wait a minute; if it stays, check lifecycle-manager.",
)
STOPPED = AuditRule(
    "kyma.stopped",
    "lifecycle-manager is not running",
    Severity.ERROR,
    "Nothing installs, upgrades, repairs or deletes modules of this Kyma; its changes have no effect.",
    "Start the Deployment again whose Lease is not renewed; its Pods and their logs say why it ended.",
)
UNREAD = AuditRule(
    "access.unread",
    "some objects cannot be read",
    Severity.WARNING,
    "The audit does not cover what it cannot read.",
    "Give the auditor the rights to list and watch them; for a list that is loading, use a longer --timeout.",
)
KYMA_RULES = (SKIPPED, KYMA_DELETING, KYMA_ERROR, KYMA_WARNING, STOPPED, UNTRUE, UNREAD)
_UNREAD = (FeedState.FORBIDDEN, FeedState.FAILED, FeedState.STALE, FeedState.SYNCING)


def check_kyma(case: AuditInput) -> Iterator[AuditFinding]:
    kyma = case.catalog.kyma
    if kyma is not None:
        name = str(kyma.ref)
        if kyma.skipped and not kyma.deleting:  # a deletion ignores the label
            yield AuditFinding(SKIPPED, f"{name} has the skip label", "", name, "metadata.labels", actor=Actor.YOU)
        if kyma.stopped:
            yield AuditFinding(STOPPED, f"{name}: {kyma.stopped}", "", name, actor=Actor.CLUSTER)
        if kyma.deleting:
            metas = (read_meta(JsonReader(raw)) for raw in case.snapshot.kymas if read_ref(raw) == kyma.ref)
            since = next((meta.deleted for meta in metas), None)
            path = "metadata.deletionTimestamp"
            yield AuditFinding(KYMA_DELETING, f"{name} is being deleted", "", name, path, since=since, actor=Actor.KLM)
        elif kyma.own_error:
            rule = KYMA_ERROR if kyma.state == State.ERROR else KYMA_WARNING
            yield AuditFinding(rule, f"{name}: {kyma.own_error}", "", name, "status.state", kyma.state, actor=Actor.YOU)
        elif kyma.state and kyma.state != kyma.expected and kyma.expected is not State.UNKNOWN:
            words = f"{name} reports {kyma.state}, but its modules and conditions imply {kyma.expected}"
            actor = Actor.YOU if kyma.skipped else Actor.KLM
            yield AuditFinding(UNTRUE, words, "", name, "status.state", kyma.state, actor=actor)
    lease = case.snapshot.keeper_lease
    if lease is not None and lease.doubt:
        yield AuditFinding(UNREAD, lease.doubt, "", "Lease", actor=Actor.CLUSTER)
    yield from unread_findings(case.snapshot.feeds)


def unread_findings(feeds: Mapping[str, Feed]) -> Iterator[AuditFinding]:
    """Yield a finding for each list that did not come."""
    for name, feed in sorted(feeds.items()):
        if feed.state in _UNREAD and followed_kind(name) != PODS:  # Pods only explain what other findings report
            detail = f": {feed.message}" if feed.message else ""
            is_loading = feed.state is FeedState.SYNCING
            words = f"{name} (loading): not listed in time" if is_loading else f"{name} ({feed.state.value})"
            actor = Actor.YOU if is_loading else Actor.CLUSTER
            yield AuditFinding(UNREAD, f"{words}{detail}", "", name, since=_stale(feed), actor=actor)


def _stale(feed: Feed) -> float | None:
    return feed.since if feed.state is FeedState.STALE and feed.since else None
