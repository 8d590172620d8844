"""A queue of keys to be worked on: each waits once, is in one hand at a time, and comes back later when it failed.

The rules are those of client-go's workqueue: a key that is added while it is being worked on is worked on again after
that, and however often it is added in between, once.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from kymatui.domain.kubernetes.jitter import JITTER_RANDOM

K = TypeVar("K", bound=Hashable)

FIRST_DELAY: Final = 0.5
LONGEST_DELAY: Final = 120.0
JITTER: Final = 0.2


class WorkQueue(Generic[K]):
    """Shared by any number of threads. Delays are in seconds; `clock` counts them and never goes back.

    `chance` gives numbers from 0 up to 1 and spreads what would otherwise all come back in the same moment: a delay is
    lengthened by up to a fifth.
    """

    def __init__(
        self,
        *,
        first_delay: float = FIRST_DELAY,
        longest_delay: float = LONGEST_DELAY,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = JITTER_RANDOM.random,
    ) -> None:
        self._first, self._longest = first_delay, longest_delay
        self._clock, self._chance = clock, chance
        self._condition = threading.Condition()
        self._waiting: dict[K, None] = {}  # in the order in which they came
        self._in_hand: set[K] = set()
        self._again: set[K] = set()
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}  # the earliest time at which a key of `_later` counts
        self._failures: dict[K, int] = {}
        self._number = 0
        self._closed = False

    def add(self, key: K) -> None:
        """Has the key worked on as soon as somebody is free."""
        with self._condition:
            self._add(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Has it worked on in a while; an earlier time that was asked for stands."""
        with self._condition:
            if seconds <= 0:
                self._add(key)
                return
            due = self._clock() + seconds * (1 + JITTER * self._chance())
            if self._closed or due >= self._due.get(key, float("inf")):
                return
            self._due[key] = due
            self._number += 1
            heapq.heappush(self._later, (due, self._number, key))
            self._condition.notify()

    def retry(self, key: K) -> float:
        """Has it worked on again after a failure, later from time to time; returns the seconds."""
        with self._condition:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
        delay = min(self._first * 2.0 ** min(failures, 60), self._longest)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """It went well: the next failure is a first one."""
        with self._condition:
            self._failures.pop(key, None)

    def take(self, seconds: float | None = None) -> K | None:
        """The next key, which is in the caller's hand until `done`; None after `seconds`, or when it is closed."""
        deadline = None if seconds is None else self._clock() + seconds
        with self._condition:
            while True:
                self._come_due()
                if self._closed:
                    return None
                if self._waiting:
                    key = next(iter(self._waiting))
                    del self._waiting[key]
                    self._in_hand.add(key)
                    return key
                now = self._clock()
                if deadline is not None and now >= deadline:
                    return None
                self._condition.wait(self._pause(now, deadline))

    def done(self, key: K) -> None:
        """The key is out of the caller's hand; what was added meanwhile comes to its turn."""
        with self._condition:
            self._in_hand.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._add(key)

    def close(self) -> None:
        """Nothing is handed out any more, and everybody who waits gets None."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def __len__(self) -> int:
        """How many keys wait now; those for later do not count."""
        with self._condition:
            self._come_due()
            return len(self._waiting)

    def _add(self, key: K) -> None:
        if self._closed:
            return
        self._due.pop(key, None)
        if key in self._in_hand:
            self._again.add(key)
            return
        self._waiting[key] = None
        self._condition.notify()

    def _come_due(self) -> None:
        now = self._clock()
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            if self._due.get(key) == due:
                self._add(key)

    def _pause(self, now: float, deadline: float | None) -> float | None:
        ends = [end for end in (deadline, self._later[0][0] if self._later else None) if end is not None]
        return max(0.0, min(ends) - now) if ends else None
