"""A cluster of which a plan or a check reads each object and each list once, for neither writes anything."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, Unpack, cast

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Clock, Cluster, Object, ObjectListOptions
from kymatui.engine.cluster.retries import DEFAULT_RETRY, RetryingCluster, RetryPolicy

T = TypeVar("T")


class ReadOnceCluster(RetryingCluster):
    """A `Cluster` with retries that keeps what it has read; thread-safe. Callers must not change its objects.

    A second thread that asks for the same waits for the answer of the first. Errors are not kept.
    """

    def __init__(
        self, cluster: Cluster, clock: Clock, cancel: threading.Event, retry: RetryPolicy = DEFAULT_RETRY
    ) -> None:
        super().__init__(cluster, clock, cancel, retry)
        self._lock = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._answers: dict[Hashable, object] = {}

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:
        read = super().get
        return self._once(ref, lambda: read(ref, cancel=cancel))

    def list(
        self, gvk: GroupVersionKind, namespace: str = "", **options: Unpack[ObjectListOptions]
    ) -> builtins.list[Object]:
        read, key = super().list, (gvk, namespace, options.get("labels", ""), options.get("with_managed_fields", False))
        return [*self._once(key, lambda: read(gvk, namespace, **options))]

    def _once(self, key: Hashable, read: Callable[[], T]) -> T:
        with self._lock:
            lock = self._turns.setdefault(key, threading.Lock())
        with lock:
            if key not in self._answers:
                self._answers[key] = read()
            return cast(T, self._answers[key])


def read_once(
    cluster: Cluster, clock: Clock, cancel: threading.Event | None = None, retry: RetryPolicy = DEFAULT_RETRY
) -> ReadOnceCluster:
    """Return a cluster that keeps what it has read; the same one if it does so already."""
    if isinstance(cluster, ReadOnceCluster):
        return cluster
    return ReadOnceCluster(cluster, clock, cancel or threading.Event(), retry)
