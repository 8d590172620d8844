"""What a list that is missing leaves unknown: it is loading, forbidden, or the server failed to answer for it.

An empty list is a fact only after the list came. Rows, headers, JSON and guards read the difference here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kymatui.domain.snapshots import Feed, FeedState


class Gap(StrEnum):
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
    FeedState.SYNCING: Gap.LOADING,
    FeedState.FORBIDDEN: Gap.FORBIDDEN,
    FeedState.FAILED: Gap.UNKNOWN,
}


def gap_of(feed: Feed | None) -> Gap | None:
    """Return why a list is missing; None for one that came, even if it is stale now, or that nothing follows."""
    return _GAPS.get(feed.state) if feed is not None else None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that is not known: why, and the resource names of the lists that would tell it."""

    gap: Gap
    lists: tuple[str, ...] = ()
    message: str = ""

    def __str__(self) -> str:
        names = ", ".join(self.lists)
        said = f": {self.message}" if self.message else ""
        why = {
            Gap.LOADING: names,
            Gap.FORBIDDEN: f"you may not list {names}" if names else "",
            Gap.UNKNOWN: f"no list of {names}{said}" if names else self.message,
        }[self.gap]
        return f"{self.gap} ({why})" if why else str(self.gap)


def missing(feeds: Mapping[str, Feed], names: Iterable[str]) -> Unknown | None:
    """Return why facts are not known that need all of these lists; None where every list came.

    Loading comes first, since it passes by itself; a right that is missing comes before a server that fails.
    """
    return next(iter(gaps(feeds, names)), None)


def gaps(feeds: Mapping[str, Feed], names: Iterable[str]) -> tuple[Unknown, ...]:
    """Return one entry for each reason why some of these lists are missing."""
    found: dict[Gap, list[str]] = {}
    for name in dict.fromkeys(names):
        gap = gap_of(feeds.get(name))
        if gap is not None:
            found.setdefault(gap, []).append(name)
    messages = {gap: next((m for name in found[gap] if (m := feeds[name].message)), "") for gap in found}
    return tuple(Unknown(gap, tuple(found[gap]), messages[gap]) for gap in Gap if gap in found)
