"""Stores of watched objects, and the bell that reports their changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from kymatui.adapters.kube.objects.decoder import BudgetClaim, MemoryBudget, weigh, weigh_row
from kymatui.domain.kubernetes.json_reader import mapping_at, text_at
from kymatui.domain.snapshot.snapshots import Feed, FeedState

Key = tuple[str, str]
Object = Mapping[str, Any]


class ChangeBell:
    """Calls `on_change` at most once until the reader calls `looked`: a burst of events costs one call."""

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = lambda: None
        """What to call, from any thread; set it before the first `ring`."""
        self._lock = threading.Lock()
        self._rung = False

    def ring(self) -> None:
        """Report a change; any thread may call it."""
        with self._lock:
            if self._rung:
                return
            self._rung = True
        self.on_change()

    def looked(self) -> None:
        """Arm the bell again. Call it before reading, so that changes during the read ring again."""
        with self._lock:
            self._rung = False


class Store:
    """The objects of one kind by namespace and name, and the state of their feed.

    Their weight counts in the `ledger`; beyond its limit OversizedAnswerError is raised and the old objects stay.
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
        """Set the feed state; an unchanged state sends no notification."""
        with self._lock:
            if feed == self._feed:
                return
            self._feed = feed
        self._changed()

    def values(self) -> tuple[Object, ...]:
        """Return all objects; the same tuple until something changes."""
        with self._lock:
            if self._values is None:
                self._values = tuple(self._objects.values())
            return self._values

    def keys(self) -> frozenset[Key]:
        with self._lock:
            return frozenset(self._objects)

    def keep(self, item: Object) -> Any:
        """Return what to store of an object; subclasses reduce it."""
        return item

    def arrive(self, part: Mapping[Key, Object]) -> None:
        """Receive a part of an incomplete list; `replace` delivers it again with the whole list."""

    def weigh(self, item: Any) -> int:
        """Return the weight of an object in memory, 0 for None."""
        return weigh(item) if self._weighs and item is not None else 0

    def note(self, key: Key) -> None:
        """Note a change for readers of changes; called under the lock, so that none sees one without the other."""

    def note_all(self, before: Mapping[Key, Object], after: Mapping[Key, Object]) -> None:
        """Note a complete list in the same way."""

    def replace(self, objects: dict[Key, Object]) -> None:
        """Replace all objects by a complete list."""
        known = self._objects  # only the thread that calls this changes them
        new = ((known.get(key), item) for key, item in objects.items() if known.get(key) is not item)
        amount = sum(self.weigh(item) - self.weigh(before) for before, item in new)
        amount -= sum(self.weigh(item) for key, item in known.items() if key not in objects)
        with self._lock:
            self._claim.add(amount)
            self.note_all(self._objects, objects)
            self._objects, self._values = objects, None
        self._changed()

    def put(self, key: Key, item: Object) -> None:
        with self._lock:
            self._claim.add(self.weigh(item) - self.weigh(self._objects.get(key)))
            self._objects[key] = item
            self._values = None
            self.note(key)
        self._changed()

    def drop(self, key: Key) -> None:
        with self._lock:
            self._claim.add(-self.weigh(self._objects.pop(key, None)))
            self._values = None
            self.note(key)
        self._changed()

    def forget(self) -> None:
        """Drop the objects of a store that has no reader any more."""
        with self._lock:
            self._objects, self._values = {}, ()

    def close(self) -> None:
        """Release the budget after the last reader closed the store."""
        with self._lock:
            self._claim.release()
            self._weighs = False


class NewestStore(Store):
    """Keeps about `limit` objects, those with the latest times. For events, whose number is unbounded."""

    def __init__(self, changed: Callable[[], None], limit: int, *, ledger: MemoryBudget | None = None) -> None:
        super().__init__(changed, ledger=ledger)
        self._limit = limit

    def replace(self, objects: dict[Key, Object]) -> None:
        super().replace(self._newest(objects) if len(objects) > self._limit else objects)

    def put(self, key: Key, item: Object) -> None:
        super().put(key, item)
        with self._lock:
            if len(self._objects) > self._limit * 5 // 4:  # not with every event: sorting would cost too much
                self._objects, self._values = self._newest(self._objects), None
                self._claim.hold(sum(map(self.weigh, self._objects.values())))

    def _newest(self, objects: dict[Key, Object]) -> dict[Key, Object]:
        return dict(sorted(objects.items(), key=lambda entry: time_of(entry[1]))[-self._limit :])


class RowStore(Store):
    """Keeps only the result of `read` for each object.

    Parts of the first list are visible before it is complete. For kinds with tens of thousands of objects: readers
    fetch only the changes since their last call.
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

    def note(self, key: Key) -> None:
        self._touched.add(key)

    def note_all(self, before: Mapping[Key, Object], after: Mapping[Key, Object]) -> None:
        self._touched.update(key for key in before if key not in after)
        self._touched.update(key for key, item in after.items() if before.get(key) is not item)
        self._whole = bool(after)

    def changes(self) -> dict[Key, Any]:
        """Return the changes since the last call by key, None for deleted objects; for one thread only."""
        with self._lock:
            touched, self._touched = self._touched, set()
            return {key: self._objects.get(key) for key in touched}


def time_of(event: Object) -> str:
    """Return the latest time of an event as sortable text, "" if it has none."""
    times = [text_at(event, name) for name in ("lastTimestamp", "eventTime", "firstTimestamp")]
    latest = max(*times, text_at(event, "series", "lastObservedTime"))
    return latest or text_at(event, "metadata", "creationTimestamp")


def key_of(item: Object) -> Key:
    """Return namespace and name; both are "" in a malformed object."""
    metadata = mapping_at(item, "metadata")
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
