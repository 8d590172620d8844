"""One runtime with its control plane, for commands: found by name, looked at once (or again and again), let go of."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.snapshot.missing_lists import are_settled
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.errors import NotFoundError, UnknownNameError, UnreachableError, UsageError
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.controller_rules import read_controller_rules
from kymatui.sessions.cluster.namespace_check import require_namespace
from kymatui.sessions.control_plane.runtime_clients import owner_kyma
from kymatui.sessions.control_plane.runtime_completion import save_pair_names
from kymatui.sessions.control_plane.runtime_connector import CONNECT_SECONDS
from kymatui.sessions.control_plane.runtime_session import RuntimeSession
from kymatui.sessions.feeds.watched_kinds import KYMA_KINDS

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.client import Client
    from kymatui.adapters.kube.objects.api_resource import ApiResource
    from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
    from kymatui.domain.kubernetes.refs import ObjectRef
    from kymatui.domain.kyma.maintenance_windows import ControllerSettings
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.domain.remote.runtime_pair import RuntimePair
    from kymatui.domain.remote.watcher_chains import WatcherChain
    from kymatui.domain.snapshot.snapshots import Feed, Object, Snapshot
    from kymatui.errors import KymatuiError
    from kymatui.sessions.cluster.session_options import RemoteOptions
    from kymatui.sessions.control_plane.shared_feeds import ControlPlane

_KYMAS: Final = KYMA_KINDS[0]
_NAMES: Final = ("kyma-project.io/shoot-name", "kyma-project.io/runtime-id")
_LOOK: Final = 0.5


def kyma_resource(home: KubeCluster) -> ApiResource:
    """Return the kind of Kymas in a cluster. Raise NotFoundError if it is no control plane."""
    for version in _KYMAS.versions:
        found = home.client.discovery.find(GroupVersionKind(_KYMAS.group, version, _KYMAS.kind))
        if found is not None:
            return found
    raise NotFoundError(
        f"cluster {home.name!r} does not serve Kymas",
        hint="check that it is a control plane, or use another --kcp-context",
        status=404,
    )


def list_runtimes(home: KubeCluster, namespace: str = "") -> list[RuntimeKey]:
    """Return all runtimes of a control plane, from their Kymas."""
    found = home.client.list(kyma_resource(home), namespace, decode=MetadataOnly).items
    return [(ref.namespace, ref.name) for ref in map(read_ref, found)]


def find_runtime(home: KubeCluster, name: str, namespace: str = "") -> RuntimeKey:
    """Find a Kyma by name, `namespace/name`, shoot or runtime id. Raise UsageError with similar names."""
    resource = kyma_resource(home)
    within, _, last = name.rpartition("/")
    found = home.client.list(resource, within or namespace, fields=f"metadata.name={last}", decode=MetadataOnly).items
    for label in () if found or not last else _NAMES:
        found = (
            found
            or home.client.list(resource, within or namespace, labels=f"{label}={last}", decode=MetadataOnly).items
        )
    keys = [(ref.namespace, ref.name) for ref in map(read_ref, found)]
    if len(keys) == 1:
        return keys[0]
    if keys:
        several = ", ".join("/".join(key) for key in keys)
        raise UsageError(f"several runtimes are named {name!r}: {several}", hint="write NAMESPACE/NAME")
    if within or namespace:
        require_namespace(home, within or namespace)
    known = [one for _, one in list_runtimes(home, namespace)]
    where = f"in the control plane {home.name}"
    raise UnknownNameError.near("runtime", name, known, where=where, hint="`kymatui fleet` lists the runtimes")


def open_pair(options: RemoteOptions) -> PairSession:
    """Return the runtime of `options.runtime`; without a name, that which the cluster named by hand belongs to.

    Raises what reading the configuration and finding the runtime raise.
    """
    home = open_cluster(options.control)
    try:
        name = options.runtime
        if not name and options.by_hand is not None:
            by_hand = open_cluster(options.by_hand)
            try:
                name = owner_kyma(by_hand.client)
            finally:
                by_hand.client.transport.close()
        if not name:
            raise UsageError("no runtime named", hint="`kymatui fleet` lists the runtimes")
        return PairSession(home, find_runtime(home, name, options.control.namespace), options)
    except BaseException:
        home.client.transport.close()
        raise


class PairSession:
    """Both sides of one runtime; for one thread. `client` is the runtime's, once it is connected."""

    def __init__(
        self,
        home: KubeCluster,
        key: RuntimeKey,
        options: RemoteOptions,
        connect_timeout: float = CONNECT_SECONDS,
        plane: ControlPlane | None = None,
    ) -> None:
        self.key = key
        self.home = home
        self._plane = plane
        self._changed = threading.Event()
        self._on_change: Callable[[], None] = lambda: None
        self._options = options.control
        self._rules: ControllerSettings | None = None
        self.notes: tuple[str, ...] = ()
        self._session = RuntimeSession(
            home, key, options.control, by_hand=options.by_hand, connect_timeout=connect_timeout, plane=plane
        )

    @property
    def name(self) -> str:
        """Return the runtime's name."""
        return self.key[1]

    @property
    def kyma(self) -> RuntimeKey:
        return self.key

    @property
    def cluster(self) -> KubeCluster:
        return self._session.cluster

    @property
    def read_only(self) -> bool:
        return self._session.read_only

    @property
    def target(self) -> ClusterTarget:
        """Return the runtime and its control plane as plans and confirmations name them."""
        return self._session.target

    @property
    def failure(self) -> KymatuiError | None:
        """Return why the runtime cannot be looked at; None while it can, or while that is being tried."""
        return self._session.failure

    @property
    def client(self) -> Client:
        """Return the runtime's client. Raise the error that prevents the connection."""
        inner = self._session.inner
        if inner is None:
            raise self._session.failure or NotFoundError(f"{self.name} is not connected")
        return inner.client

    def start(self, on_change: Callable[[], None]) -> None:
        """Begin to look. `on_change` is called from any thread."""
        self._on_change = on_change
        self._session.start(self._notice)

    def _notice(self) -> None:
        self._changed.set()
        self._on_change()

    def wait_connected(self, timeout: float) -> None:
        """Wait until the runtime is connected; raises what keeps it from being, and UnreachableError for too late."""
        deadline = time.monotonic() + timeout
        while self._session.inner is None:
            self._changed.clear()
            if self._session.failure is not None:
                raise self._session.failure
            left = deadline - time.monotonic()
            if left <= 0:
                raise UnreachableError(f"{self.name} was not connected within {timeout:g} s")
            self._changed.wait(min(left, _LOOK))

    def wait_complete(self, timeout: float) -> bool:
        """Wait until both sides are listed or refused; False where that took too long.

        Raises what keeps the runtime (or its control plane) from being reached.
        """
        deadline = time.monotonic() + timeout
        if self._rules is None:
            self._rules, self.notes = self._found_rules()
        while True:
            self._changed.clear()
            if self._session.failure is not None:
                raise self._session.failure
            inner, left = self._session.inner, deadline - time.monotonic()
            if inner is not None and are_settled(self._session.pair().control.feeds, time.time()):
                return inner.wait_complete(max(left, 0.0))
            if left <= 0:
                return False
            self._changed.wait(min(left, _LOOK))

    def _found_rules(self) -> tuple[ControllerSettings, tuple[str, ...]]:
        if self._plane is not None:
            return self._plane.rules(self.key[0]), ()
        return read_controller_rules(self.home, self.key[0], self._options)

    def pair(self) -> RuntimePair:
        """Return both sides separately, with the known configuration of lifecycle-manager."""
        found = self._session.pair()
        return replace(found, control=replace(found.control, rules=self._rules or found.control.rules))

    def chains(self) -> tuple[WatcherChain, ...]:
        """Return every Watcher's chain to its end in the runtime. Ask both clusters."""
        return self._session.chains()

    def snapshot(self) -> Snapshot:
        """Return both sides as one snapshot."""
        found = self._session.snapshot()
        return replace(found, rules=self._rules or found.rules)

    @property
    def feeds(self) -> Mapping[str, Feed]:
        """Return each kind's feed state, from the side that decides for the kind."""
        return self.snapshot().feeds

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of read requests sent to both sides, and of requests that can write."""
        transport, (reads, writes) = self.home.client.transport, self._session.traffic
        return reads + transport.counts.total() - transport.writes, writes + transport.writes

    def read(self, ref: ObjectRef) -> Object:
        """Return one whole object from the side that has its kind, of a Secret its metadata alone."""
        return self._session.read(ref)

    def follow_events(self, refs: Iterable[ObjectRef]) -> None:
        """Follow the events of these objects in the runtime, until the next call."""
        self._session.follow_events(refs)

    def follow_owned(self, refs: Iterable[ObjectRef]) -> None:
        """Follow the kinds of these objects in the runtime, with the Pods of workloads, until the next call."""
        self._session.follow_owned(refs)

    def require_kyma(self) -> None:
        """Raise where the control plane's Kyma went away while it was looked for."""
        feed = self.pair().control.feeds[_KYMAS.feed]
        if feed.state is FeedState.LIVE and self.pair().control_kyma is None:
            raise NotFoundError(f"the control plane no longer has the Kyma {'/'.join(self.key)}", status=404)

    def close(self) -> None:
        """Let go of both sides; the names that were seen are kept for shells to complete."""
        if self._plane is None:
            save_pair_names(self.home.client, self._session.pair())
        self._session.close()
        if self._plane is None:
            self.home.client.transport.close()
