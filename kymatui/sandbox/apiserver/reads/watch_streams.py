"""Watches: initial events, then every change as a line of JSON (k8s.io/apiserver/pkg/storage/cacher)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct, field

from kymatui.domain.kubernetes.backoff import JITTER_RANDOM
from kymatui.sandbox.apimachinery.clock import SandboxClock, Timer
from kymatui.sandbox.apimachinery.object_store import ObjectStore, StoreChange, Stored, VersionTooOldError
from kymatui.sandbox.apimachinery.statuses import expired
from kymatui.sandbox.apiserver.requests.request_options import ListOptions, bad_watch_version

BOOKMARK_SECONDS = 60.0
BOOKMARK_BEFORE_END = 2.0
SHORTEST_DEFAULT = 1800.0  # a watch without timeoutSeconds ends after 30 to 60 minutes

Encode = Callable[[Stored, int], bytes]
"""(object, version to show) -> the event's object; the version differs for objects that left the selection."""


class WatchParts(Struct):
    """The parts of a request that a watch needs: selection, encoding, options."""

    resource: str
    namespace: str | None
    matches: Callable[[Stored], bool]
    encode: Encode
    bookmark: Callable[[int, bool], bytes]
    options: ListOptions


class WatchStreams(Struct):
    """All open watches of a server; faults end or expire them."""

    open: set[WatchStream] = field(default_factory=set)

    def end(self, resource: str = "") -> int:
        """Close the watches of a resource ("": all), as a restarting server does; return their number."""
        streams = [watch for watch in self.open if resource in ("", watch.parts.resource)]
        for watch in streams:
            watch.close()
        return len(streams)

    def expire(self, resource: str = "") -> int:
        """Close the watches as `end` does, with an ERROR 410 event first."""
        streams = [watch for watch in self.open if resource in ("", watch.parts.resource)]
        for watch in streams:
            watch.fail(expired("The resourceVersion for the provided watch is too old.").status)
        return len(streams)


class WatchStream:
    """One open watch; sends within the write that it reports."""

    def __init__(self, store: ObjectStore, clock: SandboxClock, watches: WatchStreams, parts: WatchParts) -> None:
        self._store = store
        self._clock = clock
        self._watches = watches
        self.parts = parts
        self._version = store.version
        self._send: Callable[[bytes], None] = lambda _: None
        self._finish: Callable[[], None] = lambda: None
        self._timers: list[Timer] = []
        self._unlisten: Callable[[], None] = lambda: None
        options = parts.options
        self._asked = bad_watch_version(options.version) if options.version else 0

    def start(self, send: Callable[[bytes], None], finish: Callable[[], None]) -> None:
        """Send the initial events and start to listen."""
        self._send, self._finish = send, finish
        self._watches.open.add(self)
        self._unlisten = self._store.listen(self.parts.resource, self._changed)
        try:
            self._send_beginning()
        except VersionTooOldError as error:
            self.fail(expired(str(error)).status)
            return
        seconds = float(self.parts.options.timeout) or SHORTEST_DEFAULT * (1 + JITTER_RANDOM.random())
        self._timers.append(self._clock.call_later(seconds, self.close))
        if self.parts.options.bookmarks:
            self._plan_bookmarks(seconds)

    def stop(self) -> None:
        """End silently, because the client disconnected."""
        self._unlisten()
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._watches.open.discard(self)

    def close(self) -> None:
        if self in self._watches.open:
            self.stop()
            self._finish()

    def fail(self, status: dict[str, Any]) -> None:
        """Send an ERROR event and end."""
        if self in self._watches.open:
            self._emit(b"ERROR", msgspec.json.encode(status))
            self.close()

    # -- events

    def _send_beginning(self) -> None:
        options = self.parts.options
        initial = options.send_initial_events
        if initial or (initial is None and self._asked == 0):
            for stored in self._store.select(self.parts.resource, self.parts.namespace):
                if self.parts.matches(stored):
                    self._emit(b"ADDED", self.parts.encode(stored, stored.version))
            if initial and options.bookmarks:
                self._emit(b"BOOKMARK", self.parts.bookmark(self._store.version, True))
        elif self._asked:
            if self._asked > self._store.version:
                self._version = self._asked
            for change in self._store.changes_after(self.parts.resource, self._asked):
                self._report(change)

    def _changed(self, change: StoreChange) -> None:
        if change.version > self._asked or not self._asked:
            self._report(change)

    def _report(self, change: StoreChange) -> None:
        parts = self.parts
        if parts.namespace is not None and change.current.namespace != parts.namespace:
            return
        before = change.previous is not None and parts.matches(change.previous)
        after = change.kind != "DELETED" and parts.matches(change.current)
        if after:
            self._emit(b"MODIFIED" if before else b"ADDED", parts.encode(change.current, change.version))
        elif before and change.previous is not None:
            self._emit(b"DELETED", parts.encode(change.previous, change.version))

    def _emit(self, kind: bytes, obj: bytes) -> None:
        self._send(b'{"type":"' + kind + b'","object":' + obj + b"}\n")

    # -- bookmarks

    def _plan_bookmarks(self, seconds: float) -> None:
        def again() -> None:
            self._bookmark()
            self._timers.append(self._clock.call_later(BOOKMARK_SECONDS, again))

        self._timers.append(self._clock.call_later(BOOKMARK_SECONDS, again))
        if seconds > BOOKMARK_BEFORE_END:
            self._timers.append(self._clock.call_later(seconds - BOOKMARK_BEFORE_END, self._bookmark))

    def _bookmark(self) -> None:
        self._emit(b"BOOKMARK", self.parts.bookmark(max(self._store.version, self._version), False))


def joined(texts: Iterable[bytes]) -> bytes:
    """Return a JSON array of encoded values."""
    return b"[" + b",".join(texts) + b"]"
