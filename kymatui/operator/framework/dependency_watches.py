"""Watches of objects that Manifests depend on, per cluster, and only while needed.

Each cluster has a `_Post`, which watches a kind in single namespaces, or in all if they are many. A watch ends with
the last Manifest that needs it, a post with its last watch.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.concurrency import report_defect
from kymatui.engine.cluster.ports import Changes, Cluster
from kymatui.errors import KymatuiError

MOST_WATCHED_CLUSTERS: Final = 48
"""Maximum number of watched clusters. In a larger fleet, the other ones are left to events and the resync."""
UNUSED: Final = 900.0
"""Seconds after which a cluster gives its place to another one. A fleet that is resynced in turn keeps its watches."""
_MOST_NAMESPACES: Final = 4  # above it, one watch of all namespaces is cheaper
_LOOK: Final = 60.0

WatchKey = tuple[GroupVersionKind, str]


class DependencyWatches:
    """The dependency watches; they wake Manifests, are inactive before `begin`, and are thread-safe."""

    def __init__(
        self, most: int = MOST_WATCHED_CLUSTERS, unused: float = UNUSED, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._unused, self._clock = most, unused, clock
        self._lock = threading.Lock()
        self._wake: Callable[[ObjectRef], None] | None = None
        self._posts: OrderedDict[Cluster, _Post] = OrderedDict()
        self._places: dict[ObjectRef, Cluster] = {}

    def begin(self, wake: Callable[[ObjectRef], None]) -> None:
        """Start calling `wake` with Manifests to reconcile, from any thread."""
        with self._lock:
            self._wake = wake

    def watch(self, manifest: ObjectRef, cluster: Cluster, refs: Iterable[ObjectRef], *, more: bool = False) -> bool:
        """Set the objects of a cluster that a Manifest depends on (`more`: add them).

        Returns whether they are watched; if not, the caller has to poll.
        """
        with self._lock:
            if self._wake is None:
                return False
            known = self._places.get(manifest)
            elsewhere = self._posts.get(known) if known is not None and known is not cluster else None
            oldest, is_full = self._make_room(cluster)
            if not is_full:
                post = self._posts.get(cluster) or _Post(cluster, self._wake)
                post.used = self._clock()
                self._posts[cluster] = post
                self._posts.move_to_end(cluster)
                self._places[manifest] = cluster
        if elsewhere is not None:
            self._leave(manifest, elsewhere)
        if oldest is not None:
            oldest.end()
        return not is_full and post.need(manifest, refs, more=more)

    def _make_room(self, cluster: Cluster) -> tuple[_Post | None, bool]:
        """Return a post that ends for a cluster, and whether there is no place for it."""
        if cluster in self._posts or len(self._posts) < self._most:
            return None, False
        first = next(iter(self._posts.values()))
        if self._clock() - first.used < self._unused:
            return None, True
        return self._posts.popitem(last=False)[1], False

    def has(self, cluster: Cluster) -> bool:
        """Return whether a cluster is watched."""
        with self._lock:
            return cluster in self._posts

    def unwatch(self, manifest: ObjectRef) -> None:
        """Drop all dependencies of a Manifest."""
        with self._lock:
            cluster = self._places.pop(manifest, None)
            post = self._posts.get(cluster) if cluster is not None else None
        if post is not None:
            self._leave(manifest, post)

    def _leave(self, manifest: ObjectRef, post: _Post) -> None:
        post.need(manifest, (), more=False)
        with self._lock:
            empty = post.is_empty and self._posts.get(post.cluster) is post
            if empty:
                del self._posts[post.cluster]
        if empty:
            post.end()

    def forget(self, cluster: Cluster) -> None:
        """End the watches of a cluster whose connection is closed."""
        with self._lock:
            post = self._posts.pop(cluster, None)
        if post is not None:
            post.end()

    def end(self) -> None:
        with self._lock:
            posts = list(self._posts.values())
            self._posts.clear()
            self._places.clear()
            self._wake = None
        for post in posts:
            post.end()

    def watched(self) -> dict[str, list[str]]:
        """Return the watched kinds by cluster name: "Kind namespace"."""
        with self._lock:
            return {cluster.name: post.subjects() for cluster, post in self._posts.items()}


class _Post:
    """The dependencies on one cluster, by Manifest, and their watches."""

    def __init__(self, cluster: Cluster, wake: Callable[[ObjectRef], None]) -> None:
        self.cluster = cluster
        self.used = 0.0
        self._wake = wake
        self._lock = threading.Lock()
        self._needs: dict[ObjectRef, frozenset[ObjectRef]] = {}
        self._needed_by: dict[ObjectRef, set[ObjectRef]] = {}
        self._counts: dict[GroupVersionKind, Counter[str]] = defaultdict(Counter)
        self._streams: dict[WatchKey, WatchThread] = {}
        self._ended = False

    @property
    def is_empty(self) -> bool:
        return not self._needs

    def subjects(self) -> list[str]:
        with self._lock:
            return sorted(f"{kind.kind} {namespace}".strip() for kind, namespace in self._streams)

    def need(self, manifest: ObjectRef, refs: Iterable[ObjectRef], *, more: bool) -> bool:
        """Set the dependencies before the watch starts, so that its first list wakes late callers."""
        with self._lock:
            if self._ended:
                return False
            before = self._needs.pop(manifest, frozenset())
            after = frozenset(refs) | (before if more else frozenset())
            if after:
                self._needs[manifest] = after
            self._count(manifest, before - after, -1)
            self._count(manifest, after - before, 1)
            return self._watch({ref.kind for ref in before ^ after})

    def _count(self, manifest: ObjectRef, refs: Iterable[ObjectRef], number: int) -> None:
        for ref in refs:
            holders = self._needed_by.setdefault(ref, set())
            (holders.add if number > 0 else holders.discard)(manifest)
            if not holders:
                del self._needed_by[ref]
            self._counts[ref.kind][ref.namespace] += number
            if not self._counts[ref.kind][ref.namespace]:
                del self._counts[ref.kind][ref.namespace]

    def _watch(self, kinds: Iterable[GroupVersionKind]) -> bool:
        """Start and end watches as needed; return whether all dependencies are watched."""
        good = True
        for kind in kinds:
            keys = self._watch_keys(kind)
            for subject in keys - self._streams.keys():
                try:
                    changes = self.cluster.follow([subject])
                except KymatuiError:
                    good = False  # the reconciliation reports the cluster's error
                    continue
                self._streams[subject] = WatchThread(changes, self._touched)
            for subject in [key for key in self._streams if key[0] == kind and key not in keys]:
                self._streams.pop(subject).close()
        return good

    def _watch_keys(self, kind: GroupVersionKind) -> set[WatchKey]:
        namespaces = set(self._counts[kind])
        return {(kind, "")} if len(namespaces) > _MOST_NAMESPACES else {(kind, namespace) for namespace in namespaces}

    def _touched(self, refs: Iterable[ObjectRef]) -> None:
        with self._lock:
            manifests = {manifest for ref in refs for manifest in self._needed_by.get(ref, ())}
        for manifest in manifests:
            self._wake(manifest)

    def end(self) -> None:
        with self._lock:
            self._ended = True
            streams = list(self._streams.values())
            self._streams.clear()
        for stream in streams:
            stream.close()


class WatchThread:
    """A watch and the thread that forwards its changes."""

    def __init__(self, changes: Changes, touched: Callable[[Iterable[ObjectRef]], None]) -> None:
        self._changes = changes
        self._touched = touched
        self._closed = threading.Event()
        threading.Thread(target=self._run, name="dependency-watch", daemon=True).start()

    def _run(self) -> None:
        while not self._closed.is_set():
            refs = self._changes.wait(_LOOK)
            if not refs or self._closed.is_set():
                continue
            try:
                self._touched(refs)
            except Exception as error:  # noqa: BLE001 (a dead thread would never hear of the objects again)
                report_defect(error)

    def close(self) -> None:
        self._closed.set()
        self._changes.close()
