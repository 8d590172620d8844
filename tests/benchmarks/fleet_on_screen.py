"""A fleet on the screen: how soon rows are seen, what a key takes then, and what the screen costs while much changes.

python -m tests.benchmarks.fleet_on_screen [KYMAS]
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from typing import Any

from textual.pilot import Pilot

from kymatui.ui.fleet_app import FleetApp
from kymatui.wiring.options import SessionOptions
from kymatui.wiring.remote import RemoteOptions, open_remote
from kymatui.wiring.sandbox import start_sandbox
from tests.benchmarks.fleet_following import EVENTS_A_SECOND, WATCHED_SECONDS, memory


def told(name: str, value: str) -> None:
    print(f"| {name} | {value} |", file=sys.__stdout__, flush=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with start_sandbox(clusters=("kcp",), settled=True, fleet=count) as sandbox:
        print(f"| {count} Kymas on the screen | |\n|---|---|")
        sys.setswitchinterval(0.001)
        asyncio.run(measure(str(sandbox.kubeconfig), count))


async def measure(kubeconfig: str, count: int) -> None:
    began = time.perf_counter()
    app = FleetApp(lambda: open_remote(RemoteOptions(SessionOptions(kubeconfig=kubeconfig))))
    async with app.run_test(size=(160, 48)) as pilot:
        await until(app, pilot, 1)
        told("first rows are seen", f"{time.perf_counter() - began:.2f} s")
        await until(app, pilot, count)
        told("all rows are seen", f"{time.perf_counter() - began:.2f} s")
        while app.connection.word != "live":
            await asyncio.sleep(0.02)
        told("live, with all Manifests", f"{time.perf_counter() - began:.2f} s")
        told("memory", f"{memory()} MB")
        await keys(pilot)
        await under_load(app, kubeconfig)


async def until(app: FleetApp, pilot: Pilot[Any], wanted: int) -> None:
    while True:
        table = app.shown.table if app.shown is not None else None
        if table is not None and len(table.rows) >= wanted:
            return
        await asyncio.sleep(0.02)


async def keys(pilot: Pilot[Any]) -> None:
    for name, presses in (("a step down", ["j"] * 40), ("a filter of three letters", ["slash", *"eu-"])):
        waited = []
        for key in presses:
            began = time.perf_counter()
            await pilot.press(key)
            waited.append((time.perf_counter() - began) * 1000)
        told(f"{name}, a key", f"{statistics.median(waited):.0f} ms, {max(waited):.0f} ms at the most")
    await pilot.press("escape", "escape")


async def under_load(app: FleetApp, kubeconfig: str) -> None:
    assert app.fleet is not None
    names = list(app.fleet.picture.runtimes)
    wanted = int(EVENTS_A_SECOND * WATCHED_SECONDS)
    names = (names * (1 + wanted // len(names)))[:wanted]
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.sleep(WATCHED_SECONDS)
    told("CPU at rest", f"{(time.process_time() - cpu) / (time.perf_counter() - began):.1%}")
    words = f"from tests.benchmarks.fleet_following import flood; flood({kubeconfig!r}, {names!r})"
    quiet = subprocess.DEVNULL
    flooding = subprocess.Popen([sys.executable, "-c", words], stdin=quiet, stdout=quiet, stderr=quiet)
    seen = len(app.fleet.picture.changes)
    while len(app.fleet.picture.changes) == seen:
        await asyncio.sleep(0.05)
    began, cpu, first, longest = time.perf_counter(), time.process_time(), len(app.fleet.picture.changes), 0.0
    while flooding.poll() is None:
        before = time.perf_counter()
        await asyncio.sleep(0.01)
        longest = max(longest, time.perf_counter() - before - 0.01)
    seconds = time.perf_counter() - began
    rate = (len(app.fleet.picture.changes) - first) / seconds
    told(f"CPU under {rate:.0f} events a second", f"{(time.process_time() - cpu) / seconds:.1%}")
    told("the longest stall meanwhile", f"{longest * 1000:.0f} ms")


if __name__ == "__main__":
    main()
