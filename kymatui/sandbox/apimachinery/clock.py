"""Clocks of the sandbox: real time in the server, manual time in tests."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from msgspec import Struct


class Timer(Protocol):
    """A pending callback of `SandboxClock.call_later`."""

    def cancel(self) -> None: ...


class SandboxClock(Protocol):
    """Time in Unix seconds; callbacks run one at a time on the thread that serves the API."""

    def now(self) -> float: ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer: ...


class LoopClock:
    """The clock of a running event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        return time.time()

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        return self._loop.call_later(seconds, callback) if seconds > 0 else self._loop.call_soon(callback)


class _Due(Struct, eq=False):
    at: float
    order: int
    callback: Callable[[], None]
    cancelled: bool = False

    def __lt__(self, other: _Due) -> bool:
        return (self.at, self.order) < (other.at, other.order)

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """A clock that a test advances; `advance(0)` runs the callbacks that are due now."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._now = now
        self._due: list[_Due] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self._now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        due = _Due(self._now + max(0.0, seconds), next(self._order), callback)
        heapq.heappush(self._due, due)
        return due

    def advance(self, seconds: float = 0.0) -> None:
        """Advance the time and run all callbacks due until then in order, also those added meanwhile."""
        end = self._now + seconds
        while self._due and self._due[0].at <= end:
            due = heapq.heappop(self._due)
            self._now = max(self._now, due.at)
            if not due.cancelled:
                due.callback()
        self._now = end


def timestamp(seconds: float) -> str:
    """Return metav1.Time's JSON form: RFC 3339 in UTC, truncated to whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(seconds: float) -> str:
    """Return metav1.MicroTime's JSON form: RFC 3339 in UTC with six digits (leases and events)."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
