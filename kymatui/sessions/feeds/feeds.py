"""The watches of one session: which kinds and namespaces, begun and ended as they come and go, read together."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.watch import Watch
from kymatui.adapters.kube.watch.watch_cache import NewestStore, RowStore, Store
from kymatui.adapters.kube.watch.watch_reader import WatchSubject, WatchTiming
from kymatui.domain.installed import INVENTORIES, RELEASES
from kymatui.domain.kubernetes.json_reader import text_at
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.cluster_index import INVENTORY_FEED, RELEASE_FEED, RELEASE_MAP_FEED
from kymatui.domain.snapshot.snapshots import Feed, FeedState, NamespacedKind, Object, namespaced_feed
from kymatui.errors import KymatuiError

OPERATOR = "operator.kyma-project.io"
KYMA_NAMESPACE = "kyma-system"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class WatchedKind(Struct, frozen=True):
    """A kind that is always wanted, with the name that its feed has even while nothing is known of the server.

    `labels` select some of its objects; with `metadata_only` the server sends no more than that.
    """

    feed: str
    group: str
    kind: str
    versions: tuple[str, ...]
    labels: str = ""
    metadata_only: bool = False


KYMA_KINDS = (
    WatchedKind(f"kymas.{OPERATOR}", OPERATOR, "Kyma", ("v1beta2", "v1beta1")),
    WatchedKind(f"moduletemplates.{OPERATOR}", OPERATOR, "ModuleTemplate", ("v1beta2", "v1beta1")),
    WatchedKind(f"modulereleasemetas.{OPERATOR}", OPERATOR, "ModuleReleaseMeta", ("v1beta2",)),
    WatchedKind(f"manifests.{OPERATOR}", OPERATOR, "Manifest", ("v1beta2", "v1beta1")),
)
WORKLOADS = (
    WatchedKind("deployments.apps", "apps", "Deployment", ("v1",)),
    WatchedKind("statefulsets.apps", "apps", "StatefulSet", ("v1",)),
    WatchedKind("daemonsets.apps", "apps", "DaemonSet", ("v1",)),
)
DEFINITION = WatchedKind(DEFINITIONS, "apiextensions.k8s.io", "CustomResourceDefinition", ("v1",), metadata_only=True)
RECORDS = (
    WatchedKind(INVENTORY_FEED, "", "ConfigMap", ("v1",), INVENTORIES),
    WatchedKind(RELEASE_FEED, "", "Secret", ("v1",), RELEASES, metadata_only=True),
    WatchedKind(RELEASE_MAP_FEED, "", "ConfigMap", ("v1",), RELEASES, metadata_only=True),
)
"""What kymatui and helm installed; of releases, whose values may be secret, no data is ever asked for."""
WATCHED_KINDS = (*KYMA_KINDS, *WORKLOADS, DEFINITION, *RECORDS)
_FIXED = {(fixed.group, fixed.kind) for fixed in (*KYMA_KINDS, *WORKLOADS, DEFINITION)}


def module_kinds(
    templates: Iterable[Mapping[str, Any]],
    outside: Iterable[Mapping[str, Any]] = (),
    installed: Iterable[GroupVersionKind] = (),
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the kinds of module CRs by group and kind, with the versions in templates.

    Templates may say anything: what names no kind is passed over here, and told of by the domain. Those from outside
    of the cluster, and the default CRs of what is `installed`, are not trusted to name built-in kinds: nobody wants
    every Secret listed for a file on the web.
    """
    kinds: dict[tuple[str, str], dict[str, None]] = {}
    trusted = [kind for template in templates if (kind := _data_kind(template)) is not None]
    others = [kind for template in outside if (kind := _data_kind(template)) is not None and _is_custom(kind)]
    others += filter(_is_custom, installed)
    for kind in (*trusted, *others):
        if (kind.group, kind.kind) not in _FIXED:
            kinds.setdefault((kind.group, kind.kind), {})[kind.version] = None
    return {key: tuple(versions) for key, versions in sorted(kinds.items())}


def _is_custom(kind: GroupVersionKind) -> bool:
    """Return whether a CRD defines the kind: its group has a dot and does not end in .k8s.io."""
    return "." in kind.group and not kind.group.endswith(".k8s.io")


def _data_kind(template: Mapping[str, Any]) -> GroupVersionKind | None:
    api_version, kind = (text_at(template, "spec", "data", name) for name in ("apiVersion", "kind"))
    return GroupVersionKind.of(api_version, kind) if api_version and kind else None


_AT_ONCE = 6
"""Lists at a time, where each kind is listed once: a connection for each would cost more than the lists do."""


