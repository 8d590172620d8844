"""A work queue of keys and its workers: each key waits once, has one worker at a time, and is delayed after failures.

The rules are those of client-go's workqueue: a key that is added while it is being processed is processed once more
afterwards, however often it is added. As in controller-runtime's, keys of changes go before those that are reconciled
without one: all objects at the start, and each after a while. Every eighth key is one of the latter, so that they have
their turn however many changes there are.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from kymatui.domain.kubernetes.backoff import JITTER_RANDOM, Backoff
from kymatui.errors import CancelledError, KymatuiError

K = TypeVar("K", bound=Hashable)

BACKOFF: Final = Backoff(0.5, 120.0)
JITTER: Final = 0.2
LOW_FROM: Final = 30.0
"""Seconds from which on a delayed key has low priority."""
LOW_TURN: Final = 8
"""How many keys are taken until the next one has low priority, if any waits."""


class WorkQueue(Generic[K]):
    """A thread-safe queue; delays are in seconds, and `clock` must be monotonic.

    `chance` returns numbers from 0 up to 1; it lengthens a delay by up to a fifth, so that keys do not come due at
    once.
    """

    def __init__(
        self,
        *,
        backoff: Backoff = BACKOFF,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = JITTER_RANDOM.random,
    ) -> None:
        self._backoff = backoff
        self._clock, self._chance = clock, chance
        self._condition = threading.Condition()
        self._waiting: dict[K, None] = {}  # ordered, oldest first
        self._low: dict[K, None] = {}  # the same, for those that wait for all others
        self._in_hand: set[K] = set()
        self._again: set[K] = set()
        self._later: list[tuple[float, int, K, bool]] = []
        self._due: dict[K, float] = {}  # the earliest due time of a key in `_later`
        self._failures: dict[K, int] = {}
        self._number = 0
        self._high_turns = 0  # keys taken since the last one of low priority
        self._closed = False

    def add(self, key: K, *, low: bool = False) -> None:
        """Queue the key for the next free worker; with `low`, behind all others."""
        with self._condition:
            self._add(key, low=low)

    def add_after(self, key: K, seconds: float) -> None:
        """Queue the key after a delay; an earlier time that is already set wins."""
        with self._condition:
            if seconds <= 0:
                self._add(key)
                return
            due = self._clock() + seconds * (1 + JITTER * self._chance())
            if self._closed or due >= self._due.get(key, float("inf")):
                return
            self._due[key] = due
            self._number += 1
            heapq.heappush(self._later, (due, self._number, key, seconds >= LOW_FROM))
            self._condition.notify()

    def retry(self, key: K) -> float:
        """Queue the key after a failure with exponential delay; return the seconds."""
        with self._condition:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
        delay = self._backoff.delay(failures)
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """Reset the failure count after a success."""
        with self._condition:
            self._failures.pop(key, None)

    def take(self, seconds: float | None = None) -> K | None:
        """Return the next key, which the caller owns until `done`; None after `seconds` or when closed."""
        deadline = None if seconds is None else self._clock() + seconds
        with self._condition:
            while True:
                self._come_due()
                if self._closed:
                    return None
                if self._waiting or self._low:
                    return self._next()
                now = self._clock()
                if deadline is not None and now >= deadline:
                    return None
                self._condition.wait(self._pause(now, deadline))

    def _next(self) -> K:
        low = bool(self._low) and (not self._waiting or self._high_turns >= LOW_TURN - 1)
        self._high_turns = 0 if low else self._high_turns + 1
        first = self._low if low else self._waiting
        key = next(iter(first))
        del first[key]
        self._in_hand.add(key)
        return key

    def done(self, key: K) -> None:
        """Release the key; requeue it if it was added meanwhile."""
        with self._condition:
            self._in_hand.discard(key)
            if key in self._again:
                self._again.discard(key)
                self._add(key)

    def close(self) -> None:
        """Stop the queue; all waiting callers get None."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def __len__(self) -> int:
        """Return the number of waiting keys without delayed ones."""
        with self._condition:
            self._come_due()
            return len(self._waiting) + len(self._low)

    def _add(self, key: K, *, low: bool = False) -> None:
        if self._closed:
            return
        self._due.pop(key, None)
        if key in self._in_hand:
            self._again.add(key)
            return
        if low:
            if key not in self._waiting:
                self._low[key] = None
        else:
            self._low.pop(key, None)
            self._waiting[key] = None
        self._condition.notify()

    def _come_due(self) -> None:
        now = self._clock()
        while self._later and self._later[0][0] <= now:
            due, _, key, low = heapq.heappop(self._later)
            if self._due.get(key) == due:
                self._add(key, low=low)

    def _pause(self, now: float, deadline: float | None) -> float | None:
        ends = [end for end in (deadline, self._later[0][0] if self._later else None) if end is not None]
        return max(0.0, min(ends) - now) if ends else None


