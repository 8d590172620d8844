"""One runtime and what its control plane knows of it, as one picture; connected to only when somebody looks.

The control plane's side is there at once and stays, whatever the runtime does: one that hangs, forbids or lies costs
itself only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.watch_cache import ChangeBell
from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.remote.watcher_chains import WatcherChain, build_chains
from kymatui.domain.snapshot.cluster_index import asked_keepers
from kymatui.domain.snapshot.missing_lists import are_settled
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, Feed, FeedState, Object, Snapshot
from kymatui.engine.cluster.logins import WaitLimit
from kymatui.errors import KymatuiError, NotFoundError, UnreachableError, as_kymatui_error
from kymatui.sessions.cluster.catalog_feeds import KEEPER_PERIOD, KeeperWatch
from kymatui.sessions.cluster.catalog_session import CatalogSession
from kymatui.sessions.cluster.cluster_access import cluster_of, read_object, read_runtime_target
from kymatui.sessions.cluster.controller_rules import FoundRules, read_configured_rules
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.control_plane.runtime_clients import CONNECT_SECONDS, RuntimeConnector
from kymatui.sessions.control_plane.watcher_objects import read_control_side, read_runtime_side
from kymatui.sessions.feeds.feeds import KYMA_KINDS, KYMA_NAMESPACE, Feeds, WatchedKind

if TYPE_CHECKING:
    from kymatui.sessions.control_plane.shared_feeds import ControlPlane, RuntimeShare


_BACKOFF: Final = Backoff(5.0, 60.0)
LOOK: Final = 0.5  # seconds between two looks while a command waits for lists


class RuntimeSession:
    """One runtime with its control plane. `by_hand` names its cluster in the place of a Secret.

    Of the control plane it follows what is its own, or takes it from a listing that others share (`plane`); `rules` is
    asked for lifecycle-manager's configuration in the session's thread, and again by `retry`.
    """

    def __init__(
        self,
        home: KubeCluster,
        key: RuntimeKey,
        options: SessionOptions,
        *,
        by_hand: SessionOptions | None = None,
        timing: WatchTiming | None = None,
        connect_timeout: float = CONNECT_SECONDS,
        plane: ControlPlane | None = None,
        rules: Callable[[], FoundRules] | None = None,
    ) -> None:
        self.home = home
        self.kyma = key
        self.namespace = KYMA_NAMESPACE
        self._options = options
        self._timing = timing
        self._connector = RuntimeConnector(home, key, by_hand, connect_timeout)
        self.title = self._connector.title
        """The name for plans, journals and backups, unique across control planes."""
        self._bell = ChangeBell()
        self._changed = threading.Event()
        self._control = ControlSide(
            home,
            key,
            options,
            self._control_changed,
            has_secret=by_hand is None,
            timing=timing,
            plane=plane,
            rules=rules,
        )
        self.kymas: Sequence[Object] = ()
        """The Kymas that are edited: the runtime's own, while `snapshot` has the control plane's."""
        self.inner: CatalogSession | None = None
        """The runtime's own session; None without a connection."""
        self.failure: KymatuiError | None = None
        """Why the runtime cannot be asked; None while it can be, or while that is tried."""
        self._since = time.time()
        self._secrets: frozenset[tuple[str, str]] | None = None
        self._outdated = False
        self._again = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"runtime-{key[1]}", daemon=True)

    @property
    def name(self) -> str:
        """Return the control plane's context, which selects the settings."""
        return self.home.client.transport.connection.context

    @property
    def target(self) -> ClusterTarget:
        """Return the runtime and its control plane as plans and confirmations name them."""
        inner = self.inner
        return read_runtime_target(
            self.home.client, self.kyma, self.namespace, inner.client if inner is not None else None
        )

    @property
    def read_only(self) -> bool:
        return self.home.client.transport.read_only

    @property
    def traffic(self) -> tuple[int, int]:
        """Return the number of read requests sent to the runtime, and of requests that can write."""
        inner = self.inner
        return inner.traffic if inner is not None else (0, 0)

    @property
    def cluster(self) -> KubeCluster:
        return cluster_of(self.client)

    @property
    def is_connected(self) -> bool:
        return self.inner is not None

    @property
    def client(self) -> Client:
        """Return the runtime's client. Raise the error that prevents the connection."""
        inner = self.inner
        if inner is None:
            raise self.failure or UnreachableError(f"{self.kyma[1]} is not connected")
        return inner.client

    @property
    def notes(self) -> tuple[str, ...]:
        """Return messages about the source of lifecycle-manager's configuration and its unknown parts."""
        return self._control.notes

    def chains(self) -> tuple[WatcherChain, ...]:
        """Return every Watcher's chain, read from both clusters. Raise the error of a failed read."""
        return build_chains(read_control_side(self.home), read_runtime_side(cluster_of(self.client)))

    def start(self, on_change: Callable[[], None]) -> None:
        """Start both sides without waiting for either."""

        def notice() -> None:
            self._changed.set()
            on_change()

        self._bell.on_change = notice
        self._thread.start()

    def wait_complete(self, timeout: float) -> bool:
        """Wait until both sides are listed or refused; return False if that takes longer.

        Raises what keeps the runtime (or its control plane) from being reached.
        """
        limit = WaitLimit(timeout)
        while True:
            self._changed.clear()
            if self.failure is not None:
                raise self.failure
            inner, rest = self.inner, limit.remaining
            if inner is not None and are_settled(self._control.snapshot(time.time()).feeds, time.time()):
                return inner.wait_complete(max(rest, 0.0))
            if rest <= 0:
                return False
            self._changed.wait(min(rest, LOOK))

    def require_kyma(self) -> None:
        """Raise NotFoundError if the control plane's Kyma was deleted meanwhile."""
        pair = self.pair()
        if pair.control.feeds[KYMA_KINDS[0].feed].state is FeedState.LIVE and pair.control_kyma is None:
            raise NotFoundError(f"the control plane no longer has the Kyma {'/'.join(self.kyma)}", status=404)

    @property
    def feeds(self) -> Mapping[str, Feed]:
        """Return each kind's feed state, from the side that decides for the kind."""
        return self.snapshot().feeds

    def snapshot(self) -> Snapshot:
        """Return both sides as lifecycle-manager reads them; without the runtime the facts of the control plane."""
        self._bell.looked()
        inner, now = self.inner, time.time()
        runtime = inner.snapshot() if inner is not None else None
        self.kymas = runtime.kymas if runtime is not None else ()
        pair = RuntimePair(self.kyma[1], self._control.snapshot(now), runtime, str(self.failure or ""))
        snapshot = join_snapshots(pair)
        return replace(
            snapshot, feeds={**snapshot.feeds, RUNTIME_FEED: _runtime_feed(self.inner, self.failure, self._since)}
        )

    def pair(self) -> RuntimePair:
        """Return both sides separately, for a comparison."""
        inner = self.inner
        runtime = inner.snapshot() if inner is not None else None
        return RuntimePair(self.kyma[1], self._control.snapshot(time.time()), runtime, str(self.failure or ""))

    def follow_events(self, refs: Iterable[ObjectRef]) -> None:
        inner = self.inner
        if inner is not None:
            inner.follow_events(refs)

    def follow_owned(self, refs: Iterable[ObjectRef]) -> None:
        inner = self.inner
        if inner is not None:
            inner.follow_owned(refs)

    def read(self, ref: ObjectRef) -> Object:
        """Return one object whole, from the side that the picture shows it of; raises what that side answers."""
        at_home = any((fixed.group, fixed.kind) == (ref.kind.group, ref.kind.kind) for fixed in KYMA_KINDS)
        return read_object(self.home.client if at_home else self.client, ref)

    def retry(self) -> None:
        """Ask both sides again, now."""
        self._control.retry()
        inner = self.inner
        if inner is not None:
            inner.retry()
        self._again.set()

    def close(self) -> None:
        """End everything; waits for nothing that does not answer."""
        self._closed.set()
        self._bell.on_change = lambda: None
        self._connector.cancel()
        self._again.set()
        self._control.close()
        self._drop()

    # the thread

    def _run(self) -> None:
        attempt = 0
        while not self._closed.is_set():
            self._again.clear()
            if self._outdated:
                self._drop()
                self._outdated = False
            if self.inner is None:
                attempt = self._attempt(attempt)
            if not self._closed.is_set() and (self._control.read_rules() | self._control.look_at_keeper()):
                self._bell.ring()
            self._again.wait(self._control.pause if self.inner is not None else _BACKOFF.delay(attempt - 1))

    def _attempt(self, attempt: int) -> int:
        """Try once; return the number of attempts that failed in a row."""
        try:
            self._control.follow()
            # community catalogs are read for one runtime, not for each of a fleet
            options = replace(self._options, catalogs=()) if self._control.is_shared else self._options
            inner = self._connector.open_session(options, self._timing)
            inner.start(self._bell.ring)
        except Exception as error:  # noqa: BLE001 (a dead thread would leave a screen that says it connects)
            self.failure = as_kymatui_error(error)
            self._since = time.time()
            self._bell.ring()
            return attempt + 1
        self.inner, self.failure, self._since = inner, None, time.time()
        inner.add_templates(self._control.templates)  # from now on whenever they change
        if self._closed.is_set():
            self._drop()
        self._bell.ring()
        return 0

    def _control_changed(self) -> None:
        """End the connection if the access Secret that it was made with has changed."""
        inner = self.inner
        if inner is not None:
            inner.add_templates(self._control.templates)
        now = self._control.secrets
        if now is not None and now != self._secrets:
            first, self._secrets = self._secrets is None, now
            if now != (read := self._connector.secrets_read) and not (first and read is None):
                self._outdated = True
                self._connector.cancel()
                self._again.set()
        self._bell.ring()

    def _drop(self) -> None:
        inner, self.inner = self.inner, None
        if inner is not None:
            threading.Thread(target=inner.close, name="runtime-close", daemon=True).start()


