"""A control plane followed, over HTTP: first rows, all rows, memory, how soon a change is seen, and what that costs.

python -m tests.benchmarks.fleet_following [KYMAS]
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import threading
import time
from pathlib import Path

from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.sandbox.door import start_sandbox
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.control_plane.fleet_session import MANIFESTS, FleetSession
from tests import kube_writes

EVENTS_A_SECOND = 50
WATCHED_SECONDS = 10.0
CHANGES = 20


def memory() -> int:
    """MB that the process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 // 1_000_000


def told(name: str, value: str) -> None:
    print(f"| {name} | {value} |", flush=True)


def change(client_options: SessionOptions, names: list[tuple[str, str]], pause: float) -> list[float]:
    """Moves Kymas between channels, one after the other; returns when each request was sent."""
    from kymatui.engine.cluster.ports import PatchKind

    client = open_cluster(client_options).client
    resource = client.discovery.find_kind("operator.kyma-project.io", "Kyma", ("v1beta2",))
    assert resource is not None
    sent = []
    for number, (namespace, name) in enumerate(names):
        sent.append(time.time())
        body = {"status": {"activeChannel": f"moved-{number}"}}
        kube_writes.patch(client, resource, name, body, PatchKind.MERGE, namespace, subresource="status")
        time.sleep(pause)
    return sent


def flood(kubeconfig: str, names: list[tuple[str, str]]) -> None:
    """In a process of its own, so that it costs the watcher nothing."""
    change(SessionOptions(kubeconfig=kubeconfig), names, 1 / EVENTS_A_SECOND)


class Watcher:
    """Looks as the screen's link does, at most four times a second."""

    def __init__(self, session: FleetSession) -> None:
        self.session = session
        self.rung = threading.Event()
        self.began = time.perf_counter()
        self.looks = 0
        session.start(self.rung.set)

    def look(self, pause: float = 0.1) -> None:
        self.rung.wait(5)
        self.rung.clear()
        self.picture = self.session.picture()
        self.looks += 1
        time.sleep(pause)

    @property
    def elapsed(self) -> str:
        return f"{time.perf_counter() - self.began:.2f} s"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    begin = time.perf_counter()
    with start_sandbox(clusters=("kcp",), settled=True, fleet=count) as sandbox:
        print(f"(the sandbox took {time.perf_counter() - begin:.0f} s to fill)")
        print(f"| {count} Kymas | |\n|---|---|")
        told("memory before", f"{memory()} MB")
        options = SessionOptions(kubeconfig=str(sandbox.kubeconfig))
        watcher = Watcher(FleetSession(open_cluster(options)))
        while not _loading(watcher, count):
            watcher.look()
        told("all Manifests", watcher.elapsed)
        told("memory", f"{memory()} MB")
        _rest(watcher)
        _latency(watcher, options)
        _under_load(watcher, str(sandbox.kubeconfig))
        told("memory at the end", f"{memory()} MB")
        watcher.session.close()


FIRST = {"first rows": 1, "all Kymas": 0}


def _loading(watcher: Watcher, count: int) -> bool:
    picture = getattr(watcher, "picture", None)
    if picture is None:
        return False
    for name, wanted in list(FIRST.items()):
        if len(picture.runtimes) >= (wanted or count):
            told(name, watcher.elapsed)
            del FIRST[name]
    return bool(picture.feeds[MANIFESTS.feed].state is FeedState.LIVE)


def _rest(watcher: Watcher) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    time.sleep(WATCHED_SECONDS)
    told("CPU at rest", f"{(time.process_time() - cpu) / (time.perf_counter() - began):.1%}")


def _latency(watcher: Watcher, options: SessionOptions) -> None:
    waited = []
    for number, key in enumerate(list(watcher.picture.runtimes)[:CHANGES]):
        (sent,) = change(options, [key], 0)
        while watcher.picture.runtimes[key].channel != "moved-0":
            watcher.look(pause=0.02)
        waited.append(time.time() - sent)
        del number
    told("a change is seen after", f"{statistics.median(waited):.2f} s, {max(waited):.2f} s at the most")


def _under_load(watcher: Watcher, kubeconfig: str) -> None:
    keys = list(watcher.picture.runtimes)[CHANGES:]
    wanted = int(EVENTS_A_SECOND * WATCHED_SECONDS)
    names = (keys * (1 + wanted // len(keys)))[:wanted]
    context = multiprocessing.get_context("spawn")
    flooding = context.Process(target=flood, args=(kubeconfig, names))
    looks = watcher.looks
    flooding.start()
    seen = len(watcher.picture.changes)
    while len(watcher.picture.changes) == seen:
        watcher.look()
    began, cpu, first = time.perf_counter(), time.process_time(), len(watcher.picture.changes)
    while flooding.is_alive():
        watcher.look(pause=0.25)
    seconds = time.perf_counter() - began
    rate = (len(watcher.picture.changes) - first) / seconds
    told(
        f"CPU under {rate:.0f} events a second",
        f"{(time.process_time() - cpu) / seconds:.1%} ({(watcher.looks - looks) / seconds:.1f} looks a second)",
    )


if __name__ == "__main__":
    main()
