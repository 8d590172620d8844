"""The rate of the requests to one server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct


class RequestRate(Struct, frozen=True):
    """Requests in a second, and how many may be sent in a burst; the defaults are lifecycle-manager's."""

    qps: float = 300.0
    burst: int = 600


class TokenBucket:
    """A rate limit as client-go has it: tokens come at `qps`, at most `burst` are kept. Thread-safe."""

    def __init__(self, rate: RequestRate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._lock = threading.Lock()
        self._tokens, self._at = float(rate.burst), clock()

    def take(self) -> float:
        """Take a token, also one that is still to come; return the seconds until then."""
        with self._lock:
            now = self._clock()
            self._tokens = min(float(self._rate.burst), self._tokens + (now - self._at) * self._rate.qps)
            self._at = now
            self._tokens -= 1.0
            return max(0.0, -self._tokens / self._rate.qps)
