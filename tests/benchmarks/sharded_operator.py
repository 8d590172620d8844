"""`kymatui` as one of several replicas whose requests the server can tell apart, with a wall clock that jumps.

    python -m tests.benchmarks.sharded_operator REPLICA SKEW operator run --shards N …

The clock is up to SKEW seconds fast or slow, and another number of seconds every few seconds.
"""

from __future__ import annotations

import random
import sys
import time

_EVERY = 7.0
_REAL = time.time


class JumpingClock:
    """Takes the place of `time.time`."""

    def __init__(self, skew: float, chance: random.Random) -> None:
        self._skew, self._chance = skew, chance
        self._offset, self._until = 0.0, 0.0

    def __call__(self) -> float:
        if time.monotonic() >= self._until:
            self._offset = self._chance.uniform(-self._skew, self._skew)
            self._until = time.monotonic() + self._chance.uniform(0.5, _EVERY)
        return _REAL() + self._offset


def main() -> int:
    replica, skew = sys.argv[1], float(sys.argv[2])
    time.time = JumpingClock(skew, random.Random(replica))
    from kymatui.adapters.kube.transport import transport

    transport._AGENT = f"kymatui replica {replica}"
    from kymatui.cli.main import main as kymatui

    return kymatui(sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
