"""A change of the catalog tried on a large fleet: from memory, and cold from an API server.

python -m tests.benchmarks.whatif_fleet [KYMAS]

The catalog has 20 modules with 3 channels and a template for each version. The change moves every channel of every
module to a version that has a template, so that each module of each runtime is resolved twice and most of them move.
Each figure is of a process of its own.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Mapping
from string import ascii_lowercase
from typing import Any

from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.whatif.fleet_objects import CatalogChange, FleetObjectsBuilder, build_fleet_objects
from kymatui.domain.whatif.forecast import Forecast, ForecastMemory, foresee
from kymatui.domain.whatif.summary import count_kinds, group_forecast
from kymatui.sandbox.door import start_sandbox
from kymatui.sandbox.world.story.sample_fleet import CHOSEN, CONTROL, Draw, runtime
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.feeds.feeds import raise_gc_thresholds
from kymatui.sessions.reports.what_if import read_fleet_objects
from kymatui.ui.presenters.fleet.forecast_rows import ForecastLines
from tests import kube_writes
from tests.benchmarks.fleet_following import told
from tests.domain import builders as b

CHANNELS = ("regular", "fast", "experimental")
NAMES = (*CHOSEN, *(f"sample-{letter * 3}" for letter in ascii_lowercase[: 20 - len(CHOSEN)]))
PER_KYMA = 5
NOW = 1_700_000_000.0
Json = dict[str, Any]


def peak() -> int:
    """MB that the process had at the most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // 1_000_000


def catalog(version: str) -> list[Json]:
    """20 ModuleReleaseMetas whose three channels have `version`.0 to .2, with their templates."""
    found: list[Json] = []
    for name in NAMES:
        versions = {channel: f"{version}.{at}" for at, channel in enumerate(CHANNELS)}
        found.append(b.meta(name, versions, namespace=CONTROL))
        found += [b.template(name, one, namespace=CONTROL) for one in versions.values()]
    return found


def kymas(count: int) -> list[Json]:
    """The Kymas of the sandbox's fleet, five modules each, two of 25 six."""
    draw = Draw("fleet")
    names = (draw.uuid("runtime", number) for number in range(count))
    return [
        runtime(draw, name, NOW, "registry.example", PER_KYMA + (number % 25 >= 23))[0]
        for number, name in enumerate(names)
    ]


def answered(forecast: Forecast) -> str:
    """What a person is told: groups and counts are part of the answer."""
    counts: Mapping[Any, int] = count_kinds(forecast.changed)
    listed = ", ".join(f"{kind.value} {number}" for kind, number in counts.items())
    return f"{len(forecast.entries)} modules, {len(group_forecast(forecast))} groups; runtimes: {listed}"


def from_memory(count: int) -> None:
    raise_gc_thresholds()
    raws, before, change = kymas(count), catalog("1.0"), CatalogChange(tuple(catalog("9.0")))
    settings = {CONTROL: ControllerSettings()}
    began = time.perf_counter()
    fleet = build_fleet_objects("kcp", raws, before, settings, NOW)
    built = time.perf_counter() - began
    began, cpu = time.perf_counter(), time.process_time()
    words = answered(foresee(fleet, change, NOW))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    told(f"{count} Kymas in memory: objects by key", f"{built:.2f} s")
    followed(raws, before, change, settings)
    told(f"{count} Kymas in memory: the answer", f"{seconds:.2f} s, processor {cpu:.2f} s, {peak()} MB ({words})")


def followed(
    raws: list[Json], before: list[Json], change: CatalogChange, settings: Mapping[str, ControllerSettings]
) -> None:
    """As the screen follows a fleet: one Kyma of all changes."""
    builder, memory = FleetObjectsBuilder(), ForecastMemory()
    foresee(builder.build("kcp", raws, before, settings, NOW), change, NOW, memory)
    changed = [*raws[:-1], {**raws[-1]}]
    cpu = time.process_time()
    forecast = foresee(builder.build("kcp", changed, before, settings, NOW), change, NOW, memory)
    words = f"{time.process_time() - cpu:.2f} s"
    cpu = time.process_time()
    lines = ForecastLines(forecast)
    told(
        f"{len(raws)} Kymas, one changed: processor time",
        f"{words}, {len(lines.versions)} lines of the screen {time.process_time() - cpu:.2f} s",
    )


def cold(kubeconfig: str, count: int) -> None:
    started = peak()
    began = time.perf_counter()
    fleet, _ = read_fleet_objects(SessionOptions(kubeconfig=kubeconfig, context="kcp"), "", NOW)
    listed = time.perf_counter() - began
    words = answered(foresee(fleet, CatalogChange(tuple(catalog("9.0"))), NOW))
    seconds = time.perf_counter() - began
    told(f"{count} Kymas, cold from the API server: listed", f"{listed:.2f} s")
    told(
        f"{count} Kymas, cold: the answer",
        f"{seconds:.2f} s, {peak()} MB ({started} MB before; {len(fleet.kymas)} Kymas, {len(fleet.catalog)} "
        f"objects of the catalog; {words})",
    )


def put_catalog(kubeconfig: str) -> None:
    """Put the catalog into the sandbox; modules that it has itself stay as they are."""
    client = open_cluster(SessionOptions(kubeconfig=kubeconfig, context="kcp")).client
    for raw in catalog("1.0"):
        kind = client.discovery.find_kind("operator.kyma-project.io", raw["kind"], ("v1beta2",))
        name = str(raw["metadata"]["name"])
        assert kind is not None
        if not name.startswith(CHOSEN):
            kube_writes.create(client, kind, raw, CONTROL)
    client.transport.close()


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    context = multiprocessing.get_context("spawn")
    print("| what | |\n|---|---|", flush=True)
    for count in (most // 10, most // 2, most):
        process = context.Process(target=from_memory, args=(count,))
        process.start()
        process.join()
    for count in (most // 10, most):
        with start_sandbox(clusters=("kcp",), settled=True, fleet=count) as sandbox:
            put_catalog(str(sandbox.kubeconfig))
            process = context.Process(target=cold, args=(str(sandbox.kubeconfig), count))
            process.start()
            process.join()


if __name__ == "__main__":
    main()
