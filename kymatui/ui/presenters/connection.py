"""How current the picture is, in one word and a tone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kymatui.domain.snapshots import CATALOG_FEED, Feed, FeedState


@dataclass(frozen=True, slots=True)
class Connection:
    """`stale_since` is set where rows are of the past; they are dimmed and writes are locked."""

    word: str
    tone: str
    stale_since: float = 0.0


def describe(feeds: Mapping[str, Feed], now: float) -> Connection:
    """The worst that matters: stale, then loading, then live; what is forbidden or absent is a problem, not stale.

    Catalogs from outside say nothing of the cluster.
    """
    feeds = {name: feed for name, feed in feeds.items() if not name.startswith(CATALOG_FEED)}
    states = [feed.state for feed in feeds.values()]
    if not states:
        return Connection("connecting", "processing")
    if FeedState.STALE in states:
        since = min(feed.since for feed in feeds.values() if feed.state is FeedState.STALE)
        return Connection(f"stale {span(now - since)}", "error", since or now)
    if states.count(FeedState.FAILED) == len(states):
        return Connection("offline", "error")
    waiting = states.count(FeedState.SYNCING)
    if waiting:
        return Connection(f"loading {len(states) - waiting}/{len(states)}", "processing")
    if FeedState.FAILED in states:
        return Connection("partly live", "warning")
    return Connection("live", "ready")


def forbidden(feeds: Mapping[str, Feed]) -> tuple[str, ...]:
    return tuple(sorted(name for name, feed in feeds.items() if feed.state is FeedState.FORBIDDEN))


def span(seconds: float) -> str:
    """A duration as operators read it: `42s`, `5m`, `3h`, `12d`."""
    seconds = max(int(seconds), 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size * (2 if unit == "m" else 1):
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def all_syncing(feeds: Iterable[Feed]) -> bool:
    return all(feed.state is FeedState.SYNCING for feed in feeds)
