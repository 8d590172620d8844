"""Thousands of runtimes in one process: /runtimes/NAME is a cluster that stores what it is sent, and nothing more.

    python -m tests.benchmarks.stub_runtimes        # prints its address; ends with its standard input

It has discovery, get, list, watch, create, update, patch (apply and merge alike) and delete, without schemas, conflicts
or controllers; Deployments run at once. GET /requests answers with the number of requests by method and of watches.
"""

from __future__ import annotations

import itertools
import queue
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

Json = dict[str, Any]
KINDS: Final = (
    ("", "v1", "namespaces", "Namespace", False),
    ("", "v1", "configmaps", "ConfigMap", True),
    ("", "v1", "serviceaccounts", "ServiceAccount", True),
    ("", "v1", "pods", "Pod", True),
    ("", "v1", "secrets", "Secret", True),
    ("apps", "v1", "deployments", "Deployment", True),
    ("apps", "v1", "statefulsets", "StatefulSet", True),
    ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False),
    ("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False),
    ("operator.kyma-project.io", "v1beta2", "kymas", "Kyma", True),
    ("operator.kyma-project.io", "v1beta2", "moduletemplates", "ModuleTemplate", True),
    ("operator.kyma-project.io", "v1beta2", "modulereleasemetas", "ModuleReleaseMeta", True),
)
_VERBS: Final = ["create", "delete", "get", "list", "patch", "update", "watch"]
_END: Final = {"k8s.io/initial-events-end": "true"}


class Runtime:
    """The objects of one runtime by resource path, namespace and name."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], bytes] = {}
        self.watches: list[tuple[str, queue.Queue[bytes]]] = []


class Runtimes:
    """All runtimes; thread-safe by one lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.versions = itertools.count(1)
        self.counts: Counter[str] = Counter()
        self._known: dict[str, Runtime] = {}

    def of(self, name: str) -> Runtime:
        return self._known.setdefault(name, Runtime())


WORLD = Runtimes()


def discovery(core: bool) -> bytes:
    groups: dict[str, dict[str, list[Json]]] = {}
    for group, version, plural, kind, namespaced in KINDS:
        if (group == "") == core:
            resource = {
                "resource": plural,
                "scope": "Namespaced" if namespaced else "Cluster",
                "responseKind": {"group": group, "version": version, "kind": kind},
                "verbs": _VERBS,
                "singularResource": kind.lower(),
                "subresources": [{"subresource": "status", "verbs": ["get", "patch", "update"]}],
            }
            groups.setdefault(group, {}).setdefault(version, []).append(resource)
    items = [
        {"metadata": {"name": group}, "versions": [{"version": v, "resources": found} for v, found in versions.items()]}
        for group, versions in groups.items()
    ]
    return msgspec.json.encode(
        {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}
    )


def resource_list(group: str, version: str) -> bytes:
    """Return the resources of one version, as clients without aggregated discovery read them."""
    resources: list[Json] = []
    for of, at, plural, kind, namespaced in KINDS:
        if (of, at) == (group, version):
            entry = {"name": plural, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind}
            resources += [{**entry, "verbs": _VERBS}, {**entry, "name": f"{plural}/status", "verbs": ["get", "patch"]}]
    name = f"{group}/{version}".lstrip("/")
    return msgspec.json.encode(
        {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}
    )


class Place:
    """A request's path: its resource, namespace, name and whether it is about the status."""

    def __init__(self, parts: list[str]) -> None:
        self.core = parts[0] == "api"
        rest = parts[2:] if self.core else parts[3:]
        self.group = "/".join(parts[: len(parts) - len(rest)])
        self.namespace = rest[1] if rest[0] == "namespaces" and len(rest) > 2 else ""
        rest = rest[2:] if self.namespace else rest
        self.plural = rest[0]
        self.name = rest[1] if len(rest) > 1 else ""
        self.status = len(rest) > 2
        self.resource = f"{self.group}/{self.plural}"


def merged(old: Any, new: Any) -> Any:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    found = {**old, **{key: merged(old.get(key), value) for key, value in new.items()}}
    return {key: value for key, value in found.items() if value is not None}