class _Line(Struct):
    """One kind: its store, and its watch where the cluster serves it."""

    store: Store
    kind: GroupVersionKind | None = None
    watch: Watch | None = None


class Feeds:
    """Watches by feed name; safe to share between threads. With `once` kinds are listed, and not watched."""

    def __init__(
        self, client: Client, changed: Callable[[], None], timing: WatchTiming | None = None, *, once: bool = False
    ) -> None:
        self._client = client
        self._changed = changed
        self._timing = timing
        self._turns = threading.Semaphore(_AT_ONCE) if once else None
        self._lock = threading.Lock()
        self._lines: dict[str, _Line] = {}
        self._closed = False
        self._listens = False

    @property
    def cluster(self) -> str:
        return self._client.transport.connection.context or self._client.transport.connection.endpoint.server

    def expect(self, names: Iterable[str]) -> None:
        """Expect lists before anything is known of the server: they are syncing."""
        for name in names:
            self._line(name)

    def find(self, fixed: WatchedKind, owner: str = "the cluster") -> ApiResource | None:
        """Return the resource of a kind; mark a kind that `owner` does not serve."""
        resource = self._client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
        if resource is None:
            self.absent(fixed.feed, f"{owner} does not serve {fixed.kind} of {fixed.group}")
        return resource

    def follow(
        self,
        name: str,
        resource: ApiResource,
        *,
        namespaces: tuple[str, ...] = (),
        decode: Any = None,
        metadata_only: bool = False,
        only: str = "",
        newest: int = 0,
        labels: str = "",
        fields: str = "",
        missing: Callable[[], None] = lambda: None,
    ) -> None:
        """Watch a resource under a name, unless it is watched in the same version already.

        `only` one namespace, `labels` and `fields` select; of `newest` objects only the last so many are kept (0: all).
        """
        line = self._line(name, newest)
        with self._lock:
            if self._closed or (line.watch is not None and line.kind == resource.gvk):
                return
            former = line.watch
            subject = WatchSubject(resource, namespaces, decode, metadata_only, only, labels, fields)
            line.watch = Watch(
                self._client, subject, line.store, timing=self._timing, missing=missing, semaphore=self._turns
            )
            line.kind = resource.gvk
        if former is not None:
            former.stop()
        self._listen()
        line.store.publish(Feed(FeedState.SYNCING))
        line.watch.start()

    def _listen(self) -> None:
        """Hear of a server that stops answering; lists that are asked for once say so themselves."""
        with self._lock:
            first, self._listens = not self._listens and self._turns is None, True
        if first:
            self._client.heartbeat.listen(self._changed, self._timing.pulse if self._timing else None)

    def expect_rows(self, name: str, read: Callable[[Object], Any]) -> RowStore:
        """Store only the result of `read` per object of a feed; call it before `follow`."""
        store = RowStore(self._changed, read, ledger=self._client.ledger)
        with self._lock:
            self._lines[name] = _Line(store)
        return store

    def absent(self, name: str, message: str) -> None:
        """Mark a kind that the cluster does not serve."""
        line = self._line(name)
        self._end(line)
        if line.store.values():
            line.store.replace({})
        if line.store.feed.state is not FeedState.ABSENT:
            line.store.publish(Feed(FeedState.ABSENT, time.time(), message))

    def failed(self, error: KymatuiError) -> None:
        """Mark the kinds without a watch as failed; a watch reports its own failure."""
        for line in self._all():
            if line.watch is None:
                line.store.publish(Feed.of_error(FeedState.FAILED, line.store.feed.since, error))

    def drop(self, name: str) -> None:
        """Stop a feed and delete its objects."""
        with self._lock:
            line = self._lines.pop(name, None)
        if line is not None:
            self._end(line)
            line.store.close()
            self._changed()

    def retry(self) -> None:
        """Let all watches that wait query the server now, also with another login."""
        self._client.transport.connection.credentials.retry()
        for line in self._all():
            if line.watch is not None:
                line.watch.retry()

    def close(self, timeout: float = 2.0) -> None:
        """End all watches, and waits for their threads for at most `timeout` seconds in all; never for a list."""
        with self._lock:
            self._closed = True
        self._client.heartbeat.forget(self._changed)
        watches = [line.watch for line in self._all() if line.watch is not None]
        for watch in watches:
            watch.stop()
        for line in self._all():
            line.store.close()
        if self._turns is not None:
            for line in self._all():
                line.store.forget()  # cycles of the session would hold the objects until the next full collection
            return
        deadline = time.monotonic() + timeout
        for watch in watches:
            watch.join(max(0.0, deadline - time.monotonic()))

    # reading

    def states(self) -> dict[str, Feed]:
        """Return each kind's feed state; none is live or syncing while the server does not answer."""
        with self._lock:
            states = {name: line.store.feed for name, line in self._lines.items()}
        silence = self._client.heartbeat.silence
        if silence is None:
            return states
        instead = {
            FeedState.LIVE: Feed(FeedState.STALE, silence.since, silence.message),
            FeedState.SYNCING: Feed(FeedState.FAILED, silence.since, silence.message),  # its list never came
        }
        return {name: instead.get(feed.state, feed) for name, feed in states.items()}

    @property
    def are_whole(self) -> bool:
        """Return whether every kind that is watched is listed in all namespaces."""
        return all(line.watch is None or line.watch.is_whole for line in self._all())

    def objects(self, name: str) -> tuple[Object, ...]:
        with self._lock:
            line = self._lines.get(name)
        return line.store.values() if line is not None else ()

    def kind(self, name: str) -> GroupVersionKind | None:
        with self._lock:
            line = self._lines.get(name)
            return line.kind if line is not None else None

    def _line(self, name: str, newest: int = 0) -> _Line:
        with self._lock:
            if name not in self._lines:
                ledger = self._client.ledger
                store = (
                    NewestStore(self._changed, newest, ledger=ledger) if newest else Store(self._changed, ledger=ledger)
                )
                self._lines[name] = _Line(store)
            return self._lines[name]

    def _all(self) -> list[_Line]:
        with self._lock:
            return list(self._lines.values())

    def _end(self, line: _Line) -> None:
        with self._lock:
            watch, line.watch, line.kind = line.watch, None, None
        if watch is not None:
            watch.stop()


