"""Change notifications: metadata-only watches that report which objects changed, without the objects."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.watch import Watch
from kymatui.adapters.kube.watch.watch_cache import Key, Object, Store
from kymatui.adapters.kube.watch.watch_subject import WatchSubject, WatchTiming
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.errors import CancelledError

_LOOK = 0.05
_POLL = 2.0  # seconds between two reads of kinds that cannot be watched


class _Touched(Store):
    """A store that keeps names instead of objects."""

    def __init__(self, gvk: GroupVersionKind, told: WatchedChanges) -> None:
        super().__init__(lambda: None)
        self._gvk = gvk
        self._told = told

    def put(self, key: Key, item: Object) -> None:
        super().put(key, {})
        self._told.touch([ObjectRef(self._gvk, *key)])

    def drop(self, key: Key) -> None:
        super().drop(key)
        self._told.touch([ObjectRef(self._gvk, *key)])

    def replace(self, objects: dict[Key, Object]) -> None:
        """Report every object of the new list and every known object that is missing in it."""
        gone = self.keys() - objects.keys()
        super().replace({key: {} for key in objects})
        self._told.touch(ObjectRef(self._gvk, *key) for key in (*objects, *gone))


class WatchedChanges:
    """Implements `kymatui.engine.cluster.ports.Changes`.

    `subjects` are resources with a namespace, or "" for all.
    """

    def __init__(
        self, client: Client, subjects: Iterable[tuple[ApiResource, str]], timing: WatchTiming | None = None
    ) -> None:
        self._condition = threading.Condition()
        self._touched: set[ObjectRef] = set()
        self._closed = False
        self._stores: list[_Touched] = []
        self._watches: list[Watch] = []
        for resource, namespace in subjects:
            store = _Touched(resource.gvk, self)
            subject = WatchSubject(resource, only=namespace, metadata_only=True)
            self._stores.append(store)
            self._watches.append(Watch(client, subject, store, timing=timing))
        for watch in self._watches:
            watch.start()

    def touch(self, refs: Iterable[ObjectRef]) -> None:
        with self._condition:
            self._touched.update(refs)
            if self._touched:
                self._condition.notify_all()

    def wait(self, seconds: float, cancel: threading.Event | None = None) -> frozenset[ObjectRef]:
        deadline = time.monotonic() + seconds
        blind = time.monotonic() + _POLL
        with self._condition:
            while not self._touched and not self._closed:
                now = time.monotonic()
                if cancel is not None and cancel.is_set():
                    raise CancelledError("stopped while waiting for the cluster")
                if now >= deadline or (now >= blind and not self._sees()):
                    break
                # Neither a cancellation nor the end of a watch notifies the condition, so check for both.
                pause = _LOOK if cancel is not None else _POLL
                self._condition.wait(min(pause, deadline - now))
            touched, self._touched = frozenset(self._touched), set()
            return touched

    def _sees(self) -> bool:
        return all(store.feed.state is FeedState.LIVE for store in self._stores)

    def close(self) -> None:
        """End the watches and wake the waiting threads."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        for watch in self._watches:
            watch.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
