"""How current the picture is, in one word and a tone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kymatui.domain.snapshots import CATALOG_FEED, Feed, FeedState, is_place_feed
from kymatui.errors import KymatuiError
from kymatui.ui.text import plain


@dataclass(frozen=True, slots=True)
class Connection:
    """`stale_since` is set where rows are of the past, with the reason; they are dimmed and writes are locked."""

    word: str
    tone: str
    stale_since: float = 0.0
    why: str = ""


def describe(feeds: Mapping[str, Feed], now: float, failure: KymatuiError | None = None) -> Connection:
    """The worst that matters: stale, then loading, then live; what is forbidden or absent is a problem, not stale.

    Catalogs from outside say nothing of the cluster.
    """
    if failure is not None:
        return Connection("offline", "error")
    feeds = {name: feed for name, feed in feeds.items() if not name.startswith(CATALOG_FEED)}
    # What is followed for one screen is said on that screen, unless the connection is lost.
    feeds = {n: feed for n, feed in feeds.items() if feed.state is FeedState.STALE or not is_place_feed(n)}
    states = [feed.state for feed in feeds.values()]
    if not states:
        return Connection("connecting", "processing")
    if FeedState.STALE in states:
        from kymatui.domain.wording import span  # with all that it has words for: the first paint needs none of them

        stale = [feed for feed in feeds.values() if feed.state is FeedState.STALE]
        since = min(feed.since for feed in stale)
        why = next((feed.message for feed in stale if feed.message), "")
        return Connection(f"stale {span(now - since)}", "error", since or now, why)
    if FeedState.FAILED in states and not {FeedState.LIVE, FeedState.SYNCING}.intersection(states):
        return Connection("offline", "error")
    waiting = states.count(FeedState.SYNCING)
    if waiting:
        return Connection(f"loading {len(states) - waiting}/{len(states)}", "processing")
    if FeedState.FAILED in states:
        return Connection("partly live", "warning")
    return Connection("live", "ready")


def banner(connection: Connection, failure: KymatuiError | None) -> str:
    """The line above everything where what is shown may not be true any more; empty where it is."""
    if failure is not None:
        return plain(f"▲ what you see is not current: {failure}")
    if connection.stale_since:
        age = connection.word.removeprefix("stale ")
        why = plain(connection.why) or "the server does not answer"
        return f"▲ what you see is {age} old: {why}; kymatui keeps asking, ctrl-r asks now"
    return ""
