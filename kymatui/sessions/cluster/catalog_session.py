"""A live picture of one cluster's modules: what the catalog needs, watched from the first moment until `close`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.api.discovery import Discovery, DiscoveryCache
from kymatui.adapters.kube.auth.connection import Connection, connect
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.projections import EventFields
from kymatui.adapters.kube.watch.watch_cache import ChangeBell
from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.rights import role_hint
from kymatui.domain.snapshot.cluster_index import INVENTORY_FEED, RELEASE_MAP_FEED
from kymatui.domain.snapshot.missing_lists import are_settled, gap_of
from kymatui.domain.snapshot.snapshots import EVENTS, Feed, FeedState, Object, Snapshot, namespaced_feed
from kymatui.errors import ForbiddenError, KymatuiError, NotFoundError, ServerError
from kymatui.sessions.cluster.catalog_feeds import CatalogFeeds
from kymatui.sessions.cluster.cluster_access import cluster_of, read_cluster_target, read_object
from kymatui.sessions.cluster.completion_cache import save_session_names
from kymatui.sessions.cluster.controller_rules import read_configured_rules
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.feeds.community_catalogs import CommunityCatalogs
from kymatui.sessions.feeds.feed_director import OwnedFollower
from kymatui.sessions.feeds.feeds import (
    KYMA_KINDS,
    WORKLOADS,
    Feeds,
    FollowedKind,
    NamespaceFollower,
    namespaces,
    raise_gc_thresholds,
)

if TYPE_CHECKING:
    from kymatui.domain.fleet.fleet_tracker import RuntimeKey
    from kymatui.domain.remote.watcher_chains import WatcherChain


def open_session(options: SessionOptions, timing: WatchTiming | None = None) -> CatalogSession:
    """Read the configuration; raises ConfigurationError where it cannot be used. Nothing is sent before `start`."""
    connection = _connection(options)
    transport = Transport(connection, read_only=options.read_only)
    cache = DiscoveryCache(connection.endpoint.server, f"{connection.context}/{connection.user}")
    rules = read_configured_rules(options.maintenance_policy, options.restricted_modules)
    return CatalogSession(Client(transport, Discovery(transport, cache)), options, timing, rules)


def _connection(options: SessionOptions) -> Connection:
    return connect(options.kubeconfig, options.context, options.namespace, overrides=options.access)


class CatalogSession:
    """Follows everything that a catalog is made of. Kinds are found by discovery, again whenever definitions change."""

    def __init__(
        self,
        client: Client,
        options: SessionOptions,
        timing: WatchTiming | None = None,
        rules: ControllerSettings | None = None,
    ) -> None:
        self.client = client
        self._options = options
        self._bell = ChangeBell()
        self._feeds = Feeds(client, self._changed, timing, once=options.once)
        self._events = EventFollower(self._feeds)
        self._owned = OwnedFollower(self._feeds, client.discovery)
        self._rules = rules
        self._catalogs = CommunityCatalogs(options.catalogs, self._changed)
        self._watched = CatalogFeeds(client, self._feeds, self._catalogs, options.namespace, self._bell)
        self._director = self._watched.director

    # what front ends use

    @property
    def name(self) -> str:
        """Return the context's name."""
        return self.client.transport.connection.context

    title = ""
    """A cluster is named after its context."""
    kyma: RuntimeKey | None = None
    """Only the Kyma of a runtime is on another cluster."""
    notes: Sequence[str] = ()
    is_connected = True

    @property
    def namespace(self) -> str:
        return self.client.transport.connection.namespace

    def use_namespace(self, namespace: str) -> bool:
        """Use a namespace as if it had been the option, "" for all.

        Return False if lists would have to be read again.
        """
        if not self._feeds.are_whole:
            return False
        self._options = replace(self._options, namespace=namespace)
        self._watched.use_namespace(namespace)
        transport = self.client.transport
        transport.connection = replace(transport.connection, namespace=_connection(self._options).namespace)
        return True

    @property
    def cluster(self) -> KubeCluster:
        return cluster_of(self.client)

    @property
    def home(self) -> KubeCluster:
        return self.cluster

    @property
    def kymas(self) -> Sequence[Object]:
        """Return the Kymas that are edited."""
        return self._feeds.objects(KYMA_KINDS[0].feed)

    def pair(self) -> None:
        """Return None: there is one cluster."""

    def chains(self) -> tuple[WatcherChain, ...]:
        return ()

    @property
    def target(self) -> ClusterTarget:
        """Return the cluster as plans and confirmations name it."""
        return read_cluster_target(self.client)

    @property
    def read_only(self) -> bool:
        """Return whether the session refuses every write request."""
        return self.client.transport.read_only

    @property
    def feeds(self) -> Mapping[str, Feed]:
        """Return each feed's state by resource name, outside catalogs too; the lists of ConfigMaps are one."""
        states = {**self._feeds.states(), **self._catalogs.feeds()}
        maps = states.pop(RELEASE_MAP_FEED, None)
        if maps is not None and gap_of(maps) and not gap_of(states[INVENTORY_FEED]):
            states[INVENTORY_FEED] = maps
        return states

    @property
    def failure(self) -> KymatuiError | None:
        """Return why the server cannot be asked at present; None while it can."""
        return self._director.failure

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of read requests sent, and of requests that can write."""
        return self.client.transport.traffic

    def start(self, on_change: Callable[[], None]) -> None:
        """Begin to watch. `on_change` is called from any thread, and then not again until `snapshot` was called."""
        raise_gc_thresholds()
        self._bell.on_change = on_change
        self._watched.expect()
        self._catalogs.start()
        self._director.start()

    def snapshot(self) -> Snapshot:
        """Return all that is known now; never wait for the server."""
        self._bell.looked()
        self._owned.follow_failing()
        feeds = self._feeds
        return Snapshot(
            cluster=self.name,
            kymas=feeds.objects(KYMA_KINDS[0].feed),
            templates=feeds.objects(KYMA_KINDS[1].feed),
            release_metas=feeds.objects(KYMA_KINDS[2].feed),
            manifests=feeds.objects(KYMA_KINDS[3].feed),
            module_resources=self._watched.module_crs(),
            workloads=tuple(item for fixed in WORKLOADS for item in feeds.objects(fixed.feed)),
            definitions=self._watched.crds,
            events=self._events.objects(),
            owned=self._owned.objects(),
            namespaced_kinds=self._owned.places(),
            feeds=self.feeds,
            taken_at=time.time(),
            outside=self._catalogs.templates,
            raw_manifests=self._catalogs.raw_manifests,
            rules=self._rules,
            inventories=self._watched.installed.inventories,
            releases=self._watched.installed.releases,
            leases=self._watched.installed.leases,
            applied=self._watched.installed.applied(),
            keeper_lease=self._watched.keeper.lease,
        )

    def add_templates(self, templates: tuple[Object, ...]) -> None:
        """Return templates that are not in this cluster, though their modules may be: a control plane's own.

        Their resources are followed, too.
        """
        if self._watched.add_templates(templates):
            self._director.wake()

    def follow_events(self, refs: Iterable[ObjectRef]) -> None:
        """Follow the events of these objects (and what else happens in their namespaces) until the next call.

        One list and watch a namespace, for a few namespaces; with no objects none. Not to be called by two threads.
        """
        self._events.follow(refs)
        self._bell.ring()

    def follow_owned(self, refs: Iterable[ObjectRef]) -> None:
        """Follow the kinds of these objects where they are, and the Pods and the like of workloads among them.

        Until the next call; with no objects nothing. Not to be called by two threads. What discovery cannot tell now is
        not followed.
        """
        with contextlib.suppress(KymatuiError):
            self._owned.follow(refs)
        self._bell.ring()

    def read(self, ref: ObjectRef) -> Object:
        """Return one object whole, of a Secret its metadata alone. Asks the server, and raises what it answers."""
        return read_object(self.client, ref)

    def retry(self) -> None:
        """Ask the server now for what failed, is forbidden, or is not there."""
        self.client.discovery.invalidate()
        self._feeds.retry()
        self._catalogs.retry()
        self._director.wake()

    def close(self) -> None:
        """End all watches; waits two seconds at most. The names that were seen are kept for shells to complete."""
        connection = self.client.transport.connection
        if not self._director.is_closed and not connection.from_secret:  # a Secret's kubeconfig has no context
            save_session_names(connection.key, self.snapshot())
        self._director.close()
        self._catalogs.close()
        self._feeds.close()
        self.client.transport.close()

    def wait_complete(self, timeout: float) -> bool:
        """Wait until every kind has been listed or refused; False where that took too long.

        A list that fails for a reason that may pass is requested again within this time, for some seconds.
        Raises what keeps the server from being asked at all: no connection, refused credentials, a broken plugin, a
        login page; at once where waiting does not help, else when the time is over.
        """

        def is_complete() -> bool:
            self._owned.follow_failing()
            feeds = self.feeds
            listed = bool(feeds) and are_settled(feeds, time.time())
            return listed and not self._director.is_due and self._watched.is_settled

        return self._director.wait(is_complete, timeout)

    def require_kyma(self) -> None:
        """Raise where nothing of Kyma can be shown: it is not there, may not be read, or fails.

        Modules from elsewhere can be shown on any cluster.
        """
        if self._catalogs.templates:
            return
        states = self.feeds
        feeds = [states[fixed.feed] for fixed in KYMA_KINDS if fixed.feed in states]
        kinds = {feed.state for feed in feeds}
        if kinds <= {FeedState.ABSENT}:
            raise NotFoundError(
                f"cluster {self.name!r} has no Kyma: it serves no kind of {KYMA_KINDS[0].group}",
                hint="install Kyma's CRDs and lifecycle-manager, choose another --context, or try `kymatui demo`",
            )
        message = next((feed.message for feed in feeds if feed.state in (FeedState.FORBIDDEN, FeedState.FAILED)), "")
        if kinds <= {FeedState.ABSENT, FeedState.FORBIDDEN}:
            raise ForbiddenError(
                f"you may not read Kyma's objects in cluster {self.name!r}: {message}",
                hint=f"{role_hint()}; or use another --context",
            )
        if kinds <= {FeedState.ABSENT, FeedState.FORBIDDEN, FeedState.FAILED}:
            raise ServerError(f"cluster {self.name!r} does not list Kyma's objects: {message}", hint="try again later")

    def _changed(self) -> None:
        if self._watched.is_outdated:
            self._director.wake()
        self._director.notify()
        self._bell.ring()


__all__ = ["KEPT", "EventFollower", "feed_name"]

KEPT = 1000
"""How many events of a namespace are kept, the newest; a namespace in trouble holds tens of thousands."""


class EventFollower(NamespaceFollower):
    """Events of core/v1."""

    def followed_kinds(self, refs: tuple[ObjectRef, ...]) -> Iterator[FollowedKind]:
        """Yield the Event feeds of core/v1, which every API server serves; needs no discovery."""
        resource = ApiResource("", "v1", "Event", "events", True, ("get", "list", "watch"))
        for namespace in namespaces(refs):
            yield FollowedKind(resource, namespace, EventFields, KEPT)


def feed_name(namespace: str) -> str:
    return namespaced_feed(EVENTS, namespace)
