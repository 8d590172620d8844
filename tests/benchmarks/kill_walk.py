"""Kills a run before and after every single one of its requests, and compares what the next run leaves.

    python -m tests.benchmarks.kill_walk [every:N]      # every request, or every N-th

A module of thirty objects with hooks, as a chart and as a manifest: installed, upgraded and uninstalled. Ends with 1
where anything differs from an undisturbed cluster.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from kymatui.sandbox.process import start_sandbox


def walk(shape: str, verb: str, which: str) -> int:
    """How many deaths were not healed."""
    began, deaths, bad, requests = time.monotonic(), 0, 0, 0
    with start_sandbox(clusters=("killed",), empty=True) as sandbox:
        command = [sys.executable, "-m", "tests.engine.killing", str(sandbox.kubeconfig), shape, verb, which]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found = json.loads(line)
                if "requests" in found:
                    requests = found["requests"]
                    continue
                deaths += 1
                if not found["ended_well"] or found["differing"]:
                    bad += 1
                    print(line[:2000])
        bad += process.returncode != 0
    seconds = time.monotonic() - began
    print(
        f"{shape:9} {verb:10} {requests:4} requests {deaths:4} deaths {bad:3} not healed {seconds:6.0f} s", flush=True
    )
    return bad


def main() -> None:
    which = sys.argv[1] if len(sys.argv) > 1 else "every:1"
    bad = [walk(shape, verb, which) for shape in ("manifest", "chart") for verb in ("install", "upgrade", "uninstall")]
    sys.exit(1 if any(bad) else 0)


if __name__ == "__main__":
    main()
