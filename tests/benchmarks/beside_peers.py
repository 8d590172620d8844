"""Commands beside kubectl, Helm and the kyma CLI, in one run: time on the clock and processor time.

    python -m tests.benchmarks.beside_peers [ROUNDS] [KUBECONFIG] [before:CHECKOUT]

Without a kubeconfig the cluster is the sandbox; a cluster without a Kyma gets a copy of the sample world, which stays
there. A round runs every command of kymatui, of the checkout `before` and of the peers once, in turn, so that a busy
machine is busy for all. Needs `kubectl`, `helm` and `kyma` on the PATH; what is not there is left out. A package that
pip installed is compiled, so the first round, which fills the caches of all, is not counted.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kymatui.sandbox.sandbox_process import start_sandbox
from tests.benchmarks.engine_speed import objects
from tests.benchmarks.sample_copy import copy_world, has_kymas
from tests.engine import objects as make
from tests.engine.places import Json

ROUNDS: Final = 20
PAUSE: Final = 0.2
"""Seconds of rest before each command, so that what a server still does for the last one counts for none."""
CHECKED: Final = "bench-checked"
"""Namespace of the hundred objects that are compared in each round."""
NOW, BEFORE, PEER = "now", "before", "peer"
_USAGE: Final = 64  # the exit status of a version that does not have the command yet


@dataclass(frozen=True)
class Row:
    """One row: what kymatui runs, and what the peer runs for the same; `{n}` is a namespace, `{f}` a folder."""

    own: str
    peer: str = ""
    status: int = 0
    """Exit status of kymatui's command when all is well: `drift` ends with 2 where there is drift."""


ROWS: Final = (
    Row("--version"),
    Row("--help"),
    Row("catalog", "kyma module list"),
    Row("module keda"),
    Row("checks keda"),
    Row("drift", status=2),
    Row("events keda"),
    Row("install {n} --chart {f}/chart -n {n} --no-wait --yes", "helm install {n} {f}/chart -n {n}"),
    Row("delete {n} -n {n} --yes", "helm uninstall {n} -n {n}"),
    Row(
        "check bench --file {f}/own.json -n bench-checked",
        "kubectl diff --server-side --field-manager=kubectl -f {f}/kubectl.json",
    ),
)


@dataclass
class Times:
    """Seconds on the clock and of processor time, one entry a round."""

    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


class Runner:
    """Runs commands of both versions and of the peers on one cluster."""

    def __init__(self, kubeconfig: Path, folder: Path, before: Path | None) -> None:
        self._folder = folder
        self._before = before
        base = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        base["KUBECONFIG"] = str(kubeconfig)
        here = Path(__file__).resolve().parents[2]
        homes = {name: folder / name for name in (NOW, BEFORE, PEER)}
        for home in homes.values():
            home.mkdir()
        self._environments = {
            name: {**base, "HOME": str(home), "PYTHONPATH": str(before if name == BEFORE else here)}
            for name, home in homes.items()
        }

    @property
    def programs(self) -> tuple[str, ...]:
        return (NOW, BEFORE, PEER) if self._before else (NOW, PEER)

    def words(self, row: Row, program: str, number: int) -> list[str]:
        """Return the command line, empty where the program has none or is not there."""
        line = row.peer if program == PEER else row.own
        filled = line.format(n=f"bench-{program}-{os.getpid()}-{number}", f=self._folder).split()
        if program != PEER:
            return [sys.executable, "-m", "kymatui", *filled]
        return filled if filled and shutil.which(filled[0]) else []

    def run(self, words: Sequence[str], program: str, *, allowed: Sequence[int] = (0,)) -> tuple[float, float]:
        """Return the seconds on the clock and of processor time of a process and its children."""
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            words, env=self._environments[program], capture_output=True, text=True, check=False, cwd=self._folder
        )
        took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if allowed and done.returncode not in allowed:
            sys.exit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr or done.stdout}")
        return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_files(folder: Path) -> None:
    """Write a chart of twelve objects and a hundred objects, for both ways."""
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: bench\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("replicas: 0\ntext: some text\n")
    (chart / "templates" / "_helpers.tpl").write_text(
        '{{- define "labels" }}\napp.kubernetes.io/name: {{ .Chart.Name }}\n'
        "app.kubernetes.io/instance: {{ .Release.Name }}\n{{- end }}\n"
    )
    for number, one in enumerate(_chart_objects()):
        one["metadata"]["name"] = f"{{{{ .Release.Name }}}}-{number}"
        text = json.dumps(one, indent=1).replace('"LABELS"', '{{ include "labels" . | fromYaml | toJson }}')
        (chart / "templates" / f"object-{number}.yaml").write_text(text.replace('"REPLICAS"', "{{ .Values.replicas }}"))
    for name in ("own", "kubectl"):
        given = objects(f"{CHECKED}-kubectl" if name == "kubectl" else CHECKED)
        (folder / f"{name}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": given}))


