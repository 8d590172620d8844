"""Somebody else at work before every single request of every flow; see `tests.cli.intruding`.

    python -m tests.benchmarks.intruder_walk [FLOW-INTRUDER …] [every:N]

Ends with 1 where anything of the intruder's is lost, or a command's status does not say what came of it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter

from kymatui.sandbox.sandbox_process import start_sandbox
from tests.cli.intruding import FLOWS, new_stage, walk


def main(words: list[str]) -> None:
    every = next((int(word.partition(":")[2]) for word in words if word.startswith("every:")), 1)
    wanted = [flow for flow in FLOWS if flow.name in words] or list(FLOWS)
    bad = 0
    os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
    with start_sandbox(clusters=("kcp",), settled=True) as running:
        os.environ["KUBECONFIG"] = str(running.kubeconfig)
        stage = new_stage(running.kubeconfig)
        for flow in wanted:
            began, statuses, wrong = time.monotonic(), Counter[int](), 0
            for found in walk(flow, stage, every):
                statuses[found.ended.status] += 1
                if found.wrong:
                    wrong += 1
                    print(f"  {flow.name} before request {found.number} ({found.ended.status}): {found.wrong}")
            bad += wrong
            told = ", ".join(f"{count} left with {status}" for status, count in sorted(statuses.items()))
            seconds = time.monotonic() - began
            print(
                f"{flow.name:18} {sum(statuses.values()):4} points, {told}; {wrong} wrong; {seconds:.0f} s", flush=True
            )
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
