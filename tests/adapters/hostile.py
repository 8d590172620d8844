"""An API server that means harm, and how much memory a command takes that asks it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from tests.adapters.clusters import Exchange, write_kubeconfig

Json = dict[str, Any]
KINDS = (
    ("operator.kyma-project.io", "v1beta2", "Kyma", "kymas", True),
    ("operator.kyma-project.io", "v1beta2", "ModuleTemplate", "moduletemplates", True),
    ("operator.kyma-project.io", "v1beta2", "ModuleReleaseMeta", "modulereleasemetas", True),
    ("operator.kyma-project.io", "v1beta2", "Manifest", "manifests", True),
    ("apps", "v1", "Deployment", "deployments", True),
    ("apps", "v1", "StatefulSet", "statefulsets", True),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False),
)
CORE = (("", "v1", "Secret", "secrets", True), ("", "v1", "ConfigMap", "configmaps", True))
VERBS = ["get", "list", "watch", "create", "patch", "update", "delete"]


def discovery(core: bool) -> Json:
    """Everything that there is to ask for."""
    groups: dict[str, dict[str, list[Json]]] = {}
    for group, version, kind, plural, namespaced in CORE if core else KINDS:
        groups.setdefault(group, {}).setdefault(version, []).append(
            {
                "resource": plural,
                "responseKind": {"group": group, "version": version, "kind": kind},
                "scope": "Namespaced" if namespaced else "Cluster",
                "verbs": VERBS,
            }
        )
    items = [
        {"metadata": {"name": group}, "versions": [{"version": name, "resources": found} for name, found in by.items()]}
        for group, by in groups.items()
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}


def kind_of(path: str) -> tuple[str, str]:
    """The kind and the apiVersion of a collection's path."""
    for group, version, kind, plural, _ in (*KINDS, *CORE):
        if path.rstrip("/").endswith(f"/{plural}"):
            return kind, f"{group}/{version}".lstrip("/")
    return "Thing", "v1"


def listing(path: str, items: Sequence[Json] = (), token: str = "") -> Json:
    kind, version = kind_of(path)
    metadata = {"resourceVersion": "1", **({"continue": token} if token else {})}
    return {"kind": f"{kind}List", "apiVersion": version, "metadata": metadata, "items": list(items)}


def thing(path: str, name: str = "a", **more: Any) -> Json:
    kind, version = kind_of(path)
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "kyma-system"}, **more}


Attack = Callable[[Exchange], None]


def answered(exchange: Exchange, attack: Attack) -> None:
    """Discovery is honest, so that the attack is reached; it is for whatever comes then."""
    if exchange.path in ("/api", "/apis"):
        exchange.json(discovery(exchange.path == "/api"))
    elif exchange.path == "/version":
        exchange.json({"gitVersion": "v1.36.0"})
    else:
        attack(exchange)


def packed_list(exchange: Exchange, size: int = 120 << 20) -> None:
    """A few hundred kilobytes that become 120 MB."""
    if "watch" in exchange.query:
        exchange.status(422, "Invalid", "sendInitialEvents is forbidden for watch")
        return
    exchange.answer(200, _packed(exchange.path, size), {"Content-Encoding": "gzip"})


def packed_objects(exchange: Exchange) -> None:
    """What is small as text, and large as objects."""
    if "watch" in exchange.query:
        exchange.status(422, "Invalid", "sendInitialEvents is forbidden for watch")
        return
    empty = b'{"metadata":{"name":"a","namespace":"b"},"spec":[' + b"{}," * 3_500_000 + b"{}]}"
    head = json.dumps(listing(exchange.path)).encode().removesuffix(b"]}")
    exchange.answer(200, gzip.compress(head + empty + b"]}", 1), {"Content-Encoding": "gzip"})


_tokens = count()


def endless_list(exchange: Exchange) -> None:
    """Always one page more."""
    if "watch" in exchange.query:
        exchange.status(422, "Invalid", "sendInitialEvents is forbidden for watch")
        return
    number = next(_tokens)
    items = [thing(exchange.path, f"a{number}-{one}", spec={"text": "x" * 5000}) for one in range(20)]
    exchange.json(listing(exchange.path, items, f"token-{number}"))


def repeated_token(exchange: Exchange) -> None:
    if "watch" in exchange.query:
        exchange.status(422, "Invalid", "sendInitialEvents is forbidden for watch")
        return
    exchange.json(listing(exchange.path, [thing(exchange.path)], "again"))