def _running(generation: int) -> Json:
    """Return the status of a Deployment whose Pods run."""
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
    reasons = {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
    conditions = [{"type": kind, "status": "True", "reason": reason} for kind, reason in reasons.items()]
    return {**counts, "observedGeneration": generation, "conditions": conditions}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *given: Any) -> None: ...

    def do_GET(self) -> None:
        parts, query = self._asked()
        if parts == ["requests"]:
            return self._send(200, msgspec.json.encode(dict(WORLD.counts)))
        if parts[2] == "version":
            return self._send(200, b'{"gitVersion":"v1.34.0"}')
        if len(parts) == 3:
            return self._send(
                200,
                discovery(parts[2] == "api"),
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            )
        if len(parts) == (4 if parts[2] == "api" else 5):
            return self._send(200, resource_list(*(["", parts[3]] if parts[2] == "api" else parts[3:])))
        place, runtime = Place(parts[2:]), self._runtime(parts)
        WORLD.counts["WATCH" if "watch" in query else "GET"] += 1
        if "watch" in query:
            return self._watch(runtime, place, query)
        if place.name:
            found = runtime.objects.get((place.resource, place.namespace, place.name))
            return self._send(200, found) if found is not None else self._missing(place)
        items = b",".join(self._listed(runtime, place))
        version = str(next(WORLD.versions)).encode()
        group, at, kind = next((one[0], one[1], one[3]) for one in KINDS if one[2] == place.plural)
        head = f'{{"kind":"{kind}List","apiVersion":"{f"{group}/{at}".lstrip("/")}","metadata":'
        self._send(200, head.encode() + b'{"resourceVersion":"' + version + b'"},"items":[' + items + b"]}")
        return None

    def do_POST(self) -> None:
        self._write(create=True)

    def do_PUT(self) -> None:
        self._write()

    def do_PATCH(self) -> None:
        self._write()

    def do_DELETE(self) -> None:
        parts, _ = self._asked()
        self._body()
        WORLD.counts["DELETE"] += 1
        place, runtime = Place(parts[2:]), self._runtime(parts)
        with WORLD.lock:
            found = runtime.objects.pop((place.resource, place.namespace, place.name), None)
        self._send(200, b'{"kind":"Status","status":"Success"}') if found is not None else self._missing(place)

    def _write(self, *, create: bool = False) -> None:
        parts, _ = self._asked()
        body = msgspec.json.decode(self._body())
        WORLD.counts[self.command] += 1
        place, runtime = Place(parts[2:]), self._runtime(parts)
        name = place.name or body["metadata"]["name"]
        key = (place.resource, place.namespace, name)
        with WORLD.lock:
            before = runtime.objects.get(key)
            old = msgspec.json.decode(before) if before is not None else {}
            made = merged(old, body)
            version = str(next(WORLD.versions))
            metadata = {"uid": version, "creationTimestamp": "2026-01-01T00:00:00Z", **made.get("metadata", {})}
            generation = old.get("metadata", {}).get("generation", 0) + (made.get("spec") != old.get("spec"))
            made["metadata"] = {**metadata, "resourceVersion": version, "generation": generation or 1}
            if place.plural == "deployments":
                made["status"] = _running(made["metadata"]["generation"])
            found = runtime.objects[key] = msgspec.json.encode(made)
            for resource, events in runtime.watches:
                if resource == place.resource:
                    events.put(found)
        self._send(201 if create else 200, found)

    def _watch(self, runtime: Runtime, place: Place, query: dict[str, list[str]]) -> None:
        events: queue.Queue[bytes] = queue.Queue()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with WORLD.lock:
            runtime.watches.append((place.resource, events))
            first = self._listed(runtime, place) if "sendInitialEvents" in query else None
        try:
            for one in first or ():
                self._event(b"ADDED", one)
            if first is not None:
                metadata = {"resourceVersion": str(next(WORLD.versions)), "annotations": _END}
                self._event(b"BOOKMARK", msgspec.json.encode({"kind": "x", "apiVersion": "v1", "metadata": metadata}))
            seconds = float(query.get("timeoutSeconds", ["60"])[0])
            while True:
                self._event(b"MODIFIED", events.get(timeout=seconds))
        except (queue.Empty, OSError):
            self.close_connection = True
        finally:
            with WORLD.lock:
                runtime.watches.remove((place.resource, events))
        if not self.close_connection:
            self.wfile.write(b"0\r\n\r\n")

    def _event(self, kind: bytes, found: bytes) -> None:
        line = b'{"type":"' + kind + b'","object":' + found + b"}\n"
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _listed(self, runtime: Runtime, place: Place) -> list[bytes]:
        return [
            found
            for (resource, namespace, _), found in list(runtime.objects.items())
            if resource == place.resource and place.namespace in ("", namespace)
        ]

    def _asked(self) -> tuple[list[str], dict[str, list[str]]]:
        split = urlsplit(self.path)
        return split.path.strip("/").split("/"), parse_qs(split.query)

    def _runtime(self, parts: list[str]) -> Runtime:
        with WORLD.lock:
            return WORLD.of(parts[1])

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _missing(self, place: Place) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        details = {"name": place.name, "kind": place.plural}
        self._send(404, msgspec.json.encode({**status, "message": f"{place.name} not found", "details": details}))

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def main() -> None:
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
