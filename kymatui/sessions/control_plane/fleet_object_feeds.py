"""Kymas and catalog of a control plane as objects, followed: a fleet's rows have neither requests nor templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kymatui.domain.snapshot.snapshots import FeedState, Object
from kymatui.errors import ForbiddenError, NotFoundError, UnreachableError
from kymatui.sessions.feeds.feeds import Feeds
from kymatui.sessions.feeds.watched_kinds import KYMA_KINDS

if TYPE_CHECKING:
    from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
    from kymatui.adapters.kube.watch.watch_reader import WatchTiming

_KYMAS, _TEMPLATES, _METAS, _ = KYMA_KINDS
_FOLLOWED: Final = (_KYMAS, _TEMPLATES, _METAS)


class FleetObjectFeeds:
    """Watches of a control plane beside those of its session, whose client they use; ended by `close`."""

    def __init__(
        self, home: KubeCluster, namespace: str, on_change: Callable[[], None], timing: WatchTiming | None = None
    ) -> None:
        self._home, self._namespace = home, namespace
        self._feeds = Feeds(home.client, on_change, timing)
        self._feeds.expect(fixed.feed for fixed in _FOLLOWED)

    @property
    def name(self) -> str:
        return self._home.name

    def start(self) -> None:
        """Begin to watch; raises what discovery raises."""
        for fixed in _FOLLOWED:
            resource = self._home.client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
            if resource is None:
                self._feeds.absent(fixed.feed, f"the control plane does not serve {fixed.kind} of {fixed.group}")
            else:
                self._feeds.follow(fixed.feed, resource, only=self._namespace)

    def objects(self) -> tuple[tuple[Object, ...], tuple[Object, ...]] | None:
        """Return the Kymas, and the templates and release metas; None while a list is on its way.

        Raises ClusterError for a list that cannot be had: with a part of the catalog every forecast would be a guess.
        A kind of the catalog that the server does not have is empty. While the server is away, the last lists count.
        """
        states = self._feeds.states()
        for fixed in _FOLLOWED:
            feed = states[fixed.feed]
            if feed.state is FeedState.FORBIDDEN:
                raise ForbiddenError(f"you may not list {fixed.kind}s in cluster {self.name!r}: {feed.message}")
            if feed.state is FeedState.FAILED:
                raise UnreachableError(f"cannot list {fixed.kind}s of {self.name!r}: {feed.message}")
            if feed.state is FeedState.ABSENT and fixed is _KYMAS:
                raise NotFoundError(feed.message, status=404)
        if any(feed.state is FeedState.SYNCING for feed in states.values()):
            return None
        return self._feeds.objects(_KYMAS.feed), tuple(
            raw for fixed in (_TEMPLATES, _METAS) for raw in self._feeds.objects(fixed.feed)
        )

    def retry(self) -> None:
        self._feeds.retry()

    def close(self) -> None:
        """End the watches; wait for nothing."""
        self._feeds.close(timeout=0.0)
