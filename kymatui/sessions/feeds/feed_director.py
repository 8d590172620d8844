"""The thread of a session that decides which kinds are watched, again and again."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kymatui.adapters.kube.api.discovery import Discovery
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.projections import MetadataOnly, StatusOnly, Workload
from kymatui.adapters.kube.watch.watch_cache import ChangeBell
from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.modules.readiness import unready_managers
from kymatui.domain.snapshot.snapshots import ReadCache, count_listed
from kymatui.engine.cluster.dials import DIALS, DialPhase
from kymatui.engine.cluster.logins import WaitLimit
from kymatui.errors import KymatuiError, as_kymatui_error, is_busy
from kymatui.sessions.feeds.feeds import (
    KYMA_KINDS,
    NAMESPACES,
    WATCHED_KINDS,
    WORKLOADS,
    Feeds,
    FollowedKind,
    NamespaceFollower,
    namespaces,
)

_LOOK = 0.5
_BACKOFF: Final = Backoff(0.5, 30.0)
"""Seconds between two checks of a condition that may also become true with time."""


class FeedDirector:
    """Calls `arrange` in a thread of its own: at the start, after `wake`, and after the seconds of `pause`.

    An error of `arrange` becomes `failure` and the state of the `feeds` without a watch, and rings the `bell`; it is
    tried again after 0.5 to 30 s.
    """

    def __init__(
        self, name: str, arrange: Callable[[], None], pause: Callable[[], float | None], feeds: Feeds, bell: ChangeBell
    ) -> None:
        self._arrange = arrange
        self._pause = pause
        self._feeds = feeds
        self._bell = bell
        self._due = threading.Event()
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.failure: KymatuiError | None = None

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    @property
    def is_due(self) -> bool:
        """Return whether another call of `arrange` is asked for."""
        return self._due.is_set()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Ask for another call of `arrange`, now."""
        self._due.set()

    def notify(self) -> None:
        """Let `wait` look at its condition again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        self._closed.set()
        self._due.set()
        self.notify()

    def wait(self, complete: Callable[[], bool], timeout: float) -> bool:
        """Wait until `complete`; return False if that takes longer than `timeout` seconds, or after `close`.

        The time in which a person logs in does not count.

        Raise `failure`: at once where time does not heal it (credentials, a broken plugin, no connection), else at the
        end of the time.
        """
        limit = WaitLimit(timeout)
        with (
            DIALS.entered(self._feeds.cluster, DialPhase.LISTING, lambda: count_listed(self._feeds.states())),
            self._changed,
        ):
            while not complete():
                seconds = limit.remaining
                if self.failure is not None and (seconds <= 0 or not is_busy(self.failure)):
                    raise self.failure
                if seconds <= 0 or self.is_closed:
                    return False
                self._changed.wait(min(seconds, _LOOK))
        return True

    def _run(self) -> None:
        attempt = 0
        while not self.is_closed:
            self._due.clear()
            try:
                self._arrange()
                self.failure, attempt = None, 0
            except Exception as error:  # noqa: BLE001 (a dead thread would leave the screen at "loading")
                attempt += 1
                self.failure = as_kymatui_error(error)
                self._feeds.failed(self.failure)
                self._bell.ring()
            self.notify()
            self._due.wait(_BACKOFF.delay(attempt - 1) if attempt else self._pause())


KEPT = 2000
"""How many objects of a kind and namespace are kept, the newest."""
KINDS = 40
"""How many kinds of an inventory are followed, each in each of its namespaces."""
_PODS = "apps", "batch"
_VERBS = ("get", "list", "watch")
_POD = "", "Pod"
_WHOLE = frozenset({("", "Service"), ("", "PersistentVolumeClaim"), ("", "Namespace"), ("", "Pod")})
# Groups whose objects do nothing by themselves: that they are there is all there is to say, and Secrets stay unread.
_INERT = frozenset(
    {
        "",
        "rbac.authorization.k8s.io",
        "admissionregistration.k8s.io",
        "networking.k8s.io",
        "policy",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "storage.k8s.io",
        "autoscaling",
    }
)


_SELECTED = frozenset(fixed.feed for fixed in WATCHED_KINDS if fixed.labels)
"""Feeds of kinds of which only some objects are watched."""


class OwnedFollower(NamespaceFollower):
    """Secrets and the like are followed by their metadata alone."""

    def __init__(self, feeds: Feeds, discovery: Discovery) -> None:
        super().__init__(feeds)
        self._discovery = discovery
        self._refs: tuple[ObjectRef, ...] = ()
        self._pods_in: tuple[str, ...] = ()
        self._cache = ReadCache()

    def follow(self, refs: Iterable[ObjectRef]) -> None:
        self._refs = tuple(refs)
        super().follow(self._refs)

    def follow_failing(self) -> None:
        """Follow the Pods where a manager is not ready, too; once followed they stay, as it may fail again."""
        templates = self._feeds.objects(KYMA_KINDS[1].feed)
        workloads = tuple(item for fixed in WORKLOADS for item in self._feeds.objects(fixed.feed))
        unready = self._cache.recall(
            "unready", (workloads, templates), lambda: unready_managers(workloads, templates, time.time())
        )
        searched = tuple(dict.fromkeys((*self._pods_in, *(ref.namespace for ref in unready))))
        if searched != self._pods_in:
            self._pods_in = searched
            with contextlib.suppress(KymatuiError):  # without discovery what was followed stays
                super().follow(self._refs)

    def followed_kinds(self, refs: tuple[ObjectRef, ...]) -> Iterator[FollowedKind]:
        workloads = [ref for ref in refs if ref.kind.group in _PODS or (ref.kind.group, ref.kind.kind) == _POD]
        yield from self._made(namespaces(workloads, ""))
        asked = dict.fromkeys((ref.kind, ref.namespace) for ref in refs)
        for kind, namespace in list(asked)[:KINDS]:
            yield from self._installed(kind, namespace)
        for searched_namespace in self._pods_in[:NAMESPACES]:
            yield _pods(searched_namespace)

    def _made(self, searched: tuple[str, ...]) -> Iterator[FollowedKind]:
        """Yield groups that every API server serves, each in its one version: discovery has nothing to add."""
        for namespace in filter(None, searched):
            yield FollowedKind(
                ApiResource("apps", "v1", "ReplicaSet", "replicasets", True, _VERBS), namespace, Workload, KEPT
            )
            yield _pods(namespace)
            yield FollowedKind(ApiResource("batch", "v1", "Job", "jobs", True, _VERBS), namespace, StatusOnly, KEPT)

    def _installed(self, kind: GroupVersionKind, namespace: str) -> Iterator[FollowedKind]:
        """Yield a kind of the inventory, unless all of it is watched anyway or the cluster does not serve it."""
        resource = self._discovery.find_kind(kind.group, kind.kind, (kind.version,))
        if resource is None or "watch" not in resource.verbs:
            return
        if resource.name in self._feeds.states() and resource.name not in _SELECTED:
            return
        if (kind.group, kind.kind) in (("apps", "ReplicaSet"), ("", "Pod"), ("batch", "Job")):
            return
        inert = kind.group in _INERT and (kind.group, kind.kind) not in _WHOLE
        where = namespace if resource.namespaced else ""
        if resource.namespaced == bool(namespace):
            yield FollowedKind(resource, where, MetadataOnly if inert else None, KEPT, metadata_only=inert)


def _pods(namespace: str) -> FollowedKind:
    return FollowedKind(ApiResource("", "v1", "Pod", "pods", True, _VERBS), namespace, StatusOnly, KEPT)
