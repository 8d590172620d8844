"""The fleet of many contexts: first rows, all rows, memory, CPU and requests at rest.

python -m tests.benchmarks.many_contexts [CLUSTERS] [SECONDS]
python -m tests.benchmarks.many_contexts --kubeconfig FILE [SECONDS]
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from kymatui.domain.fleet.clusters import ClusterStatus
from kymatui.sandbox.sandbox_process import start_sandbox
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.context_fleet import ContextFleet
from kymatui.sessions.contexts import list_entries
from kymatui.settings.config_file import Settings

_PAUSE = 0.25  # as often as the screen reads


def memory() -> float:
    """Return the resident memory in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(kubeconfig: str, seconds: float) -> None:
    options = SessionOptions(kubeconfig)
    fleet, changed = ContextFleet(options, list_entries(options, Settings(), {})), threading.Event()
    began, first = time.monotonic(), 0.0
    fleet.start(changed.set)
    while True:
        changed.wait(1)
        changed.clear()
        clusters = fleet.picture().clusters.values()
        read = sum(cluster.is_read for cluster in clusters)
        if read and not first:
            first = time.monotonic() - began
        if all(cluster.status is not ClusterStatus.CONNECTING for cluster in clusters):
            break
        time.sleep(_PAUSE)
    every, (requests, _) = time.monotonic() - began, fleet.traffic
    print(f"{len(clusters)} contexts, {read} read: first row {first:.1f} s, all rows {every:.1f} s")
    print(f"requests {requests}, CPU {time.process_time():.1f} s, memory {memory():.0f} MB")
    time.sleep(10)  # changes of the sandbox itself
    began, cpu, (requests, _) = time.monotonic(), time.process_time(), fleet.traffic
    while time.monotonic() - began < seconds:
        if changed.wait(1):
            changed.clear()
            fleet.picture()
            time.sleep(_PAUSE)
    share = (time.process_time() - cpu) / (time.monotonic() - began)
    rate = (fleet.traffic[0] - requests) / (time.monotonic() - began)
    threads, now = threading.active_count(), memory()
    print(f"at rest for {seconds:.0f} s: {share:.1%} of a core, {rate:.2f} requests/s, {now:.0f} MB, {threads} threads")
    fleet.close()


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["--kubeconfig"]:
        measure(words[1], float(words[2]) if words[2:] else 60.0)
        return
    number = int(words[0]) if words else 50
    with ExitStack() as running:
        names = [f"c{n}" for n in range(1, number + 1)]
        sandbox = running.enter_context(start_sandbox(clusters=names))
        time.sleep(60)  # the sample modules reach their states
        measure(str(sandbox.kubeconfig), float(words[1]) if words[1:] else 60.0)


if __name__ == "__main__":
    main()
