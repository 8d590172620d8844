"""Where a watch keeps what it saw, and the bell it rings when something changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from kymatui.adapters.kube.objects.memory_budget import BudgetClaim, MemoryBudget, weigh, weigh_row
from kymatui.domain.snapshot.snapshots import Feed, FeedState

Key = tuple[str, str]
Object = Mapping[str, Any]


class ChangeBell:
    """Calls `ring` at most once until somebody has looked: a burst of events costs one call."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._lock = threading.Lock()
        self._rung = False

    def ring(self) -> None:
        """May be called from any thread."""
        with self._lock:
            if self._rung:
                return
            self._rung = True
        self._ring()

    def looked(self) -> None:
        """To be called before reading, so that what changes while one reads rings again."""
        with self._lock:
            self._rung = False


class Store:
    """The objects of one kind by namespace and name, and how much they can be believed.

    What is kept counts in the `ledger`; beyond its limit OversizedAnswerError is raised, and what was there stays.
    """

    def __init__(
        self, changed: Callable[[], None], feed: Feed | None = None, *, ledger: MemoryBudget | None = None
    ) -> None:
        self._changed = changed
        self._claim = BudgetClaim(ledger)
        self._weighs = ledger is not None
        self._lock = threading.Lock()
        self._objects: dict[Key, Object] = {}
        self._values: tuple[Object, ...] | None = ()
        self._feed = feed or Feed(FeedState.SYNCING)

    @property
    def feed(self) -> Feed:
        return self._feed

    def publish(self, feed: Feed) -> None:
        """Says how the feed is doing; a feed that says the same as before rings nothing."""
        with self._lock:
            if feed == self._feed:
                return
            self._feed = feed
        self._changed()

    def values(self) -> tuple[Object, ...]:
        """All objects as of now; the same tuple until something changes."""
        with self._lock:
            if self._values is None:
                self._values = tuple(self._objects.values())
            return self._values

    def keys(self) -> frozenset[Key]:
        with self._lock:
            return frozenset(self._objects)

    def keep(self, item: Object) -> Any:
        """What is kept of an object as it comes: all of it."""
        return item

    def arrive(self, part: Mapping[Key, Object]) -> None:
        """A part of a list that is not whole yet; it comes again with the whole."""

    def weigh(self, item: Any) -> int:
        """What keeping it takes; an object that is not there takes nothing."""
        return weigh(item) if self._weighs and item is not None else 0

    def replace(self, objects: dict[Key, Object]) -> None:
        """Takes a whole list in the place of everything."""
        total = sum(map(self.weigh, objects.values()))
        with self._lock:
            self._claim.hold(total)
            self._objects, self._values = objects, None
        self._changed()

    def put(self, key: Key, item: Object) -> None:
        with self._lock:
            self._claim.add(self.weigh(item) - self.weigh(self._objects.get(key)))
            self._objects[key] = item
            self._values = None
        self._changed()

    def drop(self, key: Key) -> None:
        with self._lock:
            self._claim.add(-self.weigh(self._objects.pop(key, None)))
            self._values = None
        self._changed()

    def close(self) -> None:
        """Nobody reads it any more: what it keeps does not count."""
        with self._lock:
            self._claim.release()
            self._weighs = False


class NewestStore(Store):
    """Keeps no more than about `limit` objects, those with the latest times; for events, of which there is no end."""

    def __init__(self, changed: Callable[[], None], limit: int, *, ledger: MemoryBudget | None = None) -> None:
        super().__init__(changed, ledger=ledger)
        self._limit = limit

    def replace(self, objects: dict[Key, Object]) -> None:
        super().replace(self._newest(objects) if len(objects) > self._limit else objects)

    def put(self, key: Key, item: Object) -> None:
        super().put(key, item)
        with self._lock:
            if len(self._objects) > self._limit * 5 // 4:  # not with every event
                self._objects, self._values = self._newest(self._objects), None
                self._claim.hold(sum(map(self.weigh, self._objects.values())))

    def _newest(self, objects: dict[Key, Object]) -> dict[Key, Object]:
        return dict(sorted(objects.items(), key=lambda entry: time_of(entry[1]))[-self._limit :])


class RowStore(Store):
    """Keeps of each object only what `read` makes of it; parts of the first list are there before the list is whole.

    For kinds of which there are tens of thousands: whoever looks asks only for what changed since he last looked.
    """

    def __init__(
        self, changed: Callable[[], None], read: Callable[[Object], Any], *, ledger: MemoryBudget | None = None
    ) -> None:
        super().__init__(changed, ledger=ledger)
        self._read = read
        self._touched: set[Key] = set()
        self._whole = False

    def keep(self, item: Object) -> Any:
        return self._read(item)

    def weigh(self, item: Any) -> int:
        return weigh_row(item) if self._weighs and item is not None else 0

    def arrive(self, part: Mapping[Key, Object]) -> None:
        with self._lock:
            if self._whole:
                return
            self._claim.add(sum(map(self.weigh, part.values())))
            self._objects.update(part)
            self._values = None
            self._touched.update(part)
        self._changed()

    def replace(self, objects: dict[Key, Object]) -> None:
        with self._lock:
            before = self._objects
            self._touched.update(key for key in before if key not in objects)
            self._touched.update(key for key, item in objects.items() if before.get(key) is not item)
            self._whole = bool(objects)
        super().replace(objects)

    def put(self, key: Key, item: Object) -> None:
        with self._lock:
            self._touched.add(key)
        super().put(key, item)

    def drop(self, key: Key) -> None:
        with self._lock:
            self._touched.add(key)
        super().drop(key)

    def changes(self) -> dict[Key, Any]:
        """What changed since the last call by key, None for what is gone; one thread asks."""
        with self._lock:
            touched, self._touched = self._touched, set()
            return {key: self._objects.get(key) for key in touched}


def time_of(event: Object) -> str:
    """When an event happened last, as text that sorts; "" where it does not say."""
    series, metadata = event.get("series"), event.get("metadata")
    times = [event.get(name) for name in ("lastTimestamp", "eventTime", "firstTimestamp")]
    times.append(series.get("lastObservedTime") if isinstance(series, Mapping) else None)
    if not any(times):
        times.append(metadata.get("creationTimestamp") if isinstance(metadata, Mapping) else None)
    return max((time for time in times if isinstance(time, str)), default="")


def key_of(item: Object) -> Key:
    """Namespace and name; both may be "" in an object that makes no sense."""
    metadata = item.get("metadata")
    if not isinstance(metadata, Mapping):
        return "", ""
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
