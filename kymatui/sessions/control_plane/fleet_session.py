"""A control plane, followed: its Kymas first, page by page, then their Manifests; rows are kept, objects are not."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.projections import FleetKyma, FleetManifest
from kymatui.adapters.kube.watch.watch_cache import ChangeBell
from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, FleetTracker, RuntimeKey
from kymatui.domain.fleet.manifest_summary import read_summary
from kymatui.domain.fleet.runtimes import Runtime, metas_by_module, read_runtime
from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.snapshot.missing_lists import are_settled
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Object
from kymatui.errors import ForbiddenError, KymatuiError, NotFoundError, ServerError
from kymatui.sessions.cluster.catalog_feeds import KeeperWatch, lease_namespaces
from kymatui.sessions.cluster.cluster_access import read_cluster_target
from kymatui.sessions.control_plane.runtime_completion import save_runtime_names
from kymatui.sessions.feeds.feed_director import FeedDirector
from kymatui.sessions.feeds.feeds import KYMA_KINDS, Feeds, WatchedKind, raise_gc_thresholds

KYMAS, _, METAS, MANIFESTS = KYMA_KINDS
_FIRST: Final = (KYMAS, METAS)
_PROBE: Final = 120.0  # seconds between two checks for kinds that the control plane serves


class FleetSession:
    """Implements the fleet's side of a screen. One thread looks; the watches have theirs."""

    def __init__(self, home: KubeCluster, namespace: str = "", timing: WatchTiming | None = None) -> None:
        self.home = home
        self._namespace = namespace
        self._bell = ChangeBell()
        self._feeds = Feeds(home.client, self._changed, timing)
        self._rows = {
            KYMAS.feed: self._feeds.expect_rows(KYMAS.feed, _read_runtime),
            MANIFESTS.feed: self._feeds.expect_rows(MANIFESTS.feed, read_summary),
        }
        self._feeds.expect([METAS.feed])
        self._painter = FleetTracker()
        self._metas_seen: tuple[Object, ...] = ()
        self._keeper = KeeperWatch()
        self._noticing = False
        self._names: dict[RuntimeKey, None] = {}
        self._director = FeedDirector("fleet-session", self._arrange, self._pause, self._feeds, self._bell)

    @property
    def name(self) -> str:
        """Return the context's name."""
        return self.home.client.transport.connection.context

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def target(self) -> ClusterTarget:
        """Return the control plane as plans and confirmations name it."""
        return replace(read_cluster_target(self.home.client), namespace=self._namespace)

    @property
    def read_only(self) -> bool:
        return self.home.client.transport.read_only

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of read requests sent, and of requests that can write."""
        return self.home.client.transport.traffic

    @property
    def failure(self) -> KymatuiError | None:
        """Return why the server cannot be asked at present; None while it can."""
        return self._director.failure

    @property
    def feeds(self) -> Mapping[str, Feed]:
        return self._feeds.states()

    def start(self, on_change: Callable[[], None]) -> None:
        """Begin to watch. `on_change` is called from any thread, and then not again until `picture` was called."""
        raise_gc_thresholds()
        self._bell.on_change = on_change
        self._director.start()

    def picture(self) -> FleetSnapshot:
        """Return all that is known now; never wait for the server. Only one thread may call it."""
        self._bell.looked()
        now, feeds = time.time(), self.feeds
        metas = self._feeds.objects(METAS.feed)
        if metas is not self._metas_seen:
            self._metas_seen = metas
            self._painter.metas(metas_by_module(metas))
        self._painter.lease(self._keeper.lease)
        changed = self._rows[KYMAS.feed].changes()
        self._painter.kymas(changed, now, notice=self._noticing)
        self._name(changed)
        self._noticing = self._noticing or feeds[KYMAS.feed].state is FeedState.LIVE
        self._painter.manifests(self._rows[MANIFESTS.feed].changes())
        return self._painter.picture(self.name, feeds, now)

    def retry(self) -> None:
        """Ask the server now for what failed, is forbidden, or is not there."""
        with contextlib.suppress(KymatuiError):  # the feeds report a server that does not answer
            self.home.client.discovery.invalidate()
        self._feeds.retry()
        self._director.wake()

    def _name(self, changed: Mapping[RuntimeKey, object]) -> None:
        """Note which runtimes there are; None says that one is gone."""
        for key, raw in changed.items():
            if raw is None:
                self._names.pop(key, None)
            else:
                self._names[key] = None

    def close(self) -> None:
        """End all watches; waits two seconds at most. The names that were seen are kept for shells to complete."""
        if self.feeds[KYMAS.feed].state is FeedState.LIVE and not self._namespace and not self._director.is_closed:
            save_runtime_names(self.home.client, self._names)
        self._director.close()
        self._feeds.close()
        self.home.close()

    def wait_complete(self, timeout: float) -> bool:
        """Wait until all is listed or refused; False where that took too long. Raises what fails for good."""
        return self._director.wait(lambda: are_settled(self.feeds, time.time()), timeout)

    def require_kyma(self) -> None:
        """Raise where there is no fleet to be shown."""
        feed = self.feeds[KYMAS.feed]
        if feed.state is FeedState.ABSENT:
            raise NotFoundError(
                f"cluster {self.name!r} does not serve Kymas",
                hint="check that it is a control plane, or use another --kcp-context",
                status=404,
            )
        if feed.state is FeedState.FORBIDDEN:
            raise ForbiddenError(f"you may not list Kymas in cluster {self.name!r}: {feed.message}")
        if feed.state is FeedState.FAILED:
            raise self._director.failure or ServerError(feed.message)

    # which kinds are watched

    def _arrange(self) -> None:
        """Follow Manifests once the Kymas are listed: they are five times as many, and less useful at first."""
        for fixed in _FIRST:
            self._follow(fixed)
        if self.feeds[KYMAS.feed].state is not FeedState.SYNCING:
            self._follow(MANIFESTS)
        runtimes = [row for row in self._rows[KYMAS.feed].values() if isinstance(row, Runtime)]
        keepers = frozenset(runtime.keeper for runtime in runtimes)
        namespaces = lease_namespaces(runtime.ref.namespace for runtime in runtimes)
        if self._keeper.refresh(self.home.client, keepers, namespaces):
            self._bell.ring()

    def _pause(self) -> float:
        pause = self._keeper.pause
        return _PROBE if pause is None else pause

    def _follow(self, fixed: WatchedKind) -> None:
        resource = self._feeds.find(fixed)
        if resource is None:
            return
        decode: Any = {KYMAS.feed: FleetKyma, MANIFESTS.feed: FleetManifest}.get(fixed.feed)
        context = self.home.client.transport.connection.namespace
        namespaces = tuple(dict.fromkeys(name for name in (context, "kcp-system", "kyma-system") if name))
        self._feeds.follow(
            fixed.feed, resource, namespaces=namespaces, decode=decode, only=self._namespace, missing=self._missing
        )

    def _missing(self) -> None:
        self.home.client.discovery.invalidate()
        self._director.wake()

    def _changed(self) -> None:
        states = self._feeds.states()
        if states[KYMAS.feed].state is not FeedState.SYNCING and states[MANIFESTS.feed].since == 0.0:
            self._director.wake()
        if self._director.is_closed:
            return
        self._director.notify()
        self._bell.ring()


def _read_runtime(raw: Object) -> Runtime | MalformedObject:
    """Read a Kyma as a runtime, without versions of channels: release metas come on their own."""
    kyma = read_kyma(raw)
    return read_runtime(kyma, {}) if isinstance(kyma, Kyma) else kyma
