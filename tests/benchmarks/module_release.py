"""`bundle create --registry` of a module with 20 images beside modulectl, `ocm add` and `ocm transfer`, in one run.

    python -m tests.benchmarks.module_release [ROUNDS]

Each round makes a new version and pushes it to the sandbox's registry, with each in turn. Without modulectl and ocm on
the PATH only kymatui is measured. Every command is a process of its own, as an author runs it; seconds are those of the
clock, CPU seconds those of the processes.
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
from collections.abc import Callable
from pathlib import Path

from kymatui.sandbox.sandbox_process import start_sandbox
from tests.bundle.sources import CR, workload, write_sources

IMAGES = 20


def run(*words: str, home: Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "HOME": str(home)}, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")


def kymatui(folder: Path, host: str) -> None:
    words = ["-c", f"{folder}/module-config.yaml", "-o", f"{folder}/t.yaml", "--sources", str(folder)]
    place = ["--registry", f"{host}/ours", "--insecure-registry", host]
    run(sys.executable, "-m", "kymatui", "bundle", "create", *words, *place, home=folder)


def real(folder: Path, host: str) -> None:
    constructor, archive = str(folder / "c.yaml"), str(folder / "ctf")
    source = ["--output-constructor-file", constructor, "--module-sources-git-directory", str(folder)]
    run("modulectl", "create", "-c", f"{folder}/module-config.yaml", "-o", f"{folder}/t.yaml", *source, home=folder)
    (folder / "ocm.yaml").write_text("type: generic.config.ocm.software/v1\nconfigurations: []\n")
    ocm = ["ocm", "--config", f"{folder}/ocm.yaml"]
    skip = "--skip-digest-generation"
    run(*ocm, "add", "componentversions", "--create", "--file", archive, skip, constructor, home=folder)
    place = json.dumps({"type": "OCIRegistry", "baseUrl": f"http://{host}", "subPath": "theirs"})
    run(*ocm, "transfer", "ctf", archive, place, home=folder)


def measure(rounds: int) -> None:
    ways: dict[str, Callable[[Path, str], None]] = {"kymatui": kymatui}
    if shutil.which("modulectl") and shutil.which("ocm"):
        ways["modulectl, ocm"] = real
    else:
        print("modulectl and ocm are not on the PATH")
    times: dict[str, list[float]] = {name: [] for name in ways}
    work: dict[str, list[float]] = {name: [] for name in ways}
    with start_sandbox(empty=True) as sandbox, tempfile.TemporaryDirectory() as top:
        for number in range(rounds):
            for name, way in ways.items():
                version = f"1.{number}.0"
                images = [f"registry.example.com/prod/image-{one}:{version}" for one in range(IMAGES)]
                objects = [workload(image, name=f"workload-{one}") for one, image in enumerate(images)]
                folder = Path(top) / f"{name.partition(',')[0]}{number}"
                write_sources(folder, *objects, default_cr=CR, version=version)
                began, used = time.perf_counter(), _cpu()
                way(folder, sandbox.registry)
                times[name].append(time.perf_counter() - began)
                work[name].append(_cpu() - used)
    print(f"{'':16}{'median':>8}{'least':>8}{'CPU':>8}   {rounds} rounds")
    for name, found in times.items():
        print(f"{name:16}{statistics.median(found):8.2f}{min(found):8.2f}{statistics.median(work[name]):8.2f}")


def _cpu() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
