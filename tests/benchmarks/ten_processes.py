"""Ten `kymatui install` of ten modules at once on one machine, and two of the same; shared folders for cache and state.

    python -m tests.benchmarks.ten_processes

What the server was asked is the proof: no object is written twice. Every file in the shared folders is read afterwards.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import yaml

from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.sandbox_process import start_sandbox
from tests.engine import objects as make

NAMES = ["same", "same", *(f"m{number}" for number in range(10))]
OBJECTS = 20


def manifest(name: str) -> str:
    objects = [make.config_map(f"{name}-{number}", text="x" * 500) for number in range(OBJECTS - 1)]
    return yaml.safe_dump_all([*objects, make.deployment(name)])


def broken_files(folder: Path) -> list[str]:
    """The files below a folder that cannot be read as what they are."""
    found = []
    for path in folder.rglob("*"):
        if path.suffix not in (".json", ".jsonl") or not path.is_file():
            found += [str(path)] if ".tmp" in path.name else []
            continue
        try:
            for line in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
                json.loads(line)
        except ValueError:
            found.append(str(path))
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as name, start_sandbox(clusters=("ten",), empty=True) as sandbox:
        folder = Path(name)
        for module in set(NAMES):
            (folder / f"{module}.yaml").write_text(manifest(module))
        shared = {"HOME": name, "XDG_CACHE_HOME": f"{name}/cache", "XDG_STATE_HOME": f"{name}/state"}
        environment = {**os.environ, **shared, "KUBECONFIG": str(sandbox.kubeconfig)}
        faults = FaultClient.for_kubeconfig(sandbox.kubeconfig)
        faults.send("latency", {"namespace": "same", "verb": "patch", "seconds": 0.5})  # so that the two surely meet
        faults.requests(forget=True)
        began = time.monotonic()
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "kymatui", "install", one, "--file", f"{name}/{one}.yaml", "-n", one, "--yes"],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for one in NAMES
        ]
        ended = [(process.communicate(), process.returncode) for process in running]
        seconds = time.monotonic() - began
        told = faults.requests()
        writes = Counter(
            one["path"]
            for one in told["requests"]
            if one["method"] in ("PATCH", "POST", "PUT", "DELETE") and not one["dry_run"] and one["status"] < 300
        )
        objects = {path: count for path, count in writes.items() if "/configmaps/" in path or "/deployments/" in path}
        modules = {path: count for path, count in objects.items() if "/kymatui." not in path}
        said = [line for (_, text), _ in ended for line in text.splitlines() if "who is at work on it" in line]
        print(f"{len(NAMES)} processes, {seconds:.1f} s, {told['count']} requests")
        print(f"ended well: {sum(status == 0 for _, status in ended)}")
        print(f"objects written: {len(modules)} of {len(set(NAMES)) * OBJECTS}, most often: {max(modules.values())}")
        print(f"broken files: {broken_files(folder)}")
        print(f"said who holds the Lease: {said}")
        for (_, text), status in ended:
            if status:
                print(text)


if __name__ == "__main__":
    main()
