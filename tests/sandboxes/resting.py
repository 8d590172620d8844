"""A clock that can be taken from one event loop and given to another, also to one in a copy of the process."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable

from kymatui.sandbox.apimachinery.clock import Timer


class _Due:
    def __init__(self, clock: RestingClock, at: float, order: int, callback: Callable[[], None]) -> None:
        self.at, self.order = at, order
        self.handle: asyncio.Handle | None = None
        self._clock, self._callback = clock, callback

    def cancel(self) -> None:
        self._clock.waiting.discard(self)
        if self.handle is not None:
            self.handle.cancel()

    def run(self) -> None:
        self._clock.waiting.discard(self)
        self._callback()


class RestingClock:
    """Implements the sandbox's `Clock`; nothing of it runs while no loop is attached."""

    def __init__(self) -> None:
        self.waiting: set[_Due] = set()
        self._order = itertools.count()
        self._loop: asyncio.AbstractEventLoop | None = None

    def now(self) -> float:
        return time.time()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        due = _Due(self, time.monotonic() + max(0.0, seconds), next(self._order), callback)
        self.waiting.add(due)
        self._schedule(due)
        return due

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        for due in sorted(self.waiting, key=lambda due: (due.at, due.order)):
            self._schedule(due)

    def detach(self) -> None:
        self._loop = None
        for due in self.waiting:
            if due.handle is not None:
                due.handle.cancel()
                due.handle = None

    def _schedule(self, due: _Due) -> None:
        if self._loop is None:
            return
        seconds = due.at - time.monotonic()
        due.handle = self._loop.call_later(seconds, due.run) if seconds > 0 else self._loop.call_soon(due.run)