Reconcile = Callable[[K, threading.Event], float | None]
"""A function that reconciles a key as far as possible now, and stops soon once the event is set.

It returns the seconds until the next reconciliation without a change, or None. A KymatuiError is a temporary failure,
which is retried with increasing delays. A CancelledError while the workers go on drops the key.
"""

OnFailure = Callable[[K, KymatuiError, float], None]
"""A function that gets every failure, with the seconds until the next try."""

WORKERS: Final = 4
SLOW: Final = 2.0
"""Seconds after which a worker counts as held, such as by a server that does not answer."""
MOST_RELIEFS: Final = 64
_RELIEF_IDLE: Final = 10.0  # seconds after which a relief without work ends


class Workers(Generic[K]):
    """The workers of a queue; any error but KymatuiError is a bug that stops all, and `join` raises it."""

    def __init__(
        self,
        name: str,
        queue: WorkQueue[K],
        reconcile: Reconcile[K],
        on_failure: OnFailure[K],
        *,
        workers: int = WORKERS,
    ) -> None:
        self._name = name
        self._queue = queue
        self._reconcile = reconcile
        self._report_failure = on_failure
        self._stop = threading.Event()
        self._defect: BaseException | None = None
        self._lock = threading.Lock()
        self._size = workers
        self._busy: dict[threading.Thread, float] = {}
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(workers)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def relieve(self) -> None:
        """Start a worker in the place of each that is held, if keys wait. Call it every second or so."""
        if not len(self._queue) or self._stop.is_set():
            return
        late = time.monotonic() - SLOW
        with self._lock:
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            held = sum(since <= late for since in self._busy.values())
            missing = min(self._size + held, self._size + MOST_RELIEFS) - len(self._threads)
            reliefs = [
                threading.Thread(target=self._work, args=(_RELIEF_IDLE,), name=f"{self._name}-relief", daemon=True)
                for _ in range(missing)
            ]
            self._threads += reliefs
        for thread in reliefs:
            thread.start()

    def stop(self) -> None:
        """Ask all workers to stop; running reconciliations see the event."""
        self._stop.set()
        self._queue.close()

    @property
    def ended(self) -> bool:
        """Return whether the workers have stopped; after a bug, `join` raises its error."""
        return self._stop.is_set()

    def join(self, seconds: float | None = None) -> bool:
        """Wait for all workers; return whether they have ended. Raises the error of a bug."""
        until = None if seconds is None else time.monotonic() + seconds
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
        if self._defect is not None:
            raise self._defect
        return not any(thread.is_alive() for thread in threads)

    def _work(self, idle: float | None = None) -> None:
        while (key := self._queue.take(idle)) is not None:
            self._mark(time.monotonic())
            try:
                self._turn(key)
            except CancelledError:
                if self._stop.is_set():
                    return
                self._queue.forget(key)
            except BaseException as error:  # noqa: BLE001 (`join` raises it in the caller's thread)
                self._defect = error
                self.stop()
                return
            finally:
                self._mark(None)
                self._queue.done(key)

    def _mark(self, since: float | None) -> None:
        with self._lock:
            if since is None:
                self._busy.pop(threading.current_thread(), None)
            else:
                self._busy[threading.current_thread()] = since

    def _turn(self, key: K) -> None:
        try:
            again = self._reconcile(key, self._stop)
        except CancelledError:
            raise
        except KymatuiError as error:
            self._report_failure(key, error, self._queue.retry(key))
            return
        self._queue.forget(key)
        if again is not None:
            self._queue.add_after(key, again)
