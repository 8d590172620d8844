"""API servers for tests, as small as they can be: one that answers from a script, one that lists and watches."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kymatui.adapters.kube.auth.connection import Connection
from kymatui.adapters.kube.auth.credentials import Credential, CredentialSource
from kymatui.adapters.kube.auth.endpoint import Endpoint
from kymatui.adapters.kube.transport.transport import Transport

Json = dict[str, Any]


class Exchange:
    """One request as it came, and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler
        parts = urlsplit(handler.path)
        self.method, self.path, self.query = handler.command, parts.path, dict(parse_qsl(parts.query))
        self.headers = handler.headers
        self.body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))

    def answer(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None, *, reason: str | None = None
    ) -> None:
        self._handler.send_response(status, reason)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self._handler.send_header(name, value)
        self._handler.send_header("Content-Length", str(len(body)))
        self._handler.end_headers()
        self._handler.wfile.write(body)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Begins an answer whose body the test sends piece by piece."""
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def send(self, data: bytes) -> None:
        """Raw bytes, as they are."""
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def json(self, document: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.answer(status, json.dumps(document).encode(), headers)

    def status(self, code: int, reason: str, message: str = "", **more: Any) -> None:
        self.json(status_body(code, reason, message, **more), code)

    def begin_stream(self) -> None:
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()
        self._handler.wfile.flush()

    def event(self, kind: str, item: Mapping[str, Any]) -> None:
        line = json.dumps({"type": kind, "object": item}).encode() + b"\n"
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self._handler.wfile.flush()

    def end_stream(self) -> None:
        self._handler.wfile.write(b"0\r\n\r\n")

    def drop(self) -> None:
        """Breaks the connection without another byte."""
        self._handler.close_connection = True
        with contextlib.suppress(OSError):
            self._handler.connection.shutdown(2)


def status_body(code: int, reason: str, message: str = "", **more: Any) -> Json:
    return {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message or reason, **more}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections that tests break are no news."""


