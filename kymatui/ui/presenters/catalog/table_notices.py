"""Notices for an empty table: loading, no objects, no match, not allowed, no connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.snapshot.snapshots import LOGIN_REJECTED, Feed, FeedState, Snapshot
from kymatui.errors import KymatuiError, UnauthorizedError

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import Catalog

GROUP = "operator.kyma-project.io"
CATALOG_KINDS = ("moduletemplates", "modulereleasemetas", "kymas")


class TableNotice(Struct, frozen=True):
    """Notice with a title, its meaning, and the options of the user."""

    title: str
    body: str = ""
    hint: str = ""
    tone: str = "muted"


def table_notice(
    snapshot: Snapshot | None,
    catalog: Catalog | None,
    failure: KymatuiError | None,
    *,
    shown: int,
    filtered: bool,
    namespace: str = "",
    step: str = "",
) -> TableNotice | None:
    """Return the notice; None where there are rows.

    `namespace` is the one that the table is narrowed to, `step` what is done for the first answer.
    """
    if failure is not None and catalog is None:
        return failure_notice(failure)
    if shown:
        return None
    if catalog is not None and catalog.rows and filtered:
        return TableNotice(
            "Nothing matches",
            f"{format_count(len(catalog.rows), 'module')} hidden by the filter.",
            "esc clears the filter",
        )
    if step or snapshot is None or catalog is None:
        return TableNotice(sanitize(f"{step or 'Connecting'} …"), tone="processing")
    if catalog.rows and namespace and not _is_loading(snapshot):
        hidden = format_count(len(catalog.rows), "module")
        body = f"No module has a module CR or manager in it; {hidden} hidden."
        return TableNotice(f"Nothing in namespace {sanitize(namespace)}", body, "`:ns all` shows every module")
    return _empty(snapshot, [snapshot.feeds.get(f"{kind}.{GROUP}", Feed(FeedState.SYNCING)) for kind in CATALOG_KINDS])


def failure_notice(failure: KymatuiError) -> TableNotice:
    """Return the notice of a connection that was never opened."""
    if isinstance(failure, UnauthorizedError):
        return failed_notice(Feed.of_error(FeedState.FAILED, 0.0, failure), LOGIN_REJECTED)
    return TableNotice("No connection", sanitize(str(failure)), sanitize(failure.hint), "error")


def failed_notice(failed: Feed, title: str) -> TableNotice:
    """Return the notice of a list that failed; a rejected login has a title and advice of its own."""
    if failed.is_login_rejected:
        advice = sanitize(f"{failed.login_advice}; ctrl-r retries")
        return TableNotice(LOGIN_REJECTED, sanitize(failed.message), advice, "error")
    return TableNotice(title, sanitize(failed.message), "ctrl-r retries", "error")


def _is_loading(snapshot: Snapshot) -> bool:
    return any(feed.state is FeedState.SYNCING for feed in snapshot.feeds.values())


def _empty(snapshot: Snapshot, feeds: list[Feed]) -> TableNotice:
    states = [feed.state for feed in feeds]
    done = sum(feed.state is not FeedState.SYNCING for feed in snapshot.feeds.values())
    if FeedState.FAILED in states:
        failed = next(feed for feed in feeds if feed.state is FeedState.FAILED)
        return failed_notice(failed, "The cluster does not answer")
    if FeedState.SYNCING in states:
        return TableNotice("Loading …", f"{done} of {format_count(len(snapshot.feeds), 'kind')}", tone="processing")
    if all(state is FeedState.ABSENT for state in states):
        return TableNotice(
            "No Kyma on this cluster",
            f"It serves none of the kinds of {GROUP}.",
            "choose another cluster with `:ctx`, or try `kymatui demo`",
            "warning",
        )
    if FeedState.FORBIDDEN in states:
        kinds = ", ".join(k for k, s in zip(CATALOG_KINDS, states, strict=True) if s is FeedState.FORBIDDEN)
        return TableNotice(
            "Not allowed to list modules",
            f"You may not list {kinds}.",
            "`kymatui rights` prints the Role that allows it",
            "warning",
        )
    from kymatui.domain.snapshot.missing_lists import explain_missing  # not before the first paint

    unknown = explain_missing(snapshot.feeds, [f"{kind}.{GROUP}" for kind in (*CATALOG_KINDS, "manifests")])
    if unknown is not None:
        return TableNotice("Modules unknown", sanitize(str(unknown)), "ctrl-r retries", "warning")
    return TableNotice("No modules", "The catalog of this cluster is empty.")
