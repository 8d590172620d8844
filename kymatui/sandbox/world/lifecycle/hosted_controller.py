"""A controller of the operator as a controller of the sandbox: same reconciliation, the sandbox's queue and clock."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.errors import KymatuiError
from kymatui.operator.framework.controller import KindWatch, OperatorController
from kymatui.sandbox.apimachinery.object_store import Key, StoreChange, Stored
from kymatui.sandbox.controllers.framework.store_reader import StoreReader
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.world.lifecycle.local_cluster import LocalCluster

log = logging.getLogger(__name__)
DELAY = 0.05
"""Seconds in which changes of the objects that an object depends on are collected for one reconciliation."""
_WRITTEN_ALWAYS = ("resourceVersion", "managedFields")


class HostedController:
    """Runs an `OperatorController` without threads; `concerns` tells whether it has to do with an object.

    The controller's own `begin` is not called: it would open streams to runtimes. `wake` queues an object after a
    change on a runtime.
    """

    def __init__(
        self,
        controller: OperatorController,
        cluster: LocalCluster,
        observer: StoreReader,
        concerns: Callable[[Key], bool] = lambda _: True,
    ) -> None:
        self.name = f"lifecycle-manager/{controller.name}"
        self._controller = controller
        self._cluster = cluster
        self._observer = observer
        self._concerns = concerns
        self._watches = tuple(controller.watches())
        self._kind, self._namespace = next(
            (watch.kind, watch.namespace or None) for watch in self._watches if watch.listed
        )
        self._failures: dict[Key, int] = {}
        self._cancel = threading.Event()
        self._queue: ControllerQueue | None = None

    def watch(self, queue: ControllerQueue) -> None:
        self._queue = queue
        for watch in self._watches:
            self._follow(watch, queue)
        for key in self._listed():
            self.wake(key)

    def _follow(self, watched: KindWatch, queue: ControllerQueue) -> None:
        own = watched.kind == self._kind

        def changed(change: StoreChange) -> None:
            if watched.namespace not in ("", change.current.namespace) or (own and changes_status_only(change)):
                return
            for key in self._keys(watched, change.current):
                self.wake(key, 0.0 if own else DELAY)

        queue.on_change(self._cluster.resource(watched.kind), changed)

    def _keys(self, watched: KindWatch, changed: Stored) -> Iterable[Key]:
        """Return the objects to reconcile after a change of one on which they depend, or of themselves."""
        ref = ObjectRef(watched.kind, *changed.key)
        if watched.owner is not None:
            keys: Iterable[ObjectRef] | None = watched.owner(ref, changed.labels.get(watched.label, ""))
        else:
            keys = watched.keys(ref)
        return self._listed() if keys is None else [(key.namespace, key.name) for key in keys]

    def _listed(self) -> list[Key]:
        """Return all objects of the controller's own kind."""
        return self._observer.keys(self._cluster.resource(self._kind), self._namespace)

    def wake(self, key: Key, after: float = 0.0) -> None:
        """Queue an object after some seconds, if the controller has to do with it."""
        if self._queue is not None and self._namespace in (None, key[0]) and self._concerns(key):
            self._queue.add(key, after)

    def reconcile(self, key: Key) -> float | None:
        try:
            again = self._controller.reconcile(ObjectRef(self._kind, *key), self._cancel)
        except KymatuiError as error:
            return self._delay(key, error)
        self._failures.pop(key, None)
        if again is not None:
            return again
        exists = self._observer.get(self._cluster.resource(self._kind), key) is not None
        return self._controller.resync if exists else None

    def _delay(self, key: Key, error: KymatuiError) -> float:
        """Return the seconds until the next try, doubled with each failure."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        log.debug("%s on %s: %s", self.name, key, error)
        return self._controller.intervals.backoff.delay(failures)


def changes_status_only(change: StoreChange) -> bool:
    """Return whether an update left all but the status as it was: the controllers write that themselves."""
    if change.kind != "MODIFIED" or change.previous is None:
        return False
    return _without_status(change.previous) == _without_status(change.current)


def _without_status(stored: Stored) -> dict[str, Any]:
    body = stored.body()
    body.pop("status", None)
    metadata = {name: value for name, value in body["metadata"].items() if name not in _WRITTEN_ALWAYS}
    return {**body, "metadata": metadata}