def _chart_objects() -> Iterator[Json]:
    made = (
        make.service_account("x"),
        make.cluster_role("x", make.rule("pods", "get", "list"), make.rule("deployments.apps", "get")),
        *(make.config_map("x", text="{{ .Values.text }}") for _ in range(5)),
        *(make.secret("x", text="{{ .Values.text }}") for _ in range(2)),
        *(make.deployment("x", replicas="REPLICAS") for _ in range(3)),
    )
    for one in made:
        one["metadata"]["labels"] = "LABELS"
        yield one


def measure(kubeconfig: Path, folder: Path, rounds: int, before: Path | None) -> dict[Row, dict[str, Times]]:
    """Run all rows in turn; a chart is installed into a namespace of its own each time."""
    write_files(folder)
    runner = Runner(kubeconfig, folder, before)
    prepare(runner, folder)
    found = {row: {name: Times() for name in runner.programs} for row in ROWS}
    for number in range(rounds + 1):
        for program in runner.programs:
            namespace = f"bench-{program}-{os.getpid()}-{number}"
            runner.run(["kubectl", "create", "namespace", namespace], PEER)
        for row in ROWS:
            for program in runner.programs:
                if words := runner.words(row, program, number):
                    time.sleep(PAUSE)
                    clock, processor = runner.run(
                        words, program, allowed=(0, row.status, *((_USAGE,) if program == BEFORE else ()))
                    )
                    if number:
                        found[row][program].clock.append(clock)
                        found[row][program].processor.append(processor)
    return found


def prepare(runner: Runner, folder: Path) -> None:
    """Install the hundred objects, once by kymatui and once by kubectl."""
    apply = ["kubectl", "apply", "--server-side", "--validate=false", "-f"]
    for name in (CHECKED, f"{CHECKED}-kubectl"):
        runner.run(["kubectl", "create", "namespace", name], PEER, allowed=())
    runner.run([*apply, f"{folder}/kubectl.json"], PEER)
    install = ["install", "bench", "--file", f"{folder}/own.json", "-n", CHECKED, "--no-wait", "--yes"]
    runner.run([sys.executable, "-m", "kymatui", *install], NOW)


def print_table(found: dict[Row, dict[str, Times]]) -> None:
    """Print medians in milliseconds, and the median of the rounds' ratios to the peer."""
    print(f"{'command':58} {'before':>12} {'now':>12} {'peer':>12}  now/peer   (clock, processor ms)")
    for row, times in found.items():
        cells = [_cell(times.get(name)) for name in (BEFORE, NOW, PEER)]
        ratio = ""
        if times[PEER].clock:
            pairs = ((times[NOW].clock, times[PEER].clock), (times[NOW].processor, times[PEER].processor))
            ratio = " ".join(
                f"{statistics.median(a / b for a, b in zip(own, peer, strict=True)):5.2f}" for own, peer in pairs
            )
        print(f"{row.own[:58]:58} {cells[0]:>12} {cells[1]:>12} {cells[2]:>12}  {ratio}   {row.peer[:30]}")


def _cell(times: Times | None) -> str:
    if times is None or not times.clock:
        return "-"
    return f"{statistics.median(times.clock) * 1000:.0f} {statistics.median(times.processor) * 1000:.0f}"


def main(words: Sequence[str]) -> None:
    numbers = [int(word) for word in words if word.isdigit()]
    before = next((Path(word.partition(":")[2]) for word in words if word.startswith("before:")), None)
    given = next((Path(word) for word in words if not word.isdigit() and not word.startswith("before:")), None)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if given is None:
            given = stack.enter_context(start_sandbox(settled=True)).kubeconfig
        elif not has_kymas(given):
            with start_sandbox(settled=True) as sample:
                print(
                    "the sample world, copied: {} objects made, {} refused".format(
                        *copy_world(sample.kubeconfig, given)
                    )
                )
        print_table(measure(given.resolve(), folder, numbers[0] if numbers else ROUNDS, before))


if __name__ == "__main__":
    main(sys.argv[1:])
