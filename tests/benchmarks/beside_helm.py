"""Charts beside Helm: python -m tests.benchmarks.beside_helm HELM FOLDER… [--values N] [--seed N] [--lint] [--out FILE]

Every chart below the folders is rendered by `kymatui helm template` (in this process) and by `helm template`: with its
own values, with each file of its `ci` folder, and with random changes of its values. Missing dependencies are taken
from the same folders, else a chart without templates takes their place. Lines that Helm itself prints differently in
two runs are not compared. Ends with 1 where something differs.
"""

from __future__ import annotations

import argparse
import base64
import collections
import contextlib
import copy
import difflib
import hashlib
import io
import json
import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kymatui.cli.main import main as kymatui
from kymatui.errors import HelmError
from kymatui.helm import load_yaml
from tests.benchmarks.mutating import places

RUNS_OF_HELM = 6
SECONDS = 60
DEPENDENCIES = (
    "an error occurred while checking for chart dependencies. "
    "You may need to run `helm dependency build` to fetch missing dependencies: "
)
FLAGS = (
    (), (), (), ("--is-upgrade",), ("--include-crds",), ("--kube-version", "v1.22.3"), ("--no-hooks",),
    ("--api-versions", "monitoring.coreos.com/v1", "--api-versions", "cert-manager.io/v1"),
    ("--api-versions", "monitoring.coreos.com/v1/ServiceMonitor,networking.k8s.io/v1/Ingress,policy/v1"),
    ("--api-versions", "route.openshift.io/v1", "--api-versions", "security.openshift.io/v1"),
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, True, False, 0, 1, -3, 7.5, 10000000, "", "text", "1", "true", "a: b", "{{ .Release.Name }}", "x\ny\n",
    [], ["text"], [{"name": "x", "value": 1}], {}, {"key": "value"}, {"enabled": True},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """One command's output and whether it went well."""

    ok: bool
    out: bytes
    err: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One comparison that differs; `kind` is output, refusal or message."""

    chart: str
    run: str
    kind: str
    detail: str
    words: tuple[str, ...] = ()
    values: str = ""


def ours(words: list[str]) -> Answer:
    """Runs `kymatui helm` in this process; a crash is an answer of its own."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", newline="") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = kymatui(["helm", *words])
        except SystemExit as error:
            status = int(error.code or 0)
        except Exception as error:  # noqa: BLE001
            status = 99
            print(f"CRASH {type(error).__name__}: {error}", file=err)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue())
    return Answer(status == 0, texts[0], texts[1].decode("utf-8", "replace"))