@contextlib.contextmanager
def serving(respond: Callable[[Exchange], None]) -> Iterator[str]:
    """Serves on a free port of loopback; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _respond(self) -> None:
            respond(Exchange(self))

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _respond

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def connection(
    address: str, credential: Credential | None = None, *, credentials: CredentialSource | None = None
) -> Connection:
    made = credentials or CredentialSource(lambda: credential or Credential(), name="ann", kind="a token")
    return Connection(((), "test"), "test", "", "ann", Endpoint(address), made)


def transport(address: str, **more: Any) -> Transport:
    """A transport that never really sleeps."""
    return Transport(connection(address), sleep=lambda _: None, **more)


def write_kubeconfig(folder: Path, address: str, *, token: str = "secret", namespace: str = "") -> Path:
    context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
    document = {
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": context}],
        "current-context": "test",
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(document))
    return file


class Collection:
    """The objects of one resource, with everybody who watches them."""

    def __init__(self, group: str, version: str, kind: str, plural: str, *, namespaced: bool = True) -> None:
        self.group, self.version, self.kind, self.plural, self.namespaced = group, version, kind, plural, namespaced
        self.objects: dict[tuple[str, str], Json] = {}
        self.watchers: list[queue.Queue[tuple[str, Json] | None]] = []

    @property
    def name(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


class Cluster:
    """Lists, watches (with initial events) and discovers; whoever holds it decides what goes wrong.

    `refusals` maps a resource name to a status that its requests get; `before` may answer any request by itself.
    """

    def __init__(self, *collections: Collection, streams_lists: bool = True) -> None:
        self.collections = {collection.name: collection for collection in collections}
        self.refusals: dict[str, int] = {}
        self.refused_verbs: dict[str, tuple[str, ...]] = {}
        self.streams_lists = streams_lists
        self.requests: list[str] = []
        self.before: Callable[[Exchange], bool] = lambda exchange: False
        self.aggregated = True
        self._version = 100
        self._lock = threading.RLock()

    def add(self, collection: Collection) -> None:
        with self._lock:
            self.collections[collection.name] = collection

    def remove(self, name: str) -> None:
        with self._lock:
            gone = self.collections.pop(name)
        self.end_watches(gone)

    def put(self, name: str, item: Mapping[str, Any]) -> None:
        collection = self.collections[name]
        with self._lock:
            self._version += 1
            metadata = {"resourceVersion": str(self._version), **item.get("metadata", {})}
            full = {"apiVersion": collection.api_version, "kind": collection.kind, **item, "metadata": metadata}
            key = (metadata.get("namespace", ""), metadata["name"])
            kind = "MODIFIED" if key in collection.objects else "ADDED"
            collection.objects[key] = full
            self._tell(collection, kind, full)

    def drop(self, name: str, key: tuple[str, str]) -> None:
        collection = self.collections[name]
        with self._lock:
            self._tell(collection, "DELETED", collection.objects.pop(key))

    def tell(self, name: str, kind: str, item: Json) -> None:
        """Sends an event of any kind to everybody who watches."""
        with self._lock:
            self._tell(self.collections[name], kind, item)

    def end_watches(self, collection: Collection) -> None:
        with self._lock:
            watchers, collection.watchers = collection.watchers, []
        for watcher in watchers:
            watcher.put(None)

    def close(self) -> None:
        for collection in list(self.collections.values()):
            self.end_watches(collection)

    def _tell(self, collection: Collection, kind: str, item: Json) -> None:
        for watcher in collection.watchers:
            watcher.put((kind, item))

    # answering

    def respond(self, exchange: Exchange) -> None:
        self.requests.append(f"{exchange.method} {exchange.path}{' watch' if 'watch' in exchange.query else ''}")
        if self.before(exchange):
            return
        parts = exchange.path.strip("/").split("/")
        if parts[0] == "api" and len(parts) > 1:
            parts = ["apis", "", *parts[1:]]
        has_core = "" in self._by_group()
        if exchange.path == "/apis":
            exchange.json(self._groups() if self.aggregated else self._group_list())
        elif exchange.path == "/api" and not (has_core and self.aggregated):
            exchange.json({"kind": "APIVersions", "versions": ["v1"]})
        elif exchange.path == "/api":
            exchange.json(self._groups(core=True))
        elif parts[0] == "apis" and len(parts) == 3:
            exchange.json(self._resource_list(parts[1], parts[2]))
        else:
            self._collection(exchange, parts)

    def _collection(self, exchange: Exchange, parts: Sequence[str]) -> None:
        namespace = parts[4] if len(parts) > 4 and parts[3] == "namespaces" else ""
        name = f"{parts[-1]}.{parts[1]}"
        collection = self.collections.get(name)
        verb = "watch" if "watch" in exchange.query else "list"
        refusal = self.refusals.get(name if not namespace else f"{name}/{namespace}", 0)
        if collection is None or collection.version != parts[2]:
            exchange.answer(404, b"404 page not found\n", {"Content-Type": "text/plain"})
        elif refusal and verb in self.refused_verbs.get(name, ("list", "watch")):
            reason = {403: "Forbidden", 401: "Unauthorized"}.get(refusal, "InternalError")
            exchange.status(refusal, reason, f"{name} refused")
        elif verb == "list":
            exchange.json(self._list(collection, namespace))
        elif "sendInitialEvents" in exchange.query and not self.streams_lists:
            exchange.status(422, "Invalid", "sendInitialEvents is forbidden for watch")
        else:
            self._watch(exchange, collection, namespace)

    def _list(self, collection: Collection, namespace: str) -> Json:
        with self._lock:
            items = [item for key, item in collection.objects.items() if namespace in ("", key[0])]
            return {
                "kind": f"{collection.kind}List",
                "apiVersion": collection.api_version,
                "metadata": {"resourceVersion": str(self._version)},
                "items": items,
            }

    def _watch(self, exchange: Exchange, collection: Collection, namespace: str) -> None:
        events: queue.Queue[tuple[str, Json] | None] = queue.Queue()
        with self._lock:
            initial = self._list(collection, namespace)
            collection.watchers.append(events)
        exchange.begin_stream()
        if exchange.query.get("sendInitialEvents") == "true":
            for item in initial["items"]:
                exchange.event("ADDED", item)
            exchange.event("BOOKMARK", bookmark(initial["metadata"]["resourceVersion"], end=True))
        while (event := events.get()) is not None:
            if event[0] == "DROP":
                exchange.drop()
                return
            exchange.event(*event)
        exchange.end_stream()

    def _groups(self, *, core: bool = False) -> Json:
        items = [
            {
                "metadata": {"name": group},
                "versions": [
                    {"version": version, "resources": [_aggregated(found) for found in collections]}
                    for version, collections in versions.items()
                ],
            }
            for group, versions in self._by_group().items()
            if (group == "") is core
        ]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}

    def _group_list(self) -> Json:
        groups = [
            {
                "name": group,
                "versions": [{"version": v} for v in versions],
                "preferredVersion": {"version": next(iter(versions))},
            }
            for group, versions in self._by_group().items()
            if group
        ]
        return {"kind": "APIGroupList", "groups": groups}

    def _resource_list(self, group: str, version: str) -> Json:
        found = self._by_group().get(group, {}).get(version, [])
        verbs = ["get", "list", "watch"]
        resources = [{"name": c.plural, "kind": c.kind, "namespaced": c.namespaced, "verbs": verbs} for c in found]
        return {"kind": "APIResourceList", "groupVersion": f"{group}/{version}", "resources": resources}

    def _by_group(self) -> dict[str, dict[str, list[Collection]]]:
        found: dict[str, dict[str, list[Collection]]] = {}
        with self._lock:
            for collection in self.collections.values():
                found.setdefault(collection.group, {}).setdefault(collection.version, []).append(collection)
        return found


def _aggregated(collection: Collection) -> Json:
    return {
        "resource": collection.plural,
        "responseKind": {"group": collection.group, "version": collection.version, "kind": collection.kind},
        "scope": "Namespaced" if collection.namespaced else "Cluster",
        "verbs": ["get", "list", "watch"],
    }


def bookmark(version: str, *, end: bool = False) -> Json:
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if end else {}
    return {"kind": "X", "apiVersion": "v1", "metadata": {"resourceVersion": version, **annotations}}


def eventually(holds: Callable[[], bool], timeout: float = 60.0) -> None:
    """Waits until something that threads do has happened."""
    import time

    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)
