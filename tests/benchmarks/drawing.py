"""The screen inside this process with its output on: what is written is dropped, and when it was written is noted."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

from textual import events
from textual.app import App
from textual.drivers.headless_driver import HeadlessDriver

SIZE = (120, 40)


class Writes(HeadlessDriver):
    """A driver that Textual believes to have a terminal, so that every paint is drawn to its last byte."""

    written = 0
    last = 0.0
    painted: asyncio.Event

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        if not hasattr(self, "painted"):
            self.painted = asyncio.Event()
        self.written += len(data)
        self.last = time.perf_counter()
        self.painted.set()


@dataclass
class Stalls:
    """The gaps of a loop that should turn every two milliseconds, in milliseconds beyond that.

    On a busy machine a gap says more of the others: of each one, `own` is what this process worked in the meantime.
    """

    gaps: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        return f"longest stall {max(self.own, default=0.0):.0f} ms ({max(self.gaps, default=0.0):.0f} on the clock)"

    async def watch(self) -> None:
        while True:
            before, worked = time.perf_counter(), time.process_time()
            await asyncio.sleep(0.002)
            gap = (time.perf_counter() - before - 0.002) * 1000
            self.gaps.append(gap)
            self.own.append(min(gap, (time.process_time() - worked) * 1000))


@contextlib.asynccontextmanager
async def drawn(app: App[int]) -> AsyncIterator[Writes]:
    """Runs an app with its output on."""
    app.driver_class = Writes
    async with app.run_test(headless=False, size=SIZE):
        driver = app._driver
        assert isinstance(driver, Writes)
        yield driver


@contextlib.asynccontextmanager
async def stalls() -> AsyncIterator[Stalls]:
    found = Stalls()
    watching = asyncio.ensure_future(found.watch())
    try:
        yield found
    finally:
        watching.cancel()


async def key_to_paint(driver: Writes, key: str, timeout: float = 5.0) -> float:
    """Milliseconds from a key until what it changed has been written."""
    driver.painted.clear()
    began = time.perf_counter()
    driver.process_message(events.Key(key, key if len(key) == 1 else None))
    await asyncio.wait_for(driver.painted.wait(), timeout)
    return (driver.last - began) * 1000


async def keys_to_paint(driver: Writes, keys: Iterable[str], pause: float = 0.03) -> list[float]:
    """The times of many keys, one after the other, as fast as a held key repeats."""
    found = []
    for key in keys:
        found.append(await key_to_paint(driver, key))
        await asyncio.sleep(pause)
    return found


def at(share: float, figures: Iterable[float]) -> float:
    """A percentile: `at(0.95, …)`."""
    ordered = sorted(figures)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
