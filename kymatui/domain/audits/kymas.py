"""The Kyma itself, and what the audit could not see."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.domain.audits.findings import Case, Finding, Rule
from kymatui.domain.objects import read_meta, read_ref
from kymatui.domain.problems import Actor, Severity
from kymatui.domain.reading import Reader
from kymatui.domain.snapshots import Feed, FeedState
from kymatui.domain.states import State

SKIPPED = Rule(
    "kyma.skipped",
    "lifecycle-manager passes over the Kyma",
    Severity.WARNING,
    "Nothing that the Kyma asks for is done, and nothing is repaired.",
    "Take the label operator.kyma-project.io/skip-reconciliation away.",
)
DELETING = Rule(
    "kyma.deleting",
    "the Kyma is being deleted",
    Severity.WARNING,
    "All its modules go with it.",
    "Find out who asked for it; what is left is held by finalizers.",
)
UNTRUE = Rule(
    "kyma.state",
    "the Kyma says another state than its modules add up to",
    Severity.INFO,
    "Whoever looks at the Kyma only is misled.",
    "Nothing, if it passes; else look at lifecycle-manager.",
)
UNREAD = Rule(
    "access.unread",
    "something could not be read",
    Severity.WARNING,
    "The audit says nothing of what it could not see: no finding there is no proof that nothing is wrong.",
    "Give the auditor the rights to list and watch it.",
)
RULES = (SKIPPED, DELETING, UNTRUE, UNREAD)
_UNREAD = (FeedState.FORBIDDEN, FeedState.FAILED, FeedState.STALE, FeedState.SYNCING)


def check(case: Case) -> Iterator[Finding]:
    kyma = case.catalog.kyma
    if kyma is not None:
        name = str(kyma.ref)
        if kyma.skipped:
            yield Finding(SKIPPED, f"{name} is labelled to be skipped", "", name, "metadata.labels", actor=Actor.YOU)
        if kyma.deleting:
            since = next((_deleted(raw) for raw in case.snapshot.kymas if read_ref(raw) == kyma.ref), None)
            path = "metadata.deletionTimestamp"
            yield Finding(DELETING, f"{name} is being deleted", "", name, path, since=since, actor=Actor.KLM)
        elif kyma.state and kyma.state != kyma.expected and kyma.expected is not State.UNKNOWN:
            words = f"{name} says {kyma.state}; its modules and conditions add up to {kyma.expected}"
            yield Finding(UNTRUE, words, "", name, "status.state", kyma.state, actor=Actor.KLM)
    for name, feed in sorted(case.snapshot.feeds.items()):
        if feed.state in _UNREAD:
            said = f": {feed.message}" if feed.message else ""
            yield Finding(
                UNREAD, f"{name} ({feed.state.value}){said}", "", name, since=_stale(feed), actor=Actor.CLUSTER
            )


def _deleted(raw: object) -> float | None:
    return read_meta(Reader(raw)).deleted


def _stale(feed: Feed) -> float | None:
    return feed.since if feed.state is FeedState.STALE and feed.since else None
