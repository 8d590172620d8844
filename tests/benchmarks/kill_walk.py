"""Something bad at every single request of a run, and then everything is compared with an undisturbed cluster.

    python -m tests.benchmarks.kill_walk [deaths|faults|MISFORTUNE,...] [every:N|writes] [SHAPE-VERB ...]

A module of thirty objects with hooks, as a chart and as a manifest: installed, upgraded (with pruning) and uninstalled.
And a chart with objects that are kept and shared (`tests/engine/keeping.py`): deleted with consent, and pruned.
Deaths are SIGKILL before a request leaves and after its answer came, and then a second run. Faults are 409, 429 with
Retry-After, 500, connections that close and servers that do not answer within the client's time, each before and after
the request was carried out. Ends with 1 where anything differs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter

from tests.engine.misfortunes import FAULTS, KILLS

WALKS = (
    *((shape, verb) for shape in ("manifest", "chart") for verb in ("install", "upgrade", "uninstall")),
    ("kept", "upgrade"),
    ("kept", "uninstall"),
)
SETS = {"deaths": KILLS, "faults": FAULTS}


def walk(shape: str, verb: str, words: str, which: str) -> int:
    """How many were not healed."""
    began, met, bad, again, requests = time.monotonic(), Counter[str](), 0, 0, 0
    processes = str(max(1, (os.cpu_count() or 2) - 1))
    command = [sys.executable, "-m", "tests.engine.misfortunes", shape, verb, words, which, processes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            found = json.loads(line)
            if "requests" in found:
                requests = found["requests"]
                continue
            met[found["misfortune"]] += found["met"]
            again += found["met"] and found["misfortune"] not in KILLS and found["again"]
            if not found["ended_well"] or found["differing"]:
                bad += 1
                print(line[:1500])
    bad += process.returncode != 0
    seconds = time.monotonic() - began
    told = " ".join(f"{word} {count}" for word, count in met.items())
    print(
        f"{shape:9} {verb:10} {requests:4} requests, {sum(met.values()):5} met ({told}), {again} ended with an error "
        f"first, {bad:3} not healed, {seconds:4.0f} s",
        flush=True,
    )
    return bad


def main(words: list[str]) -> None:
    which = next((word for word in words if word.startswith("every:") or word == "writes"), "every:1")
    wanted = [pair for pair in WALKS if "-".join(pair) in words] or WALKS
    named = [word for word in words if word in SETS or set(word.split(",")) <= {*KILLS, *FAULTS}]
    misfortunes = ",".join(SETS.get(named[0], (named[0],)) if named else KILLS)
    bad = [walk(shape, verb, misfortunes, which) for shape, verb in wanted]  # all of them, whatever was found
    sys.exit(1 if any(bad) else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
