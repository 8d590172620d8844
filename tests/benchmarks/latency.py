"""From a key to the paint that answers it, the loop's longest stall, and how soon many rows can be used.

    python -m tests.benchmarks.latency

The app runs in this process with its output on (120 × 40); what it writes is drawn to the last byte and dropped.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult

from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.lists.columns import Cell, Column
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.world.modules.module_manifest import module_definition
from kymatui.sessions.cluster.catalog_session import CatalogSession, open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from tests.benchmarks.catalog_rows import names
from tests.benchmarks.drawing import Stalls, at, drawn, keys_to_paint, stalls
from tests.benchmarks.terminals import sandbox
from tests.domain import builders
from tests.integration.embedded import GROUP, NAMESPACE, release_meta, template
from tests.integration.recording import modules
from tests.ui.worlds import StillSession, app_on

MOVES = ("down", "down", "down", "up", "pagedown", "down", "up", "pageup", "end", "up", "home", "down")
NEAR = ("down", "down", "up", "down", "up", "up")  # never beyond an end, where nothing would be painted
BIG, BIG_COUNT = "bigone", 10_000


def many_modules(count: int) -> Snapshot:
    """So many modules that are asked for and installed."""
    chosen = names(count)
    kyma = builders.kyma([{"name": n} for n in chosen], status=[builders.report(n, "1.1.0") for n in chosen])
    return Snapshot(
        "many",
        kymas=(kyma,),
        templates=tuple(builders.template(n, "1.1.0") for n in chosen),
        release_metas=tuple(builders.meta(n, {"regular": "1.1.0"}) for n in chosen),
        workloads=tuple(builders.deployment(n, "1.1.0") for n in chosen),
        module_resources={builders.gvk(n): (builders.resource(n),) for n in chosen},
        feeds={"kymas.operator.kyma-project.io": Feed(FeedState.LIVE, time.time())},
    )


async def shown(app: KymatuiApp, rows: int) -> None:
    """Waits until the catalog has so many rows, and they are drawn."""
    while app.catalog is None or len(app.catalog.rows) < rows:
        await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)


async def held_keys() -> None:
    """1,000 rows that stand still."""
    app = app_on(StillSession(many_modules(1000)))
    async with drawn(app) as driver:
        await shown(app, 1000)
        await keys_to_paint(driver, islice(cycle(MOVES), 24))
        async with stalls() as found:
            times = await keys_to_paint(driver, islice(cycle(MOVES), 240))
        say_keys("key to paint at 1,000 rows", times, found)


def big_world() -> list[Any]:
    """30 modules, and one more with 10,000 resources of about 2 KB."""
    padding = {"text": "x" * 1500}
    big = [
        {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": BIG.capitalize(),
            "metadata": {"name": f"{BIG}-{number}", "namespace": NAMESPACE},
            "spec": padding,
            "status": {"state": "Ready"},
        }
        for number in range(BIG_COUNT)
    ]
    definition = module_definition(GROUP, BIG.capitalize(), f"{BIG}s", "v1alpha1")
    return [*modules(30), definition, template(BIG, "1.0.0"), release_meta(BIG, "1.0.0"), *big]


def held(session: CatalogSession | None) -> int:
    """How many of the 10,000 the session has."""
    if session is None:
        return 0
    kinds = session.snapshot().module_resources
    return sum(len(items) for kind, items in kinds.items() if kind.kind == BIG.capitalize())


async def keys_while_listing(kubeconfig: Path) -> None:
    """The list of 10,000 comes again and again while keys are pressed."""
    opened: list[CatalogSession] = []

    def connect() -> CatalogSession:
        opened.append(open_session(SessionOptions(str(kubeconfig))))
        return opened[-1]

    app = KymatuiApp(connect)
    faults = FaultClient.for_kubeconfig(kubeconfig)
    async with drawn(app) as driver, stalls() as at_start:
        while held(opened[0] if opened else None) < BIG_COUNT:
            await asyncio.sleep(0.01)
        await shown(app, 31)
        say(f"{'loading 10,000 objects the first time':60} {at_start}\n")
        times: list[float] = []
        async with stalls() as found:
            for _ in range(8):
                await asyncio.to_thread(faults.send, "expire-watches", {"resource": f"{BIG}s.{GROUP}"})
                times += await keys_to_paint(driver, islice(cycle(NEAR), 40))
        say_keys("key to paint while a list of 10,000 objects loads", times, found)


class Many(App[int]):
    """A table and nothing else."""

    def compose(self) -> ComposeResult:
        columns = [Column(name, name.upper(), 12, flex=1) for name in ("name", "state", "version", "age")]
        yield LiveTable(columns, sort=SortOrder("name"))


def lines(count: int) -> list[Row]:
    return [
        Row(
            f"item-{number}",
            {
                "name": Cell(f"item-{number * 7919 % count}"),
                "state": Cell("Ready", "ready"),
                "version": Cell(f"1.{number % 40}.0"),
                "age": Cell(f"{number % 99}d"),
            },
        )
        for number in range(count)
    ]


async def many_rows(count: int) -> None:
    """From the data to the paint, and to the paint of the first key behind it."""
    app = Many()
    async with drawn(app) as driver:
        table = app.query_one(LiveTable)
        table.focus()
        await asyncio.sleep(0.5)
        figures = []
        for _ in range(10):
            table.show(())
            await asyncio.sleep(0.2)
            rows = lines(count)
            driver.painted.clear()
            began = time.perf_counter()
            table.show(rows)
            await driver.painted.wait()
            painted = (driver.last - began) * 1000
            (key,) = await keys_to_paint(driver, ["down"])
            figures.append((painted, painted + key))
        painted, usable = (statistics.median(column) for column in zip(*figures, strict=True))
        words = f"{count:,} rows: painted {painted:.0f} ms after the data, a key answered after {usable:.0f} ms"
        say(f"{words}\n")


def say(line: str) -> None:
    """On the real output: while an app runs, Textual keeps what is printed for itself."""
    assert sys.__stdout__ is not None
    sys.__stdout__.write(line)
    sys.__stdout__.flush()


def say_keys(words: str, times: list[float], found: Stalls) -> None:
    figures = f"p50 {at(0.5, times):.1f}, p95 {at(0.95, times):.1f}, worst {max(times):.1f} ms"
    say(f"{words:60} {figures}, {found}\n")


def main() -> None:
    """Prints one line a figure; threads take turns as they do under the command."""
    sys.setswitchinterval(0.001)
    gc.set_threshold(200_000, 50, 100)
    asyncio.run(held_keys())
    asyncio.run(many_rows(10_000))
    with tempfile.TemporaryDirectory() as name, sandbox(Path(name), big_world()) as kubeconfig:
        asyncio.run(keys_while_listing(kubeconfig))


if __name__ == "__main__":
    main()
