"""The operator beside lifecycle-manager: how long, how many requests, how much processor time and memory.

    python -m tests.benchmarks.beside_lifecycle_manager [ROUNDS] [kymas:N] [rest:SECONDS] [only:operator]

Needs `lifecycle-manager` on the PATH. Each round runs both in turn, each in a world of its own: a control plane of the
sandbox, and a runtime for each Kyma (a stub that stores what it is sent, over plain HTTP). First one Kyma with 1, 5 and
20 modules, then `kymas` at once with one module each. All intervals are as the programs have them when nothing is set.
Modules have 8 objects and no default CR.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

import msgspec

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.sessions.cluster.cluster_access import open_cluster
from kymatui.adapters.sessions.cluster.session_options import SessionOptions
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.sandbox_process import start_sandbox
from kymatui.sandbox.world.modules.sample_crds import kyma_definitions
from tests.benchmarks.idle_manifests import memory
from tests.benchmarks.operator_fleet import HOME, KYMA, MANIFEST, environment, publish, put
from tests.integration.real_lifecycle_manager import RealManager

MANAGERS: Final[tuple[str, ...]] = ("operator", "lifecycle-manager")
MODULES: Final = tuple(f"module-{letter * 3}" for letter in "abcdefghijklmnopqrst")
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


class World:
    """A control plane with all modules, and the stubs' address."""

    def __init__(self, cluster: KubeCluster, faults: FaultClient, registry: str, server: str, folder: Path) -> None:
        self.cluster, self.registry, self.folder = cluster, registry, folder
        self._faults, self._server = faults, server
        self._own = 0

    def create(self, names: Sequence[str], modules: Sequence[str]) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: put(self.cluster, name, self._server, list(modules)), names))
        self._own += 2 * len(names)  # a Secret and a Kyma

    def ready(self, names: Sequence[str], modules: int) -> bool:
        """Return whether all Kymas are ready, with as many modules."""
        self._own += 1
        kymas = self.cluster.client.list(self.cluster.client.resource(KYMA), HOME).items
        found = {one["metadata"]["name"]: one.get("status") or {} for one in kymas}
        return all(
            found.get(name, {}).get("state") == "Ready"
            and [one.get("state") for one in found[name].get("modules") or []] == ["Ready"] * modules
            for name in names
        )

    def home_requests(self) -> int:
        """Return how many requests but watches and Leases others have made since the last call."""
        found = self._faults.requests(forget=True)["requests"]
        asked = sum(not one["watch"] and "/leases" not in one["path"] for one in found) - self._own
        self._own = 0
        return asked

    def runtime_requests(self) -> int:
        """Return how many requests but watches the runtimes have answered."""
        with urllib.request.urlopen(f"{self._server}/requests") as answer:
            counts: Counter[str] = Counter(msgspec.json.decode(answer.read()))
        return counts.total() - counts["WATCH"]


@contextlib.contextmanager
def new_world() -> Iterator[World]:
    command = [sys.executable, "-m", "tests.benchmarks.stub_runtimes"]
    with (
        tempfile.TemporaryDirectory() as place,
        start_sandbox(clusters=("kcp",), empty=True) as sandbox,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stub,
    ):
        assert stub.stdout is not None
        cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
        for body in ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}, *kyma_definitions()):
            cluster.apply(body)
        while cluster.kind(KYMA) is None or cluster.kind(MANIFEST) is None:
            cluster.forget_kinds()
        publish(Path(place), sandbox.registry, cluster, list(MODULES))
        (Path(place) / "kubeconfig").write_bytes(sandbox.kubeconfig.read_bytes())
        faults = FaultClient.for_kubeconfig(sandbox.kubeconfig)
        try:
            yield World(cluster, faults, sandbox.registry, stub.stdout.readline().strip(), Path(place))
        finally:
            stub.terminate()


def command_line(manager: str, world: World, runtimes: Sequence[str]) -> list[str]:
    if manager == "lifecycle-manager":
        return RealManager(world.cluster, world.registry, world.folder, runtimes).command()
    return [sys.executable, "-m", "kymatui", "operator", "run", "--registry", f"http://{world.registry}"]


def processor(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def step(world: World, pid: int, names: Sequence[str], modules: int) -> Figures:
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
    with new_world() as world, (world.folder / "log").open("wb") as log:
        home = {**environment(world.folder), "KUBECONFIG": str(world.folder / "kubeconfig")}
        command = command_line(manager, world, [*single, *many])
        with subprocess.Popen(command, stdout=log, stderr=log, env=home, cwd=world.folder) as process:
            try:
                time.sleep(_QUIET)
                for name, size in single.items():
                    yield f"1 Kyma, {size} modules", step(world, process.pid, [name], size)
                yield f"{kymas} Kymas, 1 module", step(world, process.pid, many, 1)
                world.home_requests()
                far, used = world.runtime_requests(), processor(process.pid)
                time.sleep(rest)
                more = world.runtime_requests() - far, processor(process.pid) - used
                yield f"{rest:.0f} s at rest", Figures(rest, world.home_requests(), *more)
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
