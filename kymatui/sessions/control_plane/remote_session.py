"""A control plane and its runtimes, for a screen: the fleet is followed, a runtime only when somebody looks at it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, RuntimeKey
from kymatui.domain.remote.watcher_chains import WatcherChain, build_chains
from kymatui.domain.snapshot.snapshots import FeedState, Object
from kymatui.errors import ForbiddenError, KymatuiError, NotFoundError, UnreachableError
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.controller_rules import FoundRules, read_controller_rules
from kymatui.sessions.cluster.session_options import RemoteOptions
from kymatui.sessions.control_plane.campaign_fleet import listed_fleet
from kymatui.sessions.control_plane.fleet_session import FleetSession
from kymatui.sessions.control_plane.runtime_clients import CONNECT_SECONDS, owner_kyma
from kymatui.sessions.control_plane.runtime_session import RuntimeSession
from kymatui.sessions.control_plane.watcher_objects import read_control_side
from kymatui.sessions.feeds.feeds import KYMA_KINDS, Feeds

if TYPE_CHECKING:
    from kymatui.actions.edits.campaign import ListedFleet


class RemoteSession(FleetSession):
    """The fleet's session with a way to each runtime."""

    def __init__(self, options: RemoteOptions, timing: WatchTiming | None = None) -> None:
        """Read the configuration; raises ConfigurationError where it cannot be used. Nothing is sent before `start`."""
        super().__init__(open_cluster(options.control), options.control.namespace, timing)
        self.options, self._timing = options, timing
        self._rules: dict[str, FoundRules] = {}
        self._by_hand_owner = ""
        self._straight: RuntimeKey | None = None

    @property
    def cluster(self) -> KubeCluster:
        """Return the control plane."""
        return self.home

    title = ""
    """A control plane is named after its context."""

    def start(self, on_change: Callable[[], None]) -> None:
        """Begin to follow the fleet. Whose cluster was named by hand is asked on the way."""
        super().start(on_change)
        if self.options.by_hand is not None:
            threading.Thread(target=self._ask_owner, args=(on_change,), name="runtime-owner", daemon=True).start()

    def picture(self) -> FleetSnapshot:
        """Return the fleet as known now, without waiting."""
        picture = super().picture()
        if self._straight is None and self.requested_runtime:
            named = picture.named(self.requested_runtime)
            self._straight = (named.ref.namespace, named.name) if named is not None else None
        return picture

    @property
    def straight_to(self) -> RuntimeKey | None:
        """Return the one requested runtime as soon as it is known."""
        return self._straight

    @property
    def requested_runtime(self) -> str:
        """Return the requested runtime as the user typed it; "" for the fleet."""
        return self.options.runtime or self._by_hand_owner

    def runtime(self, key: RuntimeKey, connect_timeout: float = CONNECT_SECONDS) -> RuntimeSession:
        """Return a session with one runtime; nothing is sent before its `start`."""
        by_hand = self.options.by_hand if self._straight in (None, key) else None
        return RuntimeSession(
            self.home,
            key,
            self.options.control,
            by_hand=by_hand,
            timing=self._timing,
            connect_timeout=connect_timeout,
            rules=lambda: read_controller_rules(self.home, key[0], self.options.control),
        )

    def rules(self, namespace: str) -> FoundRules:
        """Return lifecycle-manager's configuration for a namespace; the server is asked once, until `retry`.

        Raises ConfigurationError for a configured file that is no policy.
        """
        if namespace not in self._rules:
            self._rules[namespace] = read_controller_rules(self.home, namespace, self.options.control)
        return self._rules[namespace]

    def listed(self, *, edits_kymas: bool = True) -> ListedFleet:
        """Return what lists the control plane for a campaign."""
        return listed_fleet(self.options)

    def chains(self) -> tuple[WatcherChain, ...]:
        """Return every Watcher's chain as far as it is in the control plane; raises what keeps it from being read."""
        return build_chains(read_control_side(self.home), None)

    def follow_objects(self, on_change: Callable[[], None]) -> FleetObjectFeeds:
        """Return Kymas and catalog as objects; nothing is sent before their `start`, and the caller closes them."""
        return FleetObjectFeeds(self.home, self.options.control.namespace, on_change, self._timing)

    def retry(self) -> None:
        self._rules.clear()
        super().retry()

    def _ask_owner(self, on_change: Callable[[], None]) -> None:
        assert self.options.by_hand is not None
        by_hand = replace(self.options.by_hand, read_only=True)
        # it is asked, and told, again when somebody looks at a runtime
        with contextlib.suppress(KymatuiError), contextlib.closing(open_cluster(by_hand)) as cluster:
            self._by_hand_owner = owner_kyma(cluster.client)
        on_change()


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
            if (resource := self._feeds.find(fixed, "the control plane")) is not None:
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
