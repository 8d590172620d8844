"""What a list that is missing leaves unknown: it is loading, forbidden, or the server failed to answer for it.

An empty list is a fact only after the list came. Rows, headers, JSON and guards read the difference here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kymatui.domain.snapshot.snapshots import Feed, FeedState


class ListGap(StrEnum):
    """Why a list is missing; the value is the word on the screen and in JSON."""

    LOADING = "loading"
    FORBIDDEN = "forbidden"
    UNKNOWN = "unknown"  # the server failed to answer, or nothing says which list it is


class RowFact(StrEnum):
    """What a row says of a module and cannot say without a list; the value is the key in JSON."""

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


LIST_WORDS: Final = {
    FeedState.SYNCING: "loading",
    FeedState.LIVE: "listed",
    FeedState.STALE: "stale",
    FeedState.FORBIDDEN: "forbidden",
    FeedState.ABSENT: "absent",
    FeedState.FAILED: "unknown",
}
"""What the state of a list is called in JSON."""

_GAPS: Final = {
    FeedState.SYNCING: ListGap.LOADING,
    FeedState.FORBIDDEN: ListGap.FORBIDDEN,
    FeedState.FAILED: ListGap.UNKNOWN,
}


def gap_of(feed: Feed | None) -> ListGap | None:
    """Return why a list is missing; None for one that came, even if it is stale now, or that nothing follows."""
    return _GAPS.get(feed.state) if feed is not None else None


@dataclass(frozen=True, slots=True)
class UnknownFact:
    """A fact that is not known: why, and the resource names of the lists that would tell it."""

    gap: ListGap
    lists: tuple[str, ...] = ()
    message: str = ""

    def __str__(self) -> str:
        names = ", ".join(self.lists)
        said = f": {self.message}" if self.message else ""
        why = {
            ListGap.LOADING: names,
            ListGap.FORBIDDEN: f"you may not list {names}" if names else "",
            ListGap.UNKNOWN: f"no list of {names}{said}" if names else self.message,
        }[self.gap]
        return f"{self.gap} ({why})" if why else str(self.gap)


def explain_missing(feeds: Mapping[str, Feed], names: Iterable[str]) -> UnknownFact | None:
    """Return why facts are not known that need all of these lists; None where every list came.

    Loading comes first, since it passes by itself; a right that is missing comes before a server that fails.
    """
    return next(iter(explain_gaps(feeds, names)), None)


def explain_gaps(feeds: Mapping[str, Feed], names: Iterable[str]) -> tuple[UnknownFact, ...]:
    """Return one entry for each reason why some of these lists are missing."""
    found: dict[ListGap, list[str]] = {}
    for name in dict.fromkeys(names):
        gap = gap_of(feeds.get(name))
        if gap is not None:
            found.setdefault(gap, []).append(name)
    messages = {gap: next((m for name in found[gap] if (m := feeds[name].message)), "") for gap in found}
    return tuple(UnknownFact(gap, tuple(found[gap]), messages[gap]) for gap in ListGap if gap in found)