def _runtime_feed(inner: CatalogSession | None, error: KymatuiError | None, since: float) -> Feed:
    """Return the state of the connection to a runtime; `inner` is its session, since `since`."""
    if inner is not None:
        failure, silence = inner.failure, inner.client.heartbeat.silence
        if silence is not None:
            return Feed(FeedState.STALE, silence.since, silence.message)
        return Feed.of_error(FeedState.FAILED, since, failure) if failure else Feed(FeedState.LIVE, since)
    return Feed.of_error(FeedState.FAILED, since, error) if error is not None else Feed(FeedState.SYNCING)


_SECRET: Final = WatchedKind("secrets", "", "Secret", ("v1",))
_KYMAS, _TEMPLATES, _METAS, _MANIFESTS = KYMA_KINDS


class ControlSide:
    """Follows the objects of one runtime, or takes them from a listing that others share (`plane`).

    `rules` is asked for lifecycle-manager's configuration by `read_rules`, once until `retry`.
    """

    def __init__(
        self,
        home: KubeCluster,
        key: RuntimeKey,
        options: SessionOptions,
        changed: Callable[[], None],
        *,
        has_secret: bool,
        timing: WatchTiming | None,
        plane: ControlPlane | None,
        rules: Callable[[], FoundRules] | None,
    ) -> None:
        self._home, self._key, self._options = home, key, options
        self._has_secret = has_secret
        self._ask_rules = rules
        self._rules: FoundRules | None = None
        self._keeper = KeeperWatch(plane.leases if plane is not None else None)
        self._own: Feeds | None = None
        self._feeds: Feeds | RuntimeShare
        if plane is None:
            self._feeds = self._own = Feeds(home.client, changed, timing, once=options.once)
            self._own.expect(fixed.feed for fixed in KYMA_KINDS)
        else:
            self._feeds = plane.part(key, changed)

    @property
    def is_shared(self) -> bool:
        """Return whether the objects come from a listing that other runtimes use too."""
        return self._own is None

    @property
    def templates(self) -> tuple[Object, ...]:
        return self._feeds.objects(_TEMPLATES.feed)

    @property
    def secrets(self) -> frozenset[tuple[str, str]] | None:
        """Return names and resource versions of the access Secrets; None if they are not watched now."""
        feed = self._feeds.states().get(_SECRET.feed)
        if feed is None or feed.state is not FeedState.LIVE:
            return None
        return frozenset(map(_version, self._feeds.objects(_SECRET.feed)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return messages about the source of lifecycle-manager's configuration and its unknown parts."""
        return self._rules[1] if self._rules is not None else self._configured()[1]

    def snapshot(self, now: float) -> Snapshot:
        """Return what the control plane says; `now` in seconds since 1970."""
        feeds = self._feeds
        return Snapshot(
            cluster=self._home.client.transport.connection.context,
            kymas=feeds.objects(_KYMAS.feed),
            templates=self.templates,
            release_metas=feeds.objects(_METAS.feed),
            manifests=feeds.objects(_MANIFESTS.feed),
            feeds={name: feed for name, feed in feeds.states().items() if name != _SECRET.feed},
            taken_at=now,
            rules=self._rules[0] if self._rules is not None else self._configured()[0],
            keeper_lease=self._keeper.lease,
        )

    def follow(self) -> None:
        """Watch the runtime's own objects. Raise what discovery raises."""
        if self._own is None:
            return
        namespace, name = self._key
        label = f"{LABEL_KYMA_NAME}={name}"
        for fixed in (*KYMA_KINDS, *((_SECRET,) if self._has_secret else ())):
            resource = self._own.find(fixed, "the control plane")
            if resource is None:
                continue
            self._own.follow(
                fixed.feed,
                resource,
                only=namespace,
                metadata_only=fixed is _SECRET,
                labels=label if fixed in (_MANIFESTS, _SECRET) else "",
                fields=f"metadata.name={name}" if fixed is _KYMAS else "",
            )

    def read_rules(self) -> bool:
        """Read lifecycle-manager's configuration if it is not known; return whether it was read."""
        if self._ask_rules is None or self._rules is not None:
            return False
        try:
            self._rules = self._ask_rules()
        except KymatuiError as error:
            rules, notes = self._configured()
            unknown = f"the maintenance window policy is unknown: {error}"
            self._rules = (
                rules or ControllerSettings(),
                (unknown, *(note for note in notes if str(error) not in note)),
            )
        return True

    @property
    def pause(self) -> float:
        """Return the seconds until `look_at_keeper` is due; the Kyma, which says whom to ask, may still come."""
        pause = self._keeper.pause
        if pause is not None:
            return pause
        feed = self._feeds.states().get(_KYMAS.feed)
        return KEEPER_PERIOD if feed is not None and feed.state is not FeedState.SYNCING else _BACKOFF.delay(0)

    def look_at_keeper(self) -> bool:
        """Read the Lease of what works on the Kyma if that is due; return whether what runs has changed."""
        keepers = asked_keepers(self._feeds.objects(_KYMAS.feed), self._feeds.objects(_MANIFESTS.feed))
        return self._keeper.refresh(self._home.client, keepers, self._key[:1])

    def retry(self) -> None:
        self._feeds.retry()
        self._rules = None

    def close(self) -> None:
        """End the watches; wait for nothing."""
        self._feeds.close(timeout=0.0)

    def _configured(self) -> tuple[ControllerSettings | None, tuple[str, ...]]:
        """Return the configured rules, and why they cannot be read; the file may be repaired meanwhile."""
        try:
            return read_configured_rules(self._options.maintenance_policy, self._options.restricted_modules), ()
        except KymatuiError as error:
            return None, (str(error),)


def _version(raw: Mapping[str, object]) -> tuple[str, str]:
    metadata = JsonReader(raw).child("metadata")
    return metadata.text("name"), metadata.text("resourceVersion")
