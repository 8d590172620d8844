"""The chance that spreads retries, watches and resyncs over time, so that many clients do not ask at once.

A generator of its own: background threads must not move the global one, which belongs to whoever seeded it.
"""

from __future__ import annotations

import random

JITTER_RANDOM = random.Random()  # noqa: S311 (spreads clients, guards nothing)
