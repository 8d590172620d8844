"""What it costs to open a screen and to close it again: processor time until nothing is painted any more.

    python -m tests.benchmarks.opening_screens

The app runs in this process with its output on (120 × 40); what it writes is drawn to the last byte and dropped.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Callable

from textual import events

from kymatui.ui.application.kymatui_app import KymatuiApp
from tests.benchmarks.drawing import Writes, drawn
from tests.ui.worlds import StillSession, app_on, world

OPENING = {"a module": "enter", "the help": "question_mark", "the menu": "a", "jobs": "J", "problems": "P"}
TIMES = 15
QUIET = 0.2  # seconds without a paint


async def _holds(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def _at_rest(driver: Writes) -> None:
    written = -1
    while written != driver.written:
        written = driver.written
        await asyncio.sleep(QUIET)


async def _stack(app: KymatuiApp, driver: Writes, key: str, height: int) -> tuple[float, float]:
    """Presses a key that leads to so many screens: processor time and time until the last paint, in milliseconds."""
    worked, began = time.process_time(), time.perf_counter()
    driver.process_message(events.Key(key, key if len(key) == 1 else None))
    await _holds(lambda: len(app.screen_stack) == height)
    await _at_rest(driver)
    return (time.process_time() - worked) * 1000, (driver.last - began) * 1000


async def opened() -> list[str]:
    """One line a screen."""
    app, lines = app_on(StillSession(world())), []
    async with drawn(app) as driver:
        await _holds(lambda: app.catalog is not None)
        await _at_rest(driver)
        for what, key in OPENING.items():
            figures, closing = [], []
            for _ in range(TIMES):
                figures.append(await _stack(app, driver, key, 2))
                closing.append(await _stack(app, driver, "escape", 1))
            work, painted = (statistics.median(one) for one in zip(*figures[1:], strict=True))
            back = statistics.median(one[0] for one in closing[1:])
            lines.append(f"{what:12} {work:4.0f} ms of work, seen after {painted:4.0f} ms; back {back:3.0f} ms of work")
    return lines


def main() -> None:
    """Prints one line a screen; the first opening, which imports, does not count."""
    sys.setswitchinterval(0.001)
    print("\n".join(asyncio.run(opened())))


if __name__ == "__main__":
    main()
