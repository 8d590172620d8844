"""The runtime clusters of Kymas, each connected to once and kept until its connection fails.

As in lifecycle-manager, a changed access Secret is read only after a failure, and each controller has a cache of its
own, which begins with what the others have read. `is_connection_failure` tells which errors make a client useless.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ForbiddenError, KymatuiError, UnauthorizedError, UnreachableError

KymaKey = tuple[str, str]
"""Namespace and name of a Kyma."""


class RuntimeClusters(Protocol):
    """The runtimes of a control plane, by their access Secrets."""

    def runtime(self, kyma: str, namespace: str, cancel: threading.Event | None = None) -> Cluster | None:
        """Return the cluster of a Kyma, None without an access Secret.

        Raises ConfigurationError for several Secrets, and for one that cannot be used.
        """
        ...


class SingleCluster:
    """Implements `RuntimeClusters` where control plane and runtime are one cluster."""

    def __init__(self, home: Cluster) -> None:
        self._home = home

    def runtime(self, kyma: str, namespace: str, cancel: threading.Event | None = None) -> Cluster | None:
        return self._home


class RuntimeCache:
    """The known runtimes of one controller; thread-safe. `cleared` gets each Kyma that the controller leaves.

    `others` are the caches of all controllers: a runtime that one of them knows needs no second reading of its access
    Secret, unless this controller has dropped it, or `confirm` returns False for it.
    """

    def __init__(
        self,
        clusters: RuntimeClusters,
        cleared: Callable[[KymaKey], None] = lambda kyma: None,
        others: Iterable[RuntimeCache] = (),
        confirm: Callable[[KymaKey, Cluster, threading.Event], bool] = lambda kyma, cluster, cancel: True,
    ) -> None:
        self._clusters = clusters
        self._left = cleared
        self._others = others
        self._confirm = confirm
        self._lock = threading.Lock()
        self._known: dict[KymaKey, Cluster] = {}
        self._dropped: set[KymaKey] = set()

    def of(self, kyma: KymaKey, cancel: threading.Event) -> Cluster | None:
        """Return the runtime of a Kyma, None without an access Secret. Raises ConfigurationError."""
        known = self.find(kyma)
        if known is not None:
            return known
        cluster = self._from_others(kyma)
        if cluster is None or not self._confirm(kyma, cluster, cancel):
            cluster = self._clusters.runtime(kyma[1], kyma[0], cancel)
        if cluster is not None:
            with self._lock:
                self._known[kyma] = cluster
                self._dropped.discard(kyma)
        return cluster

    def find(self, kyma: KymaKey) -> Cluster | None:
        """Return the runtime if it is known."""
        with self._lock:
            return self._known.get(kyma)

    def _from_others(self, kyma: KymaKey) -> Cluster | None:
        with self._lock:
            if kyma in self._dropped:
                return None
        clusters = (cache.find(kyma) for cache in self._others if cache is not self)
        return next((cluster for cluster in clusters if cluster is not None), None)

    def forget(self, kyma: KymaKey) -> None:
        """Drop a runtime, so that its access Secret is read again."""
        with self._lock:
            self._known.pop(kyma, None)
            self._dropped.add(kyma)

    def leave(self, kyma: KymaKey) -> None:
        """Drop the runtime of a Kyma that no longer exists, or that another replica reconciles, for all controllers.

        The next Kyma of the name may have another runtime.
        """
        for cache in (self, *self._others):
            cache.forget_kyma(kyma)
        self._left(kyma)

    def forget_kyma(self, kyma: KymaKey) -> None:
        """Drop all that is known of a Kyma."""
        with self._lock:
            self._known.pop(kyma, None)
            self._dropped.discard(kyma)

    def clear(self) -> None:
        """Drop all runtimes."""
        with self._lock:
            self._known.clear()
            self._dropped.clear()

    def drop(self, cluster: Cluster) -> None:
        """Drop a runtime whose client was closed."""
        with self._lock:
            self._known = {kyma: known for kyma, known in self._known.items() if known is not cluster}


def is_connection_failure(error: KymatuiError) -> bool:
    """Return whether the credentials or the address are of no use (any more)."""
    return isinstance(error, UnreachableError | UnauthorizedError | ForbiddenError)
