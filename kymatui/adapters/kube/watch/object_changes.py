"""Change notifications: metadata-only watches that report which objects changed, without the objects."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.watch import Watch
from kymatui.adapters.kube.watch.watch_cache import Key, Object, Store
from kymatui.adapters.kube.watch.watch_reader import WatchSubject, WatchTiming
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.errors import CancelledError

_LOOK = 0.05  # seconds until a cancellation is noticed, which does not notify the condition
_POLL = 2.0  # seconds between two reads of kinds that cannot be watched


_MOST_DELETED: Final = 4096  # deleted objects whose label is remembered; the oldest is dropped


class _Touched(Store):
    """A store that keeps a version and a label of each object; `namespace` is "" for all.

    With `edits`, it also keeps a digest of what clients request, and reports an object when that differs.
    """

    def __init__(
        self, gvk: GroupVersionKind, namespace: str, changes: WatchedChanges, label: str, *, edits: bool = False
    ) -> None:
        super().__init__(lambda: None)
        self.namespace = namespace
        self._gvk = gvk
        self._told = changes
        self._label = label
        self._edits = edits
        self._deleted: OrderedDict[Key, str] = OrderedDict()

    def keep(self, item: Object) -> Object:
        metadata = item.get("metadata") or {}
        value = (metadata.get("labels") or {}).get(self._label, "") if self._label else ""
        kept: dict[str, Any] = {"version": metadata.get("resourceVersion"), "label": sys.intern(value)}
        if self._edits:
            kept["request"] = _request_digest(metadata)
        return kept

    def put(self, key: Key, item: Object) -> None:
        with self._lock:
            before = self._objects.get(key)
        super().put(key, item)
        if self._is_reported(before, item):
            self._told.touch([ObjectRef(self._gvk, *key)])

    def _is_reported(self, before: Object | None, after: Object) -> bool:
        if self._edits and before is not None:
            return bool(before["request"] != after["request"])
        return before != after

    def drop(self, key: Key) -> None:
        self._remember([key])
        super().drop(key)
        self._told.touch([ObjectRef(self._gvk, *key)])

    def replace(self, objects: dict[Key, Object]) -> None:
        """Report each object that is new, has another version, or is missing in the new list."""
        with self._lock:
            before = self._objects
        gone = [key for key in before if key not in objects]
        changed = [key for key, body in objects.items() if self._is_reported(before.get(key), body)]
        self._remember(gone)
        super().replace(objects)
        self._told.touch(ObjectRef(self._gvk, *key) for key in (*changed, *gone))

    def label_of(self, key: Key) -> str | None:
        with self._lock:
            body = self._objects.get(key)
            return str(body["label"]) if body is not None else self._deleted.get(key)

    def version_of(self, key: Key) -> str | None:
        """Return the version of an object, None if it is not there or the watch does not run."""
        with self._lock:
            body = self._objects.get(key) if self._feed.state is FeedState.LIVE else None
            return str(body["version"]) if body is not None else None

    def misses(self, key: Key) -> bool:
        """Return whether the watch runs and has not seen the object."""
        with self._lock:
            return self._feed.state is FeedState.LIVE and key not in self._objects

    def _remember(self, keys: Iterable[Key]) -> None:
        with self._lock:
            for key in keys:
                if (known := self._objects.get(key)) is not None:
                    self._deleted[key] = str(known["label"])
            while len(self._deleted) > _MOST_DELETED:
                self._deleted.popitem(last=False)


def _request_digest(metadata: Mapping[str, Any]) -> int:
    """Return a number that differs with what clients request of an object: its spec, by generation, and metadata."""
    return hash(
        (
            metadata.get("uid"),
            metadata.get("generation"),
            metadata.get("deletionTimestamp"),
            tuple(metadata.get("finalizers") or ()),
            *(frozenset((metadata.get(name) or {}).items()) for name in ("labels", "annotations")),
            tuple(str(owner.get("uid")) for owner in metadata.get("ownerReferences") or ()),
        )
    )


class WatchedChanges:
    """Implements `kymatui.engine.cluster.ports.Changes`.

    `subjects` are resources with a namespace, or "" for all; `label` is kept of each object. With `edits`, a change
    of an object's status alone is not reported.
    """

    def __init__(
        self,
        client: Client,
        subjects: Iterable[tuple[ApiResource, str]],
        timing: WatchTiming | None = None,
        label: str = "",
        *,
        edits: bool = False,
    ) -> None:
        self._condition = threading.Condition()
        self._touched: set[ObjectRef] = set()
        self._closed = False
        self._stores: dict[GroupVersionKind, list[_Touched]] = {}
        self._watches: list[Watch] = []
        for resource, namespace in subjects:
            store = _Touched(resource.gvk, namespace, self, label, edits=edits)
            subject = WatchSubject(resource, only=namespace, metadata_only=True)
            self._stores.setdefault(resource.gvk, []).append(store)
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
                    raise CancelledError("stopped")
                if now >= deadline or (now >= blind and not self._sees()):
                    break
                # Neither a cancellation nor the end of a watch notifies the condition, so check for both.
                pause = _LOOK if cancel is not None else _POLL
                self._condition.wait(min(pause, deadline - now))
            touched, self._touched = frozenset(self._touched), set()
            return touched

    def _sees(self) -> bool:
        return all(store.feed.state is FeedState.LIVE for stores in self._stores.values() for store in stores)

    def known(self) -> frozenset[ObjectRef]:
        pairs = ((gvk, key) for gvk, stores in self._stores.items() for store in stores for key in sorted(store.keys()))
        return frozenset(ObjectRef(gvk, *key) for gvk, key in pairs)

    def label_of(self, ref: ObjectRef) -> str | None:
        key = (ref.namespace, ref.name)
        values = (store.label_of(key) for store in self._stores.get(ref.kind, []))
        return next((value for value in values if value is not None), None)

    def versions_of(self, ref: ObjectRef) -> Sequence[str | None]:
        """Return an object's version for each watch that would report it, None where it does not know it."""
        return [store.version_of((ref.namespace, ref.name)) for store in self._seeing(ref)]

    def misses(self, ref: ObjectRef) -> bool:
        """Return whether a watch would report the object, and runs, and has not."""
        return any(store.misses((ref.namespace, ref.name)) for store in self._seeing(ref))

    def _seeing(self, ref: ObjectRef) -> list[_Touched]:
        stores = self._stores.get(ref.kind, []) if not self._closed else ()
        return [store for store in stores if store.namespace in ("", ref.namespace)]

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
