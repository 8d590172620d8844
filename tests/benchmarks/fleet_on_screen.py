"""A fleet on the screen: how soon rows are seen, what a key takes then, and what the screen costs while much changes.

python -m tests.benchmarks.fleet_on_screen [KYMAS] [KUBECONFIG]

With a kubeconfig the fleet is on that cluster, such as a real API server; one without Kymas gets a copy, which stays.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path

from kymatui.sandbox.door import start_sandbox
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.ui.application.fleet_app import FleetApp
from tests.benchmarks.drawing import Writes, at, drawn, key_to_paint, keys_to_paint, stalls
from tests.benchmarks.fleet_following import EVENTS_A_SECOND, WATCHED_SECONDS, memory
from tests.benchmarks.sample_copy import copy_world, has_kymas

NEAR = ("down", "down", "up", "down", "up", "up")  # never beyond an end, where nothing would be painted


def told(name: str, value: str) -> None:
    print(f"| {name} | {value} |", file=sys.__stdout__, flush=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with ExitStack() as stack:
        given = Path(sys.argv[2]) if len(sys.argv) > 2 else None
        if given is None or not has_kymas(given):
            sandbox = stack.enter_context(start_sandbox(clusters=("kcp",), settled=True, fleet=count))
            if given is not None:
                print("the fleet, copied: {} objects made, {} refused".format(*copy_world(sandbox.kubeconfig, given)))
                stack.pop_all().close()
        print(f"| {count} Kymas on the screen | |\n|---|---|")
        sys.setswitchinterval(0.001)
        asyncio.run(measure(str(given or sandbox.kubeconfig), count))


async def measure(kubeconfig: str, count: int) -> None:
    began = time.perf_counter()
    app = FleetApp(lambda: RemoteSession(RemoteOptions(SessionOptions(kubeconfig=kubeconfig))))
    async with drawn(app) as driver:
        async with stalls() as loading:
            await until(app, 1)
            told("first rows are seen", f"{time.perf_counter() - began:.2f} s")
            await until(app, count)
            told("all rows are seen", f"{time.perf_counter() - began:.2f} s")
            while app.view.connection.word != "live":
                await asyncio.sleep(0.02)
        told("live, with all Manifests", f"{time.perf_counter() - began:.2f} s")
        told("meanwhile", str(loading))
        assert app.fleet is not None
        told("Manifests", f"{sum(map(len, app.fleet.picture.manifests.values())):,}")
        told("memory", f"{memory()} MB")
        await keys(driver, "key to paint")
        async with stalls() as filtering:
            for key in ("slash", *"eu-"):
                told_keys(f"{key}, of a filter", [await key_to_paint(driver, key)])
                await asyncio.sleep(0.3)
        told("meanwhile", str(filtering))
        for key in ("escape", "escape"):
            await key_to_paint(driver, key)
        await under_load(app, driver, kubeconfig)


async def until(app: FleetApp, wanted: int) -> None:
    while True:
        table = app.shown.filter_line.table if app.shown is not None else None
        if table is not None and len(table.rows) >= wanted:
            return
        await asyncio.sleep(0.02)


async def keys(driver: Writes, words: str) -> None:
    """The cursor moves as under a held key; what counts is when the paint has been written."""
    told_keys(words, await keys_to_paint(driver, islice(cycle(NEAR), 120)))


def told_keys(words: str, times: list[float]) -> None:
    if len(times) == 1:
        told(words, f"{times[0]:.0f} ms")
    else:
        told(words, f"p50 {at(0.5, times):.1f}, p95 {at(0.95, times):.1f}, worst {max(times):.1f} ms")


async def under_load(app: FleetApp, driver: Writes, kubeconfig: str) -> None:
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
    began, cpu, first, times = time.perf_counter(), time.process_time(), len(app.fleet.picture.changes), list[float]()
    async with stalls() as found:
        while flooding.poll() is None:
            times += await keys_to_paint(driver, NEAR)
    seconds = time.perf_counter() - began
    rate = (len(app.fleet.picture.changes) - first) / seconds
    told(f"CPU under {rate:.0f} events a second", f"{(time.process_time() - cpu) / seconds:.1%}")
    told_keys("key to paint meanwhile", times)
    told("the loop meanwhile", str(found))


if __name__ == "__main__":
    main()