_THRESHOLDS = (10_000, 250, 100)  # young objects until a collection, and collections until the older ones follow


def raise_gc_thresholds() -> None:
    """Collect rarely, and never again what the imports left; for the whole process."""
    if gc.get_threshold() != _THRESHOLDS:
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)


NAMESPACES = 6
"""How many namespaces are followed at a time; whoever asks for more gets the first ones."""
CLUSTER_SCOPED = "default"  # where the events of objects without a namespace are


class FollowedKind(Struct, frozen=True):
    """A kind in one namespace ("" for one that has none), how its objects are decoded, and how many are kept.

    Of `newest` objects only the last so many (0: all); `metadata_only` asks the server for no more than that.
    """

    resource: ApiResource
    namespace: str
    decode: Any = None
    newest: int = 0
    metadata_only: bool = False

    @property
    def feed(self) -> str:
        return namespaced_feed(self.resource.plural, self.namespace or "the cluster")

    @property
    def place(self) -> NamespacedKind:
        return self.resource.group, self.resource.kind, self.namespace


class NamespaceFollower:
    """What is followed is replaced as a whole by the next call; nothing is asked for by itself."""

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._followed: Mapping[str, FollowedKind] = {}

    def followed_kinds(self, refs: tuple[ObjectRef, ...]) -> Iterator[FollowedKind]:
        """Yield the kinds to follow for these objects."""
        raise AssertionError(f"{type(self).__name__} follows nothing")

    def follow(self, refs: Iterable[ObjectRef]) -> None:
        """Follow exactly the kinds that these objects need; none without objects."""
        targets = {followed.feed: followed for followed in self.followed_kinds(tuple(refs))}
        for name in self._followed:
            if name not in targets:
                self._feeds.drop(name)
        self._followed = targets
        for name, followed in targets.items():
            self._feeds.follow(
                name,
                followed.resource,
                only=followed.namespace,
                decode=followed.decode,
                newest=followed.newest,
                metadata_only=followed.metadata_only,
            )

    def objects(self) -> tuple[Object, ...]:
        """Return all objects known now, in no order."""
        return tuple(item for name in self._followed for item in self._feeds.objects(name))

    def places(self) -> frozenset[NamespacedKind]:
        """Return the kinds and namespaces that are listed completely: a missing object does not exist."""
        states = self._feeds.states()
        return frozenset(
            followed.place
            for name, followed in self._followed.items()
            if name in states and states[name].state in (FeedState.LIVE, FeedState.STALE)
        )


def namespaces(refs: Iterable[ObjectRef], cluster_scoped: str = CLUSTER_SCOPED) -> tuple[str, ...]:
    """Return the first few namespaces of objects; `cluster_scoped` for objects without one."""
    return tuple(dict.fromkeys(ref.namespace or cluster_scoped for ref in refs))[:NAMESPACES]
