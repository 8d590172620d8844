"""`kymatui operator run` beside the recordings of the real lifecycle-manager: all scenarios, on pairs of clusters.

    python -m tests.benchmarks.recorded_operator [--jobs N] [--only SCENARIO ...]

Each job has a pair of clusters of its own, and plays its scenarios with `replay.py` of ../shared/klm. Ends with 1 if a
step differs that `recorded_differences.toml` does not name, or one agrees that it names.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import json
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from kymatui.crds import read_crds
from kymatui.sandbox.sandbox_process import start_sandbox
from tests.integration.recorded import KLM, load

ALLOWED: Final = Path(__file__).with_name("recorded_differences.toml")
MOST: Final = 8
OPERATOR: Final = (
    "operator run --kubeconfig {kcp} --registry http://{registry} --restricted-modules {restricted} "
    "--maintenance-policy {policy} --interval 1s"
)
Step = tuple[str, str]
"""The names of a scenario and of its step."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=4, metavar="N")
    parser.add_argument("--only", nargs="*", default=["*"], metavar="SCENARIO")
    args = parser.parse_args()
    if KLM is None:
        print("the recordings of lifecycle-manager are not here (../shared/klm)", file=sys.stderr)
        return 2
    recorded = load().load(KLM / "recordings.json.gz")["scenarios"]
    chosen = [one for one in recorded if any(fnmatch.fnmatch(one["name"], name) for name in args.only)]
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = [one for part in pool.map(play, shares(chosen, args.jobs)) for one in part]
    differing = {(one["scenario"], step["step"]): step["must"] for one in found for step in steps_of(one)}
    allowed = read_allowed(ALLOWED.read_text())
    total = sum(len(one["steps"]) for one in chosen)
    print(f"agree {total - len(differing)}/{total} steps, {time.monotonic() - began:.0f} s")
    return judge(differing, {step: why for step, why in allowed.items() if step[0] in {one["name"] for one in chosen}})


def shares(scenarios: Sequence[dict[str, Any]], jobs: int) -> list[list[str]]:
    """Return the names for each job, so that all end at about the same time."""
    parts: list[tuple[float, list[str]]] = [(0.0, []) for _ in range(jobs)]
    for one in sorted(scenarios, key=seconds, reverse=True):
        parts.sort(key=lambda part: part[0])
        parts[0] = (parts[0][0] + seconds(one), [*parts[0][1], one["name"]])
    return [names for _, names in parts if names]


def seconds(scenario: dict[str, Any]) -> float:
    return sum(float(step.get("seconds", 0)) for step in scenario["steps"])


def play(names: Sequence[str]) -> list[dict[str, Any]]:
    """Play scenarios on a pair of clusters; return the results of replay.py."""
    assert KLM is not None
    with (
        start_sandbox(clusters=("kcp", "skr"), empty=True) as sandbox,
        tempfile.TemporaryDirectory(prefix="kymatui-recorded-") as folder,
    ):
        place, config = Path(folder), yaml.safe_load(sandbox.kubeconfig.read_text())
        for name in ("kcp", "skr"):
            (place / f"{name}.yaml").write_text(yaml.safe_dump({**config, "current-context": name}))
        crds = place / "crds"
        crds.mkdir()
        for body in read_crds():
            (crds / f"{body['metadata']['name']}.yaml").write_text(yaml.safe_dump(body))
        command = [
            *(sys.executable, str(KLM / "replay.py"), str(place / "kcp.yaml"), str(place / "skr.yaml")),
            *("--registry", sandbox.registry, "--crds", str(crds), "--json", str(place / "results.json")),
            *("--start", f"{shlex.quote(sys.executable)} -m kymatui {OPERATOR}", "--only", *names),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(("differ ", " ")):
                    print(line, end="", flush=True)
        found: list[dict[str, Any]] = json.loads((place / "results.json").read_text())["scenarios"]
        return found


def steps_of(scenario: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield the steps that differ, and one for what ended the scenario early."""
    yield from (one for one in scenario["results"] if not one["agree"])
    if scenario["problem"]:
        yield {"step": "the scenario itself", "must": scenario["problem"]}


def read_allowed(text: str) -> dict[Step, str]:
    """Return the reasons of the steps that may differ. Raise ValueError for more than MOST, or one without a reason."""
    steps = tomllib.loads(text).get("step", [])
    found = {(one["scenario"], one["name"]): str(one.get("reason") or "") for one in steps}
    if len(found) > MOST or not all(found.values()):
        raise ValueError(f"{ALLOWED.name}: at most {MOST} steps, each with a reason")
    return found


def judge(differing: dict[Step, Any], allowed: dict[Step, str]) -> int:
    """Print what is not as allowed; return the exit status."""
    for step in sorted(differing.keys() & allowed.keys()):
        print(f"differs as intended: {step[0]}: {step[1]}: {allowed[step]}")
    for step in sorted(differing.keys() - allowed.keys()):
        print(f"differs: {step[0]}: {step[1]}: {str(differing[step])[:400]}")
    for step in sorted(allowed.keys() - differing.keys()):
        print(f"agrees, so it must not be named: {step[0]}: {step[1]}")
    return 1 if differing.keys() ^ allowed.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