def large_object(exchange: Exchange, size: int = 100 << 20) -> None:
    """In a list, in a watch, by itself."""
    if "watch" in exchange.query:
        endless_line(exchange)
        return
    head = json.dumps(listing(exchange.path)).encode().removesuffix(b"]}")
    body = json.dumps(thing(exchange.path, spec={"text": ""})).encode().replace(b'"text": ""', b'"text": "%s"')
    exchange.answer(200, head + body % (b"x" * size) + b"]}")


def endless_line(exchange: Exchange) -> None:
    """One event without end."""
    if "watch" not in exchange.query:
        exchange.json(listing(exchange.path))
        return
    exchange.begin_stream()
    head = b'{"type":"ADDED","object":{"metadata":{"name":"'
    exchange.send(b"%x\r\n%s\r\n" % (len(head), head))
    piece = b"%x\r\n%s\r\n" % (1 << 20, b"x" * (1 << 20))
    for _ in range(400):
        exchange.send(piece)


def endless_events(exchange: Exchange) -> None:
    """Objects without end, each of them small."""
    if "watch" not in exchange.query:
        exchange.json(listing(exchange.path))
        return
    exchange.begin_stream()
    for number in count():
        exchange.event("ADDED", thing(exchange.path, f"a{number}", spec={"text": "x" * 20_000}))


def packed_error(exchange: Exchange) -> None:
    exchange.answer(500, _packed(exchange.path, 120 << 20), {"Content-Encoding": "gzip"})


def deep_object(exchange: Exchange) -> None:
    if "watch" in exchange.query:
        exchange.status(422, "Invalid", "sendInitialEvents is forbidden for watch")
        return
    head = json.dumps(listing(exchange.path)).encode().removesuffix(b"]}")
    deep = b'{"metadata":{"name":"a","namespace":"b"},"spec":' + b"[" * 900 + b"]" * 900 + b"}"
    exchange.answer(200, head + deep + b"]}")


def packed_twice(exchange: Exchange) -> None:
    body = gzip.compress(_packed(exchange.path, 120 << 20))
    exchange.answer(200, body, {"Content-Encoding": "gzip, gzip"})


_making = threading.Lock()
_made: dict[tuple[str, int], bytes] = {}


def _packed(path: str, size: int) -> bytes:
    with _making:
        return _pack(path, size)


def _pack(path: str, size: int) -> bytes:
    if (path, size) not in _made:
        packer = zlib.compressobj(1, wbits=31)
        head = json.dumps(listing(path)).encode().removesuffix(b"]}")
        parts = [packer.compress(head + b'{"metadata":{"name":"a","namespace":"b"},"spec":[')]
        piece = b"[],{}," * 200_000
        parts += [packer.compress(piece) for _ in range(size // len(piece))]
        _made[path, size] = b"".join([*parts, packer.compress(b"0]}]}"), packer.flush()])
    return _made[path, size]


ATTACKS: dict[str, Attack] = {
    found.__name__: found
    for found in (
        packed_list,
        packed_objects,
        endless_list,
        repeated_token,
        large_object,
        endless_line,
        endless_events,
        packed_error,
        packed_twice,
        deep_object,
    )
}


@dataclass(frozen=True, slots=True)
class Run:
    """How a command ended, and the most memory it had, in MB."""

    exit_code: int
    errors: str
    memory: int
    seconds: float


def run_against(
    address: str, folder: Path, words: Sequence[str], timeout: float = 60.0, module: str = "kymatui"
) -> Run:
    """Runs a command in a process of its own, and kills it when it takes too long."""
    config = write_kubeconfig(folder, address)
    environment = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder), "KUBECONFIG": str(config)}
    began, memory = time.monotonic(), 0
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words], env=environment, stdout=subprocess.DEVNULL, stderr=errors
        )
        while process.poll() is None:
            memory = max(memory, peak_memory(process.pid))
            if time.monotonic() - began > timeout:
                process.kill()
            time.sleep(0.02)
    text = (folder / "errors").read_text(errors="replace")
    return Run(process.returncode, text, memory, time.monotonic() - began)


def peak_memory(pid: int) -> int:
    """The most memory that a process has had, in MB (what `wait4` says has the memory of its parent in it)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(found[0]) // 1024 if found else 0
