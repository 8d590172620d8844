"""When to try again: growing delays, and the random numbers that spread retries, watches and resyncs over time."""

from __future__ import annotations

import random
from collections.abc import Callable

from msgspec import Struct

JITTER_RANDOM = random.Random()  # noqa: S311 (spreads clients, guards nothing)
"""A generator of its own: background threads must not advance the global one, which a test may have seeded."""
_MOST_DOUBLINGS = 60  # 2.0**1024 is an error


class Backoff(Struct, frozen=True):
    """Seconds until the next try: `first` after the first failure, doubled with each further one, up to `most`.

    low, high   the delay is multiplied by a random number between them, so that clients do not return together
    """

    first: float
    most: float
    low: float = 1.0
    high: float = 1.0

    def delay(self, failures: int, chance: Callable[[], float] = JITTER_RANDOM.random) -> float:
        """Return the delay after so many earlier failures; `chance` returns numbers from 0 up to 1."""
        seconds = min(self.most, self.first * 2.0 ** min(failures, _MOST_DOUBLINGS))
        return seconds * (self.low + (self.high - self.low) * chance()) if self.low != self.high else seconds
