"""Keys while logs grow by 10,000 lines a second, with the ring full.

    python -m tests.benchmarks.log_flood

Ten Pods of one workload write 1,000 lines a second each; their bytes arrive in pieces, as from a connection. The app
runs in this process with its output on (120 × 40).
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any, cast

from kymatui.domain.logs.log_lines import MOST_LINES
from kymatui.domain.logs.log_query import LogQuery
from kymatui.engine.cluster.ports import Cluster
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.logs.log_text import LogText
from kymatui.ui.navigation.history import ScreenStep
from tests.benchmarks.drawing import at, drawn, keys_to_paint, stalls
from tests.ui.worlds import OWNED, StillSession, app_on, owned, world

PODS, LINES, PIECES = 10, 1000, 20
SCROLL = ("k", "k", "pagedown", "j", "pageup", "k", "G", "k")
TEXT = 'level=info ts=2026-03-01T12:00:00Z logger=controllers.Keda msg="reconciled" namespace=kyma-system loop={}'


class Flood:
    """Each log has its share of the ring at first, and then grows."""

    name = "flood"

    def __init__(self, history: int = MOST_LINES // PODS) -> None:
        self.history = history

    def open_log(self, query: LogQuery, *, cancel: object = None) -> FloodedLog:
        del query, cancel
        return FloodedLog(self.history)


class FloodedLog:
    def __init__(self, history: int) -> None:
        self._history = history
        self._closed = False

    def chunks(self) -> Iterator[bytes]:
        now = time.time()
        yield lines(self._history, now - 60, 60 / self._history)
        share = LINES // PIECES
        due = time.monotonic()
        while not self._closed:
            due += 1 / PIECES
            time.sleep(max(due - time.monotonic(), 0))
            yield lines(share, time.time(), 1 / LINES)

    def close(self) -> None:
        self._closed = True


def lines(count: int, start: float, step: float) -> bytes:
    second = datetime.fromtimestamp(start, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    part = start % 1
    stamps = (min(int((part + number * step) % 60 * 1e9), 999_999_999) for number in range(count))
    return "".join(f"{second}.{stamp:09}Z {TEXT.format(number)}\n" for number, stamp in enumerate(stamps)).encode()


class FloodedSession(StillSession):
    """A session whose manager has ten Pods."""

    flood = Flood()

    @property
    def cluster(self) -> Cluster:
        return cast("Cluster", self.flood)


def pod(number: int) -> dict[str, Any]:
    status = {"phase": "Running", "containerStatuses": [{"name": "manager", "state": {"running": {}}}]}
    return owned("Pod", "v1", f"istio-manager-7d4b-{number}", f"p{number}", "rs1", status=status)


async def ready(app: KymatuiApp) -> LogText:
    """Open the logs, and wait until the ring is full."""
    while app.catalog is None:
        await asyncio.sleep(0.05)
    app.ways.open(ScreenStep("logs", "istio"))
    while not app.screen.query(LogText) or len(app.screen.query_one(LogText).window.lines) < MOST_LINES:
        await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)
    return app.screen.query_one(LogText)


async def flooded(words: str, *before: str, keys: tuple[str, ...] = SCROLL) -> None:
    session = FloodedSession(world())
    session.show(owned=(OWNED[0], *map(pod, range(PODS))))
    app = app_on(session)
    async with drawn(app) as driver:
        text = await ready(app)
        for key in before:
            await keys_to_paint(driver, [key])
        ring = text._link.ring
        start, worked, dropped = time.perf_counter(), time.process_time(), ring.dropped
        async with stalls() as found:
            times = await keys_to_paint(driver, islice(cycle(keys), 200))
        seconds = time.perf_counter() - start
        rate, share = (ring.dropped - dropped) / seconds, (time.process_time() - worked) / seconds
        figures = f"p50 {at(0.5, times):.1f}, p95 {at(0.95, times):.1f}, worst {max(times):.1f} ms"
        print(f"{words:32} {figures}, {found}; {rate:,.0f} lines/s, {share:.0%} of a core", file=sys.__stdout__)


def main() -> None:
    """Prints one line a figure; threads take turns as they do under the command."""
    sys.setswitchinterval(0.001)
    gc.set_threshold(200_000, 50, 100)
    asyncio.run(flooded("keys while it scrolls"))
    asyncio.run(flooded("keys while it follows", keys=("t", "w")))
    asyncio.run(flooded("keys with wrapped lines", "w"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'memory, three times a full ring':32} {peak:.0f} MB at most", file=sys.__stdout__)


if __name__ == "__main__":
    main()
