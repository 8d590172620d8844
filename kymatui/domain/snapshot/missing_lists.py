"""Missing lists and the facts that they leave unknown: loading, forbidden, or failed.

An empty list is a fact only after the list came. Rows, headers, JSON and guards use this module for the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from kymatui.domain.snapshot.snapshots import Feed, FeedState


class ListGap(StrEnum):
    """The reasons why a list is missing; the value appears on screen and in JSON."""

    LOADING = "loading"
    FORBIDDEN = "forbidden"
    UNKNOWN = "unknown"  # the server failed, or the list's name is unknown


class RowFact(StrEnum):
    """The facts of a row that need a list; the value is the JSON key."""

    MANAGED = "managed"
    MANDATORY = "mandatory"
    CHANNEL = "channel"
    CHANNELS = "channels"
    DESIRED = "desired"
    INSTALLED = "installed"
    NEWEST = "newest"
    DRIFT = "drift"
    STATE = "state"
    CHECKS = "checks"
    POLICY = "policy"
    MANIFEST = "manifest"
    ACTOR = "actor"
    INSTALLED_BY = "installedBy"


LIST_WORDS: Final = {
    FeedState.SYNCING: "loading",
    FeedState.LIVE: "listed",
    FeedState.STALE: "stale",
    FeedState.FORBIDDEN: "forbidden",
    FeedState.ABSENT: "absent",
    FeedState.FAILED: "unknown",
}
"""The words for list states in JSON."""

_GAPS: Final = {
    FeedState.SYNCING: ListGap.LOADING,
    FeedState.FORBIDDEN: ListGap.FORBIDDEN,
    FeedState.FAILED: ListGap.UNKNOWN,
}


def gap_of(feed: Feed | None) -> ListGap | None:
    """Return why a list is missing; None if it came (even if stale) or is not followed."""
    return _GAPS.get(feed.state) if feed is not None else None


def is_awaited(feed: Feed, now: float) -> bool:
    """Return whether a list loads, or has just failed for a reason that may pass and is requested again."""
    return feed.state is FeedState.SYNCING or (feed.state is FeedState.FAILED and now < feed.retried_until)


def are_settled(feeds: Mapping[str, Feed], now: float) -> bool:
    """Return whether every list came, was refused or failed; `now` is in seconds of the Unix clock.

    A list that is requested again counts as failed if no other list came: that server fails as a whole.
    """
    states = {feed.state for feed in feeds.values()}
    if FeedState.SYNCING in states:
        return False
    return states <= {FeedState.FAILED, FeedState.ABSENT} or not any(is_awaited(feed, now) for feed in feeds.values())


class UnknownFact(Struct, frozen=True):
    """An unknown fact: the reason, and the lists that it needs."""

    gap: ListGap
    lists: tuple[str, ...] = ()
    message: str = ""

    def __str__(self) -> str:
        why = ", ".join(self.lists) if self.gap is ListGap.LOADING else self._why
        return f"{self.gap} ({why})" if why else str(self.gap)

    @property
    def reason(self) -> str:
        """Return the reason alone, for a sentence that already says what is unknown."""
        names = ", ".join(self.lists) or "lists"
        return {
            ListGap.LOADING: f"{names} still loading",
            ListGap.FORBIDDEN: self._why or "you may not list it",
            ListGap.UNKNOWN: self._why or "the server did not return the list",
        }[self.gap]

    @property
    def _why(self) -> str:
        names = ", ".join(self.lists)
        detail = f": {self.message}" if self.message else ""
        return {
            ListGap.LOADING: "",
            ListGap.FORBIDDEN: f"you may not list {names}" if names else "",
            ListGap.UNKNOWN: f"could not list {names}{detail}" if names else self.message,
        }[self.gap]


def explain_missing(feeds: Mapping[str, Feed], names: Iterable[str]) -> UnknownFact | None:
    """Return why facts are unknown that need all of these lists; None if all lists came.

    Loading comes first, because it ends by itself; a missing permission comes before a failing server.
    """
    return next(iter(explain_gaps(feeds, names)), None)


def explain_gaps(feeds: Mapping[str, Feed], names: Iterable[str]) -> tuple[UnknownFact, ...]:
    """Return one entry for each reason why some of these lists are missing."""
    gaps: dict[ListGap, list[str]] = {}
    for name in dict.fromkeys(names):
        gap = gap_of(feeds.get(name))
        if gap is not None:
            gaps.setdefault(gap, []).append(name)
    messages = {gap: next((m for name in gaps[gap] if (m := feeds[name].message)), "") for gap in gaps}
    return tuple(UnknownFact(gap, tuple(gaps[gap]), messages[gap]) for gap in ListGap if gap in gaps)
