"""The rate of events that one runtime may send, and all together."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

RATE: Final = 5.0
"""Events a second of one runtime, on average."""
BURST: Final = 20.0
"""Events of one runtime at once."""
_KNOWN: Final = 10_000  # runtimes whose rate is remembered: the largest fleet twice


class EventLimits:
    """A token bucket for each runtime; thread-safe. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float], *, rate: float = RATE, burst: float = BURST) -> None:
        self._clock, self._rate, self._burst = clock, rate, burst
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, runtime: str) -> float:
        """Return 0 if the runtime may send an event now, else the seconds until it may."""
        with self._lock:
            now = self._clock()
            tokens, at = self._buckets.pop(runtime, (self._burst, now))
            tokens = min(self._burst, tokens + (now - at) * self._rate)
            allowed = tokens >= 1
            self._buckets[runtime] = tokens - 1 if allowed else tokens, now
            if len(self._buckets) > _KNOWN:
                self._buckets.popitem(last=False)
            return 0.0 if allowed else (1 - tokens) / self._rate