class Helm:
    """Helm's commands: a process each, or one process for many (see helm_in_process), started again where it ends."""

    def __init__(self, program: str, many: bool) -> None:
        self._program, self._many = program, many
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, words: list[str]) -> Answer:
        if self._many:
            return self._ask(words)
        try:
            done = subprocess.run([self._program, *words], capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Answer(False, b"", "TIMEOUT")
        return Answer(done.returncode == 0, done.stdout, done.stderr.decode("utf-8", "replace"))

    def _ask(self, words: list[str]) -> Answer:
        if self._process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._process = subprocess.Popen([self._program], **pipes)  # type: ignore[call-overload]
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(words).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline() if select.select([process.stdout], [], [], SECONDS)[0] else b""
        if not line:
            process.kill()
            process.wait()
            self._process = None
            return Answer(False, b"", "TIMEOUT")
        answer = json.loads(line)
        return Answer(answer["ok"], base64.b64decode(answer["out"] or ""), answer["err"])

    def seconds(self) -> float:
        """The processor time so far; of a process for many, what the system has counted for it."""
        times = os.times()
        ended = times.children_user + times.children_system
        if self._process is None:
            return ended
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return ended + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def chart_folders(folders: list[Path]) -> Iterator[Path]:
    """Every chart, but not the charts within charts, and each content once."""
    known = set()
    for folder in folders:
        for file in sorted(folder.rglob("Chart.yaml")):
            chart = file.parent
            if any((above / "Chart.yaml").exists() for above in chart.parents if above.is_relative_to(folder)):
                continue
            digest = hashlib.sha256()
            for path in sorted(path for path in chart.rglob("*") if path.is_file()):
                digest.update(str(path.relative_to(chart)).encode() + path.read_bytes())
            if digest.digest() not in known:
                known.add(digest.digest())
                yield chart


def head_of(file: Path) -> dict[str, Any]:
    try:
        head = load_yaml(file.read_text(encoding="utf-8", errors="replace"))
    except (HelmError, OSError):
        return {}
    return head if isinstance(head, dict) else {}


def declared(chart: Path) -> list[dict[str, Any]]:
    """The dependencies of a chart, as Chart.yaml or requirements.yaml has them."""
    found = head_of(chart / "Chart.yaml").get("dependencies") or head_of(chart / "requirements.yaml").get(
        "dependencies"
    )
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


class Pool:
    """Charts by name, for the dependencies of others."""

    def __init__(self, folders: list[Path], charts: list[Path]) -> None:
        self._charts: dict[str, list[Path]] = collections.defaultdict(list)
        for chart in charts:
            self._charts[str(head_of(chart / "Chart.yaml").get("name"))].append(chart)
        for folder in folders:
            for file in sorted((*folder.rglob("*.tgz"), *folder.glob("*.tgz"))):
                self._charts[re.sub(r"-v?\d+\.\d.*", "", file.name)].append(file)

    def complete(self, origin: Path, copied: Path, depth: int = 0) -> None:
        """Puts the missing dependencies into `charts`."""
        inside = copied / "charts"
        for entry in declared(copied):
            name = str(entry.get("name", ""))
            if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
                continue
            known = [head_of(path / "Chart.yaml").get("name") for path in inside.glob("*") if path.is_dir()]
            if name in known or any(inside.glob(f"{name}-[v0-9]*.tgz")):
                continue
            inside.mkdir(exist_ok=True)
            if (inside / name).is_symlink():  # to a folder that was not copied
                (inside / name).unlink()
            address = str(entry.get("repository", ""))
            local = (origin / address[7:]).resolve() if address.startswith("file://") else None
            root = origin.parts[:5]
            near = sorted(self._charts.get(name, ()), key=lambda path: path.parts[:5] != root)
            chosen = local if local is not None and (local / "Chart.yaml").exists() else near[0] if near else None
            if chosen is None or depth > 3 or chosen == origin:
                version = re.search(r"\d+(\.\d+){0,2}", str(entry.get("version", "")))
                number = ".".join([*(version[0] if version else "1").split("."), "0", "0"][:3])
                (inside / name).mkdir(exist_ok=True)
                (inside / name / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: {number}\n")
            elif chosen.is_file():
                shutil.copy(chosen, inside)
            else:
                copy_chart(chosen, inside / name)
                self.complete(chosen, inside / name, depth + 1)


def copy_chart(chart: Path, target: Path) -> None:
    shutil.copytree(chart, target, symlinks=True, ignore=shutil.ignore_patterns(".git"), dirs_exist_ok=True)


def mutated(values: Any, chance: random.Random) -> Any:
    """Values in which some booleans are flipped, entries retyped, set to null or left out."""
    values = copy.deepcopy(values)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        paths = [path for path in places(values) if path]
        if not paths:
            return {"key": chance.choice(OTHERS)}
        booleans = [path for path in paths if isinstance(at(values, path), bool)]
        path = chance.choice(booleans if booleans and chance.random() < 0.5 else paths)
        spot = at(values, path[:-1])
        old = spot[path[-1]]
        draw = chance.random()
        if isinstance(old, bool) and draw < 0.8:
            spot[path[-1]] = not old
        elif isinstance(old, bool | None) or draw < 0.5:
            spot[path[-1]] = copy.deepcopy(chance.choice(OTHERS))
        elif draw < 0.7:
            del spot[path[-1]]
        elif draw < 0.85:
            spot[path[-1]] = None
        else:
            spot[path[-1]] = [old] if chance.random() < 0.5 else {"inner": old}
    return values


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def lines_that_change(answers: list[Answer]) -> list[bytes | None]:
    """The lines of the first answer; None for those that another answer prints differently."""
    first = answers[0].out.splitlines()
    lines: list[bytes | None] = list(first)
    for other in answers[1:]:
        found = other.out.splitlines()
        if len(found) != len(first):
            return []
        for number, line in enumerate(found):
            if line != first[number]:
                lines[number] = None
    return lines


def same_output(mine: Answer, answers: list[Answer]) -> bool:
    if any(mine.out == answer.out for answer in answers):
        return True
    lines, own = lines_that_change(answers), mine.out.splitlines()
    return len(lines) == len(own) and all(line is None or line == mine for line, mine in zip(lines, own, strict=True))


def shown(helm: Answer, mine: Answer) -> str:
    """The first lines of a unified diff."""
    before, after = (answer.out.decode("utf-8", "replace").splitlines() for answer in (helm, mine))
    return "\n".join(list(difflib.unified_diff(before, after, "helm", "kymatui", lineterm="", n=2))[:40])


def message(text: str) -> str:
    """What an error says, without the words around it that differ on purpose: program, hints, indentation."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("  hint: ", "warning: "))]
    start = next((number for number, line in enumerate(lines) if line.startswith(("Error: ", "kymatui: "))), 0)
    words = " ".join(" ".join(lines[start:]).split())
    words = words.removeprefix("Error: ").removeprefix("kymatui: ")
    words = re.sub("(library charts are not installable): .*", r"\1", words)
    return words.removesuffix("Use --debug flag to render out invalid YAML").removeprefix(DEPENDENCIES).strip()


def told(answer: Answer) -> tuple[list[str], list[bytes]]:
    """An error and the output without their order: Helm reports what a schema forbids in any."""
    return sorted(re.split(r"\s*- at ", message(answer.err))), sorted(re.split(rb"\s*- at |\n", answer.out))


class Comparison:
    """All runs of the charts, with what differed."""

    def __init__(self, helm: Helm, scratch: Path, out: Path | None) -> None:
        self._helm, self.scratch, self._out = helm, scratch, out
        self.runs: collections.Counter[str] = collections.Counter()
        self.differences: list[Difference] = []
        self.seconds = [0.0, 0.0]

    def compare(self, chart: str, run: str, words: list[str], values: str = "") -> None:
        start = time.process_time()
        mine = ours(words)
        middle = time.process_time()
        self.seconds[0] += middle - start
        before = self._helm.seconds()
        answers = [self._helm.run(words)]
        self.seconds[1] += self._helm.seconds() - before
        kind = run.split(":")[0]
        self.runs[f"{kind} {'ok' if answers[0].ok else 'refused'}"] += 1
        if mine.ok and answers[0].ok and mine.out == answers[0].out:
            return
        found = None
        for _ in range(RUNS_OF_HELM):
            found = self._difference(mine, answers)
            if found is None:
                return
            answers.append(self._helm.run(words))
        assert found is not None
        self._note(Difference(chart, run, *found, tuple(words), values))

    def _difference(self, mine: Answer, answers: list[Answer]) -> tuple[str, str] | None:
        helm = answers[-1]
        if "CRASH" in mine.err:
            return "crash", mine.err[:1500]
        if mine.ok != helm.ok:
            refused = "kymatui" if helm.ok else "helm"
            return f"only {refused} refuses", (mine.err if helm.ok else helm.err)[:1500]
        if not mine.ok:
            first = message(answers[0].err)
            texts = [told(answer) for answer in answers]
            if all(text == texts[0] for text in texts) and texts[0] != told(mine):
                return "message", f"helm:    {first[:700]}\nkymatui: {message(mine.err)[:700]}\n{shown(helm, mine)}"
            return None
        return None if same_output(mine, answers) else ("output", shown(helm, mine))

    def _note(self, difference: Difference) -> None:
        self.differences.append(difference)
        if self._out is not None:
            with self._out.open("a") as stream:
                stream.write(json.dumps(asdict(difference)) + "\n")
        print(f"{difference.kind}: {difference.chart} {difference.run}\n{difference.detail}\n", flush=True)


def ci_files(chart: Path) -> list[Path]:
    return sorted(
        file for pattern in ("ci/*.y*ml", "test-values*.yaml", "tests/values*.yaml") for file in chart.glob(pattern)
    )


def all_runs(comparison: Comparison, name: str, chart: Path, given: argparse.Namespace) -> None:
    """The default values, those of `ci`, and random ones."""
    reference = str(chart)
    words, lint = ["template", "rel", reference, "-n", "ns"], ["lint", reference, "-n", "ns"]
    if given.lint:
        comparison.compare(name, "lint", lint)
    comparison.compare(name, "default", words)
    files = ci_files(chart)
    for file in files[: given.ci]:
        comparison.compare(name, f"ci:{file.name}", [*words, "-f", str(file)])
        if given.lint:
            comparison.compare(name, f"lint-ci:{file.name}", [*lint, "-f", str(file)])
    for number in range(given.values):
        chance = random.Random(f"{given.seed} {number} {name}")
        random_run(comparison, name, chart, chance, f"random:{number}", [*words, *chance.choice(FLAGS)], given)


def random_run(
    comparison: Comparison,
    name: str,
    chart: Path,
    chance: random.Random,
    run: str,
    words: list[str],
    given: argparse.Namespace,
) -> None:
    """One run with changed values: given with -f, or written into the chart (then keys can be missing)."""
    own = chart / "values.yaml"
    files = [file for file in ci_files(chart) if head_of(file)]
    text = own.read_bytes() if own.is_file() else None
    base = head_of(chance.choice(files)) if files and chance.random() < 0.3 else head_of(own)
    values = mutated(base, chance)
    rewritten = chance.random() < 0.4
    target = own if rewritten else comparison.scratch / "values.json"
    written = json.dumps(values, indent=1, ensure_ascii=False).replace(".0,\n", ",\n").replace(".0\n", "\n")
    try:
        target.write_text(written)
        extra = [] if rewritten else ["-f", str(target)]
        comparison.compare(name, run, [*words, *extra], f"{target.name}: {written}")
        if given.lint and chance.random() < 0.3:
            comparison.compare(
                name, f"lint-{run}", ["lint", str(chart), "-n", "ns", *extra], f"{target.name}: {written}"
            )
    finally:
        if text is not None:
            own.write_bytes(text)
        elif rewritten:
            own.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("helm", help="the binary; with --many, the program that helm_in_process builds")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--values", type=int, default=3, help="random changes of values for each chart")
    parser.add_argument("--ci", type=int, default=8, help="at most so many files of values for each chart")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lint", action="store_true")
    parser.add_argument("--many", action="store_true", help="one process of Helm for all runs")
    parser.add_argument("--only", default="", help="charts whose path contains this")
    parser.add_argument("--part", default="1/1", help="N/M: the Nth of M parts of the charts, in random order")
    parser.add_argument("--skip", type=int, default=0, help="charts to leave out at the start")
    parser.add_argument("--out", type=Path, help="differences, a JSON document each line")
    given = parser.parse_args()
    charts = list(chart_folders(given.folders))
    random.Random(given.seed).shuffle(charts)
    pool = Pool(given.folders, charts)
    number, parts = map(int, given.part.split("/"))
    chosen = [chart for chart in charts if given.only in str(chart)][number - 1 :: parts][given.skip :]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.environ["HELM_CACHE_HOME"] = os.environ["HOME"] = folder
        os.environ.pop("KUBECONFIG", None)
        comparison = Comparison(Helm(given.helm, given.many), Path(folder), given.out)
        for position, chart in enumerate(chosen):
            copied = Path(folder) / "charts" / chart.name
            copy_chart(chart, copied)
            pool.complete(chart, copied)
            all_runs(comparison, str(chart), copied, given)
            shutil.rmtree(copied)
            if position % 20 == 19:
                print(f"… {position + 1} of {len(chosen)} charts, runs: {dict(comparison.runs)}", flush=True)
    print(f"{len(chosen)} charts, {comparison.runs.total()} runs: {dict(sorted(comparison.runs.items()))}")
    print(f"processor time: kymatui {comparison.seconds[0]:.0f} s, helm {comparison.seconds[1]:.0f} s")
    for kind, count in collections.Counter(d.kind for d in comparison.differences).most_common():
        print(f"{count:6} {kind}")
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
