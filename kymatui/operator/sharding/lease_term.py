"""The time for which a replica certainly holds a shard, by its own monotonic clock."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from kymatui.errors import CancelledError

_WRITABLE: Final = 2 / 3
"""The part of a Lease's duration in which writes begin."""
_ANSWERED: Final = 0.9
"""The part in which their answers have to arrive."""


class LeaseTerm:
    """Implements `WriteTerm`. Thread-safe.

    A renewal counts from the moment before its request: others see it later, and wait for the whole duration from
    then on. So a write ends before another replica begins, as long as the clocks of both run at about the same rate.
    """

    def __init__(self, shard: int, began: float, duration: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.shard = shard
        self.cancelled = threading.Event()
        """Set once the term has ended, for whoever works under it."""
        self._duration, self._clock = duration, clock
        self._condition = threading.Condition()
        self._began = began
        self._writes = 0

    @property
    def is_held(self) -> bool:
        """Return whether writes may begin now."""
        return not self.cancelled.is_set() and self._clock() < self._began + _WRITABLE * self._duration

    @property
    def expires(self) -> float:
        """Return when another replica may hold the shard at the earliest, by the monotonic clock."""
        return self._began + self._duration

    def renew(self, began: float) -> bool:
        """Extend the term by a renewal whose request began at this time; return False for one that has ended.

        Work that was refused meanwhile is not tried again under the same term, so an ended one must not come back.
        """
        with self._condition:
            if not self.is_held:
                return False
            self._began = max(self._began, began)
            return True

    def end(self) -> None:
        """Let no further write begin, and cancel what works under the term."""
        with self._condition:
            self.cancelled.set()
            self._condition.notify_all()

    @contextlib.contextmanager
    def writing(self) -> Iterator[float]:
        """Enter a write; yield the seconds that it may take. Raises CancelledError once the term has ended."""
        with self._condition:
            if not self.is_held:
                raise CancelledError(f"this replica no longer holds shard {self.shard}; nothing was sent")
            self._writes += 1
            seconds = self._began + _ANSWERED * self._duration - self._clock()
        try:
            yield seconds
        finally:
            with self._condition:
                self._writes -= 1
                self._condition.notify_all()

    def wait_written(self) -> bool:
        """Wait until all writes have ended; return False if the term expires before that."""
        with self._condition:
            while self._writes:
                seconds = self.expires - self._clock()
                if seconds <= 0:
                    return False
                self._condition.wait(min(seconds, 0.5))
        return True
