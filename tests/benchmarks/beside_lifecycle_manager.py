"""The operator beside lifecycle-manager: how long, how many requests, how much processor time and memory.

    python -m tests.benchmarks.beside_lifecycle_manager [ROUNDS] [kymas:N] [rest:SECONDS] [only:operator]

Needs `lifecycle-manager` on the PATH. Each round runs both in turn, each in a world of its own: a control plane of the
sandbox, and a runtime for each Kyma (a stub that stores what it is sent, over plain HTTP). First one Kyma with 1, 5 and
20 modules, then `kymas` at once with one module each. All intervals are as the programs have them when nothing is set.
Modules have 8 objects and no default CR.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

from tests.benchmarks.idle_manifests import memory
from tests.benchmarks.operator_fleet import (
    HOME,
    KYMA,
    FleetWorld,
    environment,
    fleet_world,
    module_names,
    put,
    stub_requests,
)
from tests.integration.real_lifecycle_manager import RealManager

MANAGERS: Final[tuple[str, ...]] = ("operator", "lifecycle-manager")
MODULES: Final = tuple(module_names(20))
SIZES: Final = (1, 5, 20)
_PATIENCE: Final = 600.0
_QUIET: Final = 5.0
"""Seconds of quiet after the last Kyma is ready, whose requests and processor time count as well."""
_LOG: Final = 4000
"""Characters of a manager's log that are printed after a failure."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Figures:
    """What one step took: seconds until ready, requests, and seconds of the manager's processor time."""

    seconds: float
    home: int
    runtimes: int
    processor: float


class CountedWorld:
    """A control plane whose requests by others than this benchmark are counted."""

    def __init__(self, world: FleetWorld) -> None:
        self._world = world
        self._own = 0

    def create(self, names: Sequence[str], modules: Sequence[str]) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: put(self._world.cluster, name, self._world.server, list(modules)), names))
        self._own += 2 * len(names)  # a Secret and a Kyma

    def ready(self, names: Sequence[str], modules: int) -> bool:
        """Return whether all Kymas are ready, with as many modules."""
        self._own += 1
        kymas = self._world.cluster.client.list(self._world.cluster.client.resource(KYMA), HOME).items
        found = {one["metadata"]["name"]: one.get("status") or {} for one in kymas}
        return all(
            found.get(name, {}).get("state") == "Ready"
            and [one.get("state") for one in found[name].get("modules") or []] == ["Ready"] * modules
            for name in names
        )

    def home_requests(self) -> int:
        """Return how many requests but watches and Leases others have made since the last call."""
        found = self._world.faults.requests(forget=True)["requests"]
        asked = sum(not one["watch"] and "/leases" not in one["path"] for one in found) - self._own
        self._own = 0
        return asked

    def runtime_requests(self) -> int:
        """Return how many requests but watches the runtimes have answered."""
        counts = stub_requests(self._world.server)
        return counts.total() - counts["WATCH"]


def command_line(manager: str, world: FleetWorld, runtimes: Sequence[str]) -> list[str]:
    if manager == "lifecycle-manager":
        return RealManager(world.cluster, world.registry, world.folder, runtimes).command()
    return [sys.executable, "-m", "kymatui", "operator", "run", "--registry", f"http://{world.registry}"]


def processor(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def step(world: CountedWorld, pid: int, names: Sequence[str], modules: int) -> Figures:
    """Create Kymas, wait until they are ready and a little longer; return what that took."""
    world.home_requests()
    far, used, began = world.runtime_requests(), processor(pid), time.monotonic()
    world.create(names, MODULES[:modules])
    while not world.ready(names, modules):
        if time.monotonic() - began > _PATIENCE:
            raise TimeoutError(f"{len(names)} Kymas with {modules} modules are not ready after {_PATIENCE:.0f} s")
        time.sleep(0.1)
    seconds = time.monotonic() - began
    time.sleep(_QUIET)
    return Figures(seconds, world.home_requests(), world.runtime_requests() - far, processor(pid) - used)


def measure(manager: str, kymas: int, rest: float) -> Iterator[tuple[str, Figures]]:
    """Yield the figures of one manager by step; the last one is at rest."""
    many = [f"many-{number:04}" for number in range(kymas)]
    single = {f"single-{size}": size for size in SIZES}
    with fleet_world(MODULES) as world, (world.folder / "log").open("wb") as log:
        counted = CountedWorld(world)
        home = {**environment(world.folder), "KUBECONFIG": str(world.kubeconfig)}
        command = command_line(manager, world, [*single, *many])
        with subprocess.Popen(command, stdout=log, stderr=log, env=home, cwd=world.folder) as process:
            try:
                time.sleep(_QUIET)
                for name, size in single.items():
                    yield f"1 Kyma, {size} modules", step(counted, process.pid, [name], size)
                yield f"{kymas} Kymas, 1 module", step(counted, process.pid, many, 1)
                counted.home_requests()
                far, used = counted.runtime_requests(), processor(process.pid)
                time.sleep(rest)
                more = counted.runtime_requests() - far, processor(process.pid) - used
                yield f"{rest:.0f} s at rest", Figures(rest, counted.home_requests(), *more)
                print(f"{manager}: {memory(process.pid, 'VmRSS')} MiB at rest, {memory(process.pid, 'VmHWM')} at most")
            finally:
                process.terminate()
                process.wait(60)
                if sys.exc_info()[0] is not None:
                    print((world.folder / "log").read_text()[-_LOG:], file=sys.stderr)


def main(words: list[str]) -> int:
    given = dict(word.split(":") for word in words if ":" in word)
    rounds = next((int(word) for word in words if ":" not in word), 1)
    managers = [one for one in MANAGERS if given.get("only", one) == one]
    found: dict[tuple[str, str], list[Figures]] = {}
    for _ in range(rounds):
        for manager in managers:
            for name, figures in measure(manager, int(given.get("kymas", 100)), float(given.get("rest", 60))):
                print(f"{manager:18} {name:20} {figures}", flush=True)
                found.setdefault((name, manager), []).append(figures)
    print("| step | manager | seconds | requests to the control plane | to runtimes | processor seconds |")
    print("|---|---|---|---|---|---|")
    for (name, manager), all_figures in sorted(found.items(), key=lambda one: list(found).index(one[0])):
        middle = [statistics.median(values) for values in zip(*map(astuple, all_figures), strict=True)]
        print(f"| {name} | {manager} | {middle[0]:.1f} | {middle[1]:.0f} | {middle[2]:.0f} | {middle[3]:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
