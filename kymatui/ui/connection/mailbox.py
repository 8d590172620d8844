"""Mailbox from worker threads to the event loop.

Values under the same key replace each other between two drains, so a burst of watch events costs one paint. A `put`
stores into a dictionary under a lock (0.3 µs); only the first put after a drain wakes the loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping


class Mailbox:
    """Latest value per key; calls `deliver(values)` on the loop at most once in `interval` seconds."""

    def __init__(self, deliver: Callable[[Mapping[str, object]], None], *, interval: float = 0.25) -> None:
        self._deliver = deliver
        self._interval = interval
        self._lock = threading.Lock()
        self._values: dict[str, object] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context: contextvars.Context | None = None
        self._scheduled = False
        self._drained_at = float("-inf")

    def open(self) -> None:
        """Bind to the running loop and deliver the values stored before."""
        self._loop = asyncio.get_running_loop()
        # Delivery would otherwise run in the context of the putting thread, which has no app.
        self._context = contextvars.copy_context()
        if self._values:
            self._wake()

    def close(self) -> Mapping[str, object]:
        """Deliver no more; return the values that were not delivered."""
        with self._lock:
            self._loop = None
            values, self._values = self._values, {}
        return values

    def put(self, key: str, value: object) -> None:
        """Store a value from any thread; never block on the loop."""
        with self._lock:
            self._values[key] = value
            wake = not self._scheduled and self._loop is not None
            self._scheduled = self._scheduled or wake
        if wake:
            self._wake()

    def _wake(self) -> None:
        loop = self._loop
        if loop is None:
            return
        try:
            loop.call_soon_threadsafe(self._plan, context=self._context)
        except RuntimeError:  # the loop closed between the check and the call; no receiver is left
            self.close()

    def _plan(self) -> None:
        loop = asyncio.get_running_loop()
        wait = self._drained_at + self._interval - loop.time()
        if wait <= 0:
            self._drain()
        else:
            loop.call_later(wait, self._drain)

    def _drain(self) -> None:
        with self._lock:
            values, self._values = self._values, {}
            self._scheduled = False
        self._drained_at = asyncio.get_running_loop().time()
        if values:
            self._deliver(values)


class MailSlot:
    """Part of a mailbox with its own key prefix, so that several parts share the mailbox."""

    def __init__(self, mailbox: Mailbox, name: str) -> None:
        self._mailbox = mailbox
        self._prefix = f"{name}\n" if name else ""

    def put(self, key: str, value: object) -> None:
        """Store a value from any thread; never block on the loop."""
        self._mailbox.put(self._prefix + key, value)

    def own_values(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """Return the delivered values of this slot by their keys."""
        if not self._prefix:
            return {key: value for key, value in values.items() if "\n" not in key}
        length = len(self._prefix)
        return {key[length:]: value for key, value in values.items() if key.startswith(self._prefix)}
