"""Rules about the Kyma resource, and about lists that the audit could not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_meta, read_ref
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.snapshots import PODS, Feed, FeedState, followed_kind

SKIPPED = AuditRule(
    "kyma.skipped",
    "lifecycle-manager skips the Kyma",
    Severity.WARNING,
    "lifecycle-manager installs, upgrades and repairs nothing for this Kyma.",
    "Remove the label operator.kyma-project.io/skip-reconciliation.",
)
DELETING = AuditRule(
    "kyma.deleting",
    "the Kyma is being deleted",
    Severity.WARNING,
    "All its modules are uninstalled with it.",
    "Find out who deleted it; finalizers block the deletion of what is left.",
)
ERROR = AuditRule(
    "kyma.error",
    "the Kyma itself is in Error",
    Severity.ERROR,
    "lifecycle-manager cannot install, upgrade or repair modules until this is resolved.",
    "The message is lifecycle-manager's; repair what it names.",
)
WARNING = AuditRule(
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
RULES = (SKIPPED, DELETING, ERROR, WARNING, STOPPED, UNTRUE, UNREAD)
_UNREAD = (FeedState.FORBIDDEN, FeedState.FAILED, FeedState.STALE, FeedState.SYNCING)


def check(case: AuditInput) -> Iterator[AuditFinding]:
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
            yield AuditFinding(DELETING, f"{name} is being deleted", "", name, path, since=since, actor=Actor.KLM)
        elif kyma.own_error:
            rule = ERROR if kyma.state == State.ERROR else WARNING
            yield AuditFinding(rule, f"{name}: {kyma.own_error}", "", name, "status.state", kyma.state, actor=Actor.YOU)
        elif kyma.state and kyma.state != kyma.expected and kyma.expected is not State.UNKNOWN:
            words = f"{name} reports {kyma.state}, but its modules and conditions imply {kyma.expected}"
            actor = Actor.YOU if kyma.skipped else Actor.KLM
            yield AuditFinding(UNTRUE, words, "", name, "status.state", kyma.state, actor=actor)
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
