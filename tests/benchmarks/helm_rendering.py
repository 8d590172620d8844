"""Charts rendered here and by Helm: python -m tests.benchmarks.helm_rendering FOLDER [--charts N]

FOLDER has packed charts. `helm` is measured in the same run where it is on PATH, and its engine inside its process
where Go is, which builds a small program for it. Without Go the wall time of `helm template` less that of
`helm version` stands for it: that is the most it can be, for it has the reading of the chart and the printing in it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kymatui.errors import HelmError
from kymatui.helm import load_chart, render
from kymatui.helm.functions import FUNCTIONS
from kymatui.helm.language.caching import TemplateCache
from tests.benchmarks.helm_in_process import in_process

RUNS = 5
SHOWN = 8


@dataclass(frozen=True, slots=True)
class Process:
    """One run of a command: wall and processor time in milliseconds, the most memory in MB, whether it went well."""

    wall: float
    used: float
    memory: float
    ok: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One chart: the command without kept templates and with them; a rendering in this process (ms), first, again."""

    chart: str
    new: Process
    cold: Process
    first: float
    again: float
    helm: Process | None


def once(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def run(command: list[str], environment: Mapping[str, str]) -> Process:
    """Runs a command to its end; what it used comes from the system's own account of it."""
    start = time.perf_counter()
    silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    process = os.posix_spawn(command[0], command, environment, file_actions=silent)
    _, status, usage = os.wait4(process, 0)
    wall = (time.perf_counter() - start) * 1000
    return Process(wall, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1024, status == 0)


def fastest(command: list[str], environment: Mapping[str, str]) -> Process:
    """The fastest of some runs: what the work takes, without what the machine did besides."""
    return min((run(command, environment) for _ in range(RUNS)), key=lambda process: process.wall)


def without_templates(command: list[str], environment: Mapping[str, str]) -> Process:
    """The fastest of some runs, each of which has to parse and compile."""

    def once() -> Process:
        with tempfile.TemporaryDirectory() as folder:
            return run(command, {**environment, "XDG_CACHE_HOME": folder})

    return min((once() for _ in range(3)), key=lambda process: process.wall)


def own_environment(folder: Path) -> dict[str, str]:
    """Caches of its own. An installed package has its bytecode; a checkout on some machines must not write any."""
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def measure(path: Path, environment: Mapping[str, str]) -> Row:
    """All times of one chart. Raises HelmError where it needs values that are not there."""
    chart = load_chart(path)
    cache = TemplateCache(FUNCTIONS)

    def rendering() -> None:
        render(chart, {}, release_name="rel", namespace="ns", cache=cache)

    first = once(rendering)
    again = min(once(rendering) for _ in range(RUNS))
    command = [sys.executable, "-m", "kymatui", "helm", "template", "rel", str(path)]
    new = without_templates(command, environment)
    run(command, environment)
    helm = shutil.which("helm")
    theirs = fastest([helm, "template", "rel", str(path)], os.environ) if helm else None
    return Row(path.name, new, fastest(command, environment), first, again, theirs if theirs and theirs.ok else None)


def median(values: Iterable[float]) -> str:
    found = list(values)
    return f"{statistics.median(found):8.2f}" if found else "       –"


def ratios(values: Iterable[float]) -> str:
    found = list(values)
    return f"{statistics.median(found):8.2f} × (worst {max(found):.2f} of {len(found)})"


def report(rows: list[Row], engine: Mapping[str, float], nothing: float) -> Iterator[str]:
    """The table of medians, and how we stand to Helm."""
    largest = max(rows, key=lambda row: row.new.memory)
    yield f"CPython {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, {len(rows)} charts"
    yield f"kymatui helm template, nothing kept     {median(row.new.wall for row in rows)} ms"
    yield f"kymatui helm template, templates kept   {median(row.cold.wall for row in rows)} ms"
    yield f"– processor time                        {median(row.cold.used for row in rows)} ms"
    yield f"first rendering in this process         {median(row.first for row in rows)} ms"
    yield f"rendering a loaded chart again          {median(row.again for row in rows)} ms"
    yield f"most memory ({largest.chart})  {largest.new.memory:8.0f} MB"
    known = [(row, row.helm) for row in rows if row.helm is not None]
    if not known:
        return
    yield f"helm template                           {median(helm.wall for _, helm in known)} ms"
    yield f"– processor time                        {median(helm.used for _, helm in known)} ms"
    yield f"kymatui / helm template, wall           {ratios(row.cold.wall / helm.wall for row, helm in known)}"
    yield f"– nothing kept                          {ratios(row.new.wall / helm.wall for row, helm in known)}"
    slowest = sorted(known, key=lambda pair: pair[0].cold.wall / pair[1].wall)[-SHOWN:]
    for row, helm in reversed(slowest):
        yield f"  {row.chart:60} {row.cold.wall:6.0f} ms, {row.cold.wall / helm.wall:.2f} ×"
    if engine:
        inner = [row.again / engine[row.chart] for row in rows if row.chart in engine]
        yield f"Helm's engine in its process            {median(engine.values())} ms"
        yield f"rendering again / Helm's engine         {ratios(inner)}"
    else:
        most = [row.again / max(1.0, helm.wall - nothing) for row, helm in known]
        yield f"rendering again / (helm template − helm version, {nothing:.0f} ms)  {median(most)} ×, at the least"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--charts", type=int, default=0, help="only so many, evenly chosen")
    given = parser.parse_args()
    paths = sorted(given.folder.glob("*.tgz"))
    if given.charts:
        paths = paths[:: max(1, len(paths) // given.charts)]
    engine = {Path(path).name: taken for path, taken in in_process(paths).items()}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = own_environment(Path(folder))
        run([sys.executable, "-m", "kymatui", "helm", "template", str(paths[0])], environment)
        for path in paths:
            try:
                rows.append(measure(path, environment))
            except HelmError as error:
                print(f"{path.name}: {str(error)[:100]}", file=sys.stderr)
    helm = shutil.which("helm")
    nothing = fastest([helm, "version"], os.environ).wall if helm else 0.0
    for line in report(rows, engine, nothing):
        print(line)


if __name__ == "__main__":
    main()
