"""The runtime clusters of Kymas, each connected to once and kept until its connection fails.

As in lifecycle-manager, a changed access Secret is read only after a failure, and each controller has a cache of its
own. `is_connection_failure` tells which errors make a client useless.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
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
    """The known runtimes of one controller; thread-safe. `left` gets each Kyma that the controller leaves."""

    def __init__(self, clusters: RuntimeClusters, left: Callable[[KymaKey], None] = lambda kyma: None) -> None:
        self._clusters = clusters
        self._left = left
        self._lock = threading.Lock()
        self._known: dict[KymaKey, Cluster] = {}

    def of(self, kyma: KymaKey, cancel: threading.Event) -> Cluster | None:
        """Return the runtime of a Kyma, None without an access Secret. Raises ConfigurationError."""
        with self._lock:
            known = self._known.get(kyma)
        if known is not None:
            return known
        found = self._clusters.runtime(kyma[1], kyma[0], cancel)
        if found is not None:
            with self._lock:
                self._known[kyma] = found
        return found

    def forget(self, kyma: KymaKey) -> None:
        """Drop a runtime, so that its access Secret is read again."""
        with self._lock:
            self._known.pop(kyma, None)

    def leave(self, kyma: KymaKey) -> None:
        """Drop the runtime of a Kyma that no longer exists, or that another replica reconciles."""
        self.forget(kyma)
        self._left(kyma)

    def clear(self) -> None:
        """Drop all runtimes."""
        with self._lock:
            self._known.clear()

    def drop(self, cluster: Cluster) -> None:
        """Drop a runtime whose client was closed."""
        with self._lock:
            self._known = {kyma: known for kyma, known in self._known.items() if known is not cluster}


def is_connection_failure(error: KymatuiError) -> bool:
    """Return whether the credentials or the address are of no use (any more)."""
    return isinstance(error, UnreachableError | UnauthorizedError | ForbiddenError)
