"""A list of 10,000 objects: how long it takes, how long other threads wait for the interpreter, what memory it costs.

    python -m tests.benchmarks.kube_lists [OBJECTS]

The server is a process of its own with answers that are made beforehand, so that the client alone is measured. The
stall is the longest gap of an asyncio loop that ticks every 2 ms while a thread lists.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import multiprocessing.connection
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = 500


def thing(number: int) -> dict[str, Any]:
    """A custom resource of about 3 kB, half of it managed fields, as real ones are."""
    owned: dict[str, Any] = {f"f:field{n}": {f"k:{{{n}}}": {"f:status": {}, "f:reason": {}}} for n in range(24)}
    condition = {"type": "Ready", "status": "True", "reason": "Done", "message": "all is well", "observedGeneration": 3}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {
            "name": f"thing-{number:05}",
            "namespace": "default",
            "uid": f"00000000-0000-0000-0000-{number:012}",
            "resourceVersion": str(number + 1),
            "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {f"example.com/label-{n}": f"value-{n}" for n in range(6)},
            "managedFields": [
                {"manager": "manager", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": owned}
            ],
        },
        "spec": {"replicas": 1, "items": [{"name": f"item-{n}", "value": n} for n in range(8)]},
        "status": {"state": "Ready", "conditions": [{**condition, "type": f"C{n}"} for n in range(3)]},
    }


def serve(count: int, pipe: multiprocessing.connection.Connection) -> None:
    """Answers lists page by page and watches with initial events, from bytes that are made before."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from urllib.parse import parse_qs, urlsplit

    objects = [json.dumps(thing(number)).encode() for number in range(count)]
    pages = []
    for start in range(0, count, PAGE):
        token = str(start + PAGE) if start + PAGE < count else ""
        head = json.dumps({"resourceVersion": "1", "continue": token}).encode()
        body = b'{"kind":"ThingList","apiVersion":"example.com/v1","metadata":' + head + b',"items":['
        pages.append(body + b",".join(objects[start : start + PAGE]) + b"]}")
    end = {"metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}}
    events = [b'{"type":"ADDED","object":' + item + b"}\n" for item in objects]
    events.append(json.dumps({"type": "BOOKMARK", "object": end}).encode() + b"\n")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            if "watch" in query:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for event in events:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                self.wfile.flush()
                time.sleep(600)
            body = pages[int(query.get("continue", ["0"])[0]) // PAGE]
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """The watch is closed by the client."""

    server = Server(("127.0.0.1", 0), Handler)
    pipe.send((server.server_address[1], sum(map(len, objects))))
    server.serve_forever()


def memory() -> float:
    """Resident megabytes of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


async def measured(work: Callable[[], int]) -> tuple[float, float, int]:
    """Milliseconds that the work took, the longest stall of the loop meanwhile, and what the work returned."""
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    worst, started = 0.0, time.perf_counter()
    thread.start()
    last = started
    while thread.is_alive():
        await asyncio.sleep(0.002)
        now = time.perf_counter()
        worst, last = max(worst, now - last - 0.002), now
    return (time.perf_counter() - started) * 1000, worst * 1000, results[0]


def work(way: str, port: int) -> Callable[[], int]:
    """One of the ways to read all objects."""
    from kymatui.adapters.kube.api.client import Client
    from kymatui.adapters.kube.objects.api_resource import ApiResource
    from kymatui.adapters.kube.watch.projections import MetadataOnly
    from kymatui.adapters.kube.watch.watch import Watch
    from kymatui.adapters.kube.watch.watch_cache import Store
    from kymatui.adapters.kube.watch.watch_reader import WatchSubject
    from kymatui.domain.snapshot.snapshots import FeedState
    from tests.adapters.clusters import transport

    client = Client(transport(f"http://127.0.0.1:{port}"))
    client.transport._pool_for(None)  # imports the official client before the clock runs
    resource = ApiResource("example.com", "v1", "Thing", "things", True, ("list", "watch"))
    decode = MetadataOnly if "projected" in way else None

    def paged() -> int:
        return len(client.list(resource, decode=decode).items)

    def streamed() -> int:
        live = threading.Event()
        store = Store(lambda: live.set() if store.feed.state is FeedState.LIVE else None)
        watch = Watch(client, WatchSubject(resource, decode=decode), store)
        watch.start()
        live.wait()
        watch.stop()
        return len(store.values())

    return streamed if "watch" in way else paged


def run(way: str, port: int, pipe: multiprocessing.connection.Connection) -> None:
    from kymatui.sessions.feeds.feeds import raise_gc_thresholds

    raise_gc_thresholds()
    task = work(way, port)
    before = memory()
    total, stall, count = asyncio.run(measured(task))
    pipe.send((count, total, stall, memory() - before))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    server = spawn.Process(target=serve, args=(count, theirs), daemon=True)
    server.start()
    port, size = ours.recv()
    print(f"{count} objects, {size / 1e6:.1f} MB of JSON\n")
    print("| way | objects | total ms | longest stall ms | memory MB |\n|---|---|---|---|---|")
    for way in (
        "pages of 500, projected",
        "pages of 500, whole",
        "list in a watch, projected",
        "list in a watch, whole",
    ):
        worker = spawn.Process(target=run, args=(way, port, theirs))
        worker.start()
        found, total, stall, used = ours.recv()
        worker.join()
        print(f"| {way} | {found} | {total:.0f} | {stall:.1f} | {used:.0f} |", flush=True)
    server.terminate()


if __name__ == "__main__":
    main()
