"""Notices for an empty fleet table: loading, no runtime, no match, not allowed, no connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.snapshot.cluster_index import KYMA_FEED
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.ui.presenters.catalog.table_notices import TableNotice, failed_notice, failure_notice

if TYPE_CHECKING:
    from kymatui.domain.fleet.fleet_tracker import FleetSnapshot
    from kymatui.errors import KymatuiError


def fleet_notice(
    fleet: FleetSnapshot | None, failure: KymatuiError | None, shown: int, step: str = ""
) -> TableNotice | None:
    """Return the notice; None where there are rows. `step` is what is done for the first answer."""
    if failure is not None and fleet is None:
        return failure_notice(failure)
    if shown:
        return None
    if step or fleet is None:
        return TableNotice(sanitize(f"{step or 'Connecting'} …"), tone="processing")
    feed = fleet.feeds.get(KYMA_FEED)
    if fleet.runtimes:
        return TableNotice(
            "Nothing matches",
            f"{format_count(len(fleet.runtimes), 'runtime')} hidden.",
            "esc clears the filter",
        )
    if feed is None or feed.state is FeedState.SYNCING:
        return TableNotice("Loading …", "Listing the Kymas of the control plane.", tone="processing")
    words = {
        FeedState.ABSENT: ("No Kyma on this cluster", "choose a control plane with --kcp-context"),
        FeedState.FORBIDDEN: (
            "Not allowed to list Kymas",
            "`kymatui rights` prints the Role that allows it",
        ),
    }
    if feed.state is FeedState.FAILED:
        return failed_notice(feed, "The control plane does not answer")
    title, hint = words.get(feed.state, ("No runtimes", "the control plane has no Kyma"))
    return TableNotice(title, sanitize(feed.message), hint, "warning" if feed.state in words else "muted")
