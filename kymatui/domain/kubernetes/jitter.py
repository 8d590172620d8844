"""Random numbers that spread retries, watches and resyncs over time.

The generator is separate: background threads must not advance the global one, which a test may have seeded.
"""

from __future__ import annotations

import random

JITTER_RANDOM = random.Random()  # noqa: S311 (spreads clients, guards nothing)
