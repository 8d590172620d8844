"""How current the displayed data is, as a word and a tone."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.snapshot.snapshots import (
    CATALOG_FEED,
    LOGIN_REJECTED,
    Feed,
    FeedState,
    count_listed,
    is_namespaced_feed,
)
from kymatui.engine.cluster.dials import Dial, DialPhase
from kymatui.engine.cluster.logins import Login
from kymatui.errors import KymatuiError, UnauthorizedError
from kymatui.moments import format_duration

OUT_OF_DATE = "the data is out of date"


class ConnectionStatus(Struct, frozen=True):
    """Connection status; `stale_since` locks writes and dims the rows, `age` is the time since then.

    `rejected` is the list that the cluster refuses because of the login, `step` what is done for the first answer.
    """

    word: str
    tone: str
    stale_since: float = 0.0
    why: str = ""
    age: str = ""
    is_offline: bool = False
    rejected: Feed | None = None
    step: str = ""


def describe_connection(
    feeds: Mapping[str, Feed],
    now: float,
    failure: KymatuiError | None = None,
    *,
    login: Login | None = None,
    dial: Dial | None = None,
) -> ConnectionStatus:
    """Return the worst status: stale, then a login, then a connection that is being opened, then loading, then live.

    Forbidden and absent kinds are problems and not stale. Catalogs from outside the cluster are ignored.
    """
    if failure is not None:
        rejected = Feed.of_error(FeedState.FAILED, 0.0, failure) if isinstance(failure, UnauthorizedError) else None
        return _offline(rejected)
    feeds = {name: feed for name, feed in feeds.items() if not name.startswith(CATALOG_FEED)}
    # Feeds of a single screen are reported on that screen, unless the connection is lost.
    feeds = {n: feed for n, feed in feeds.items() if feed.state is FeedState.STALE or not is_namespaced_feed(n)}
    states = [feed.state for feed in feeds.values()]
    rejected = next((feed for feed in feeds.values() if feed.is_login_rejected), None)
    if login is not None and FeedState.STALE not in states and FeedState.LIVE not in states:
        return ConnectionStatus("logging in", "processing", step=str(login))
    if not states or (dial is not None and set(states) == {FeedState.SYNCING}):
        word = str(DialPhase.CONNECTING if dial is None else dial.phase)
        return ConnectionStatus(word, "processing", step=str(dial or "Connecting"))
    if FeedState.STALE in states:
        stale = [feed for feed in feeds.values() if feed.state is FeedState.STALE]
        since = min(feed.since for feed in stale)
        why = next((feed.message for feed in stale if feed.message), "")
        age = format_duration(now - since)
        word = "login rejected" if rejected else f"stale {age}"
        return ConnectionStatus(word, "error", since or now, why, age, rejected=rejected)
    if FeedState.FAILED in states and not {FeedState.LIVE, FeedState.SYNCING}.intersection(states):
        return _offline(rejected)
    if FeedState.SYNCING in states:
        listed, total = count_listed(feeds)
        return ConnectionStatus(f"loading {listed}/{total}", "processing")
    if FeedState.FAILED in states:
        return ConnectionStatus("partly live", "warning")
    return ConnectionStatus("live", "ready")


def _offline(rejected: Feed | None) -> ConnectionStatus:
    return ConnectionStatus("login rejected" if rejected else "offline", "error", is_offline=True, rejected=rejected)


def connection_banner(connection: ConnectionStatus, failure: KymatuiError | None) -> str:
    """Return the banner for data that may be outdated; "" where it is current."""
    if connection.rejected is not None:
        data = f"; the data is {connection.age} old" if connection.age else ""
        return f"▲ {LOGIN_REJECTED}{data}. {sanitize(connection.rejected.login_advice)}"
    if failure is not None:
        return sanitize(f"▲ the data is out of date: {failure}")
    if connection.stale_since:
        why = sanitize(connection.why) or "the server does not answer"
        return f"▲ the data is {connection.age} old: {why}; kymatui retries, ctrl-r retries now"
    return ""
