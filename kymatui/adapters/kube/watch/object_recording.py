"""Recordings: watches that keep every object they report, deleted ones included."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import Final

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.watch import Watch
from kymatui.adapters.kube.watch.watch_cache import Key, Object, Store, key_of
from kymatui.adapters.kube.watch.watch_reader import WatchSubject, WatchTiming
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.engine.cluster.ports import Object as Body
from kymatui.errors import CancelledError

_LOOK: Final = 0.02  # seconds until a cancellation or a change of a watch is noticed
_REFUSED: Final = (FeedState.FORBIDDEN, FeedState.ABSENT, FeedState.FAILED)


class _Recorded(Store):
    """A store that also keeps what was deleted."""

    def __init__(self, resource: ApiResource) -> None:
        super().__init__(lambda: None)
        self._resource = resource
        self._guard = threading.Lock()
        self._seen: dict[str, Body] = {}
        self._deleted: set[str] = set()
        self.ended = False

    def publish(self, feed: Feed) -> None:
        self.ended = self.ended or (self.feed.state is FeedState.LIVE and feed.state is not FeedState.LIVE)
        super().publish(feed)

    def put(self, key: Key, item: Object) -> None:
        super().put(key, item)
        self._note(item)

    def drop(self, key: Key) -> None:
        gone = next((item for item in self.values() if key_of(item) == key), None)
        super().drop(key)
        if gone is not None:
            with self._guard:
                self._deleted.add(_uid(gone))

    def replace(self, objects: dict[Key, Object]) -> None:
        before = self.values()
        super().replace(objects)
        remaining = {_uid(item) for item in objects.values()}
        with self._guard:
            self._deleted.update(uid for uid in map(_uid, before) if uid not in remaining)
        for item in objects.values():
            self._note(item)

    def _note(self, item: Object) -> None:
        kind = self._resource.gvk
        with self._guard:
            self._seen[_uid(item)] = {**item, "apiVersion": kind.api_version, "kind": kind.kind}

    def drop_deleted(self) -> None:
        with self._guard:
            for uid in self._deleted:
                self._seen.pop(uid, None)
            self._deleted.clear()

    def seen(self) -> tuple[Body, ...]:
        with self._guard:
            return tuple(self._seen.values())


class WatchedObjects:
    """Implements `kymatui.engine.cluster.ports.Recording`."""

    def __init__(self, client: Client, resources: Iterable[ApiResource], timing: WatchTiming | None = None) -> None:
        self._stores: list[_Recorded] = []
        self._watches: list[Watch] = []
        for resource in resources:
            store = _Recorded(resource)
            self._stores.append(store)
            self._watches.append(Watch(client, WatchSubject(resource), store, timing=timing))
        for watch in self._watches:
            watch.start()

    def wait_open(self, seconds: float, cancel: threading.Event | None = None) -> bool:
        deadline = time.monotonic() + seconds
        while not all(store.feed.state is FeedState.LIVE for store in self._stores):
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped")
            if time.monotonic() > deadline or any(store.feed.state in _REFUSED for store in self._stores):
                return False
            time.sleep(_LOOK)
        return True

    def drop_deleted(self) -> None:
        for store in self._stores:
            store.drop_deleted()

    def wait_end(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not all(store.ended for store in self._stores):
            time.sleep(_LOOK)

    def objects(self) -> Sequence[Body]:
        return tuple(body for store in self._stores for body in store.seen())

    def close(self) -> None:
        for watch in self._watches:
            watch.stop()


def _uid(item: Object) -> str:
    metadata = item.get("metadata")
    return str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""
