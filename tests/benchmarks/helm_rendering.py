"""Charts rendered here and by Helm: python -m tests.benchmarks.helm_rendering FOLDER [--charts N]

FOLDER has packed charts. `helm` is measured in the same run where it is on PATH. What Helm takes in its process is the
wall time of `helm template` less that of the same command for a chart with one empty template.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from kymatui.errors import HelmError
from kymatui.helm import load_chart, render
from kymatui.helm.functions import FUNCTIONS
from kymatui.helm.language.caching import TemplateCache

COLD = """
import sys
from pathlib import Path
from kymatui.helm import load_chart, render
from kymatui.helm.functions import FUNCTIONS
from kymatui.helm.language.caching import TemplateCache
rendered = render(load_chart(sys.argv[1]), {}, release_name="rel", namespace="ns",
                  cache=TemplateCache(FUNCTIONS, folder=Path(sys.argv[2])))
sys.stdout.write("".join(manifest.content for manifest in rendered.manifests))
"""


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds: a new process (without and with kept templates), the first rendering, the next, and Helm's."""

    chart: str
    new: float
    cold: float
    first: float
    warm: float
    helm: float | None


def best(action: Callable[[], object], runs: int) -> float:
    """The fastest of some runs, in milliseconds: what the work takes, without what the machine did besides."""
    return min(_once(action) for _ in range(runs))


def _once(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def helm_template(chart: Path) -> float | None:
    """The wall time of `helm template`, None where there is no helm or it refuses."""
    helm = shutil.which("helm")
    if helm is None:
        return None
    command = [helm, "template", "rel", str(chart)]
    if subprocess.run(command, capture_output=True).returncode:
        return None
    return best(lambda: subprocess.run(command, capture_output=True), 3)


def measure(path: Path, folder: Path) -> Times:
    """All times of one chart."""
    command = [sys.executable, "-c", COLD, str(path), str(folder / "templates")]

    # An installed package has its bytecode; a checkout on some machines is told not to write any.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def process() -> None:
        subprocess.run(command, capture_output=True, check=True, env=environment)

    new = _once(process)
    cold = best(process, 3)
    chart = load_chart(path)
    cache = TemplateCache(FUNCTIONS)

    def again() -> None:
        render(chart, {}, release_name="rel", namespace="ns", cache=cache)

    first = _once(again)
    return Times(path.name, new, cold, first, best(again, 5), helm_template(path))


def floor() -> float | None:
    """What `helm template` takes for nothing."""
    with tempfile.TemporaryDirectory() as folder:
        chart = Path(folder) / "empty"
        (chart / "templates").mkdir(parents=True)
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: empty\nversion: 1.0.0\n")
        (chart / "templates" / "a.yaml").write_text("")
        return helm_template(chart)


def report(rows: list[Times], nothing: float | None) -> Iterable[str]:
    """The table of medians, and how we stand to Helm."""

    def median(values: Iterable[float]) -> str:
        return f"{statistics.median(values):.1f}"

    yield f"{len(rows)} charts; medians in ms"
    yield f"new process, nothing kept          {median(row.new for row in rows)}"
    yield f"new process, templates kept        {median(row.cold for row in rows)}"
    yield f"first rendering in a process       {median(row.first for row in rows)}"
    yield f"rendering again                    {median(row.warm for row in rows)}"
    known = [(row, row.helm) for row in rows if row.helm is not None]
    if nothing is None or not known:
        return
    yield f"helm template                      {median(helm for _, helm in known)} (for an empty chart {nothing:.1f})"
    yield f"new process / helm template        {median(row.cold / helm for row, helm in known)}"
    inner = [row.warm / max(1.0, helm - nothing) for row, helm in known]
    yield f"rendering again / Helm in process  {median(inner)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--charts", type=int, default=0, help="only so many, evenly chosen")
    given = parser.parse_args()
    paths = sorted(given.folder.glob("*.tgz"))
    if given.charts:
        paths = paths[:: max(1, len(paths) // given.charts)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        measure(paths[0], Path(folder))
        for path in paths:
            try:
                rows.append(measure(path, Path(folder)))
            except (HelmError, subprocess.CalledProcessError) as error:
                print(f"{path.name}: {str(error)[:100]}", file=sys.stderr)
    print(f"CPython {sys.version.split()[0]}, {os.cpu_count()} cores")
    for line in report(rows, floor()):
        print(line)


if __name__ == "__main__":
    main()
