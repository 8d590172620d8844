"""The catalog of 30 modules on a real screen: when it is complete, what events cost, and how much memory it takes.

    python -m tests.benchmarks.catalog_on_screen [RUNS]

kymatui runs in a process of its own on a pseudo terminal of 120 × 40 with its output on; the sandbox in another.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.engine.cluster.ports import PatchKind
from tests import kube_writes
from tests.benchmarks.terminals import Terminal, sandbox, terminal
from tests.integration.embedded import GROUP, NAMESPACE
from tests.integration.recording import module_names, modules

MODULES = 30
EVENTS_A_SECOND = 10
SECONDS = 20
OLD = 125.0  # seconds after which ages are shown in minutes; before, every line changes every second


def complete(seen: bytes) -> bool:
    """Whether every module has been painted, and the frame says that all lists are live."""
    return b"live" in seen and all(name.encode() in seen for name in module_names(MODULES))


def opened(folder: Path, kubeconfig: Path) -> tuple[float, float]:
    """Seconds to the first paint, and from there until the catalog is complete."""
    with terminal(folder, "--kubeconfig", str(kubeconfig)) as screen:
        painted = screen.until(lambda seen: b"kymatui" in seen)
        done = screen.until(complete)
        return painted - screen.started, done - painted


def share(screen: Terminal, seconds: float) -> tuple[float, int]:
    """Of a core in percent over so many seconds of reading, and how many bytes were written."""
    before, began = screen.cpu(), time.perf_counter()
    written = screen.drain(seconds)
    return 100 * (screen.cpu() - before) / (time.perf_counter() - began), written


def under_events(screen: Terminal, kubeconfig: Path) -> tuple[float, int]:
    """The share while ten resources a second change, one module after the other."""
    client = Client(Transport(connect(str(kubeconfig), "", "")))
    kinds = [client.resource(GroupVersionKind(GROUP, "v1alpha1", n.capitalize())) for n in module_names(MODULES)]
    before, began, written = screen.cpu(), time.perf_counter(), 0
    for number in range(EVENTS_A_SECOND * SECONDS):
        state = ("Ready", "Warning", "Processing")[number // MODULES % 3]
        patch = {"status": {"state": state}}
        kube_writes.patch(
            client, kinds[number % MODULES], "default", patch, PatchKind.MERGE, NAMESPACE, subresource="status"
        )
        written += screen.drain(max(0.0, began + (number + 1) / EVENTS_A_SECOND - time.perf_counter()))
    return 100 * (screen.cpu() - before) / (time.perf_counter() - began), written


def say(words: str, figure: str) -> None:
    sys.stdout.write(f"{words:60} {figure}\n")
    sys.stdout.flush()


def main() -> None:
    """Prints one line a figure."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with sandbox(folder, modules(MODULES)) as kubeconfig:
            began = time.perf_counter()
            opened(folder, kubeconfig)  # warms the caches of bytecode and files
            times = [opened(folder, kubeconfig) for _ in range(runs)]
            for words, figures in zip(("first paint", "complete after it"), zip(*times, strict=True), strict=True):
                ordered = sorted(figure * 1000 for figure in figures)
                text = f"median {statistics.median(ordered):.0f} ms, worst {ordered[-1]:.0f} ms"
                say(f"{words}, {runs} runs", text)
            with terminal(folder, "--kubeconfig", str(kubeconfig)) as screen:
                screen.until(complete)
                screen.drain(max(0.0, OLD - (time.perf_counter() - began)))
                say("memory, complete and at rest", f"{screen.memory():.0f} MB")
                idle, written = share(screen, 5)
                say("at rest for 5 s", f"{idle:.1f} % of a core, {written} bytes written")
                busy, written = under_events(screen, kubeconfig)
                say(
                    f"{EVENTS_A_SECOND} events a second for {SECONDS} s",
                    f"{busy:.1f} % of a core, {written} bytes written",
                )
                say("memory afterwards", f"{screen.memory():.0f} MB")


if __name__ == "__main__":
    main()
