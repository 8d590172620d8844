"""How the sandbox bears a large control plane: 5,000 Kymas and 25,000 Manifests over HTTP, pages of 500, memory.

python tests/benchmarks/bench_sandbox.py [KYMAS]
"""

from __future__ import annotations

import asyncio
import ssl
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import yaml

from kymatui.crds import read_crds
from kymatui.sandbox.sandbox_process import RunningSandbox, start_sandbox

PADDING = {f"field{number}": "x" * 40 for number in range(30)}
KYMA = "operator.kyma-project.io"
MANIFESTS_OF_ONE = 5
CLIENTS = 8


def manifest(name: str) -> dict[str, Any]:
    """About 3 KB, as a real one is."""
    return {
        "apiVersion": f"{KYMA}/v1beta2",
        "kind": "Manifest",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {f"{KYMA}/kyma-name": name.rsplit("-", 1)[0], f"{KYMA}/module-name": "istio"},
            "annotations": {f"{KYMA}/padding": msgspec.json.encode(PADDING).decode()},
        },
        "spec": {
            "remote": True,
            "version": "1.2.3",
            "install": {
                "name": "raw",
                "source": {"name": "istio", "repo": "registry.example", "type": "oci-ref", "ref": "sha256:" + "0" * 64},
            },
        },
    }


def kyma(name: str) -> dict[str, Any]:
    modules = [{"name": module, "channel": "regular"} for module in ("istio", "nats", "eventing", "serverless", "keda")]
    return {
        "apiVersion": f"{KYMA}/v1beta2",
        "kind": "Kyma",
        "metadata": {"name": name, "namespace": "default", "labels": {f"{KYMA}/managed-by": "lifecycle-manager"}},
        "spec": {"channel": "regular", "modules": modules},
    }


class Client:
    """Requests over a few kept connections."""

    def __init__(self, sandbox: RunningSandbox, session: aiohttp.ClientSession) -> None:
        config = yaml.safe_load(sandbox.kubeconfig.read_text())
        self._url = config["clusters"][0]["cluster"]["server"]
        self._headers = {
            "Authorization": f"Bearer {config['users'][0]['user']['token']}",
            "Content-Type": "application/json",
        }
        self._session = session

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        data = msgspec.json.encode(body) if body is not None else None
        async with self._session.request(method, self._url + path, data=data, headers=self._headers) as response:
            return response.status, await response.read()


async def fill(client: Client, path: str, objects: list[dict[str, Any]]) -> float:
    started = time.perf_counter()
    waiting = iter(objects)

    async def work() -> None:
        for obj in waiting:
            status, body = await client.ask("POST", path, obj)
            if status != 201:
                raise SystemExit(f"{status}: {body[:300]!r}")

    await asyncio.gather(*(work() for _ in range(CLIENTS)))
    return time.perf_counter() - started


async def pages(client: Client, path: str) -> list[float]:
    times: list[float] = []
    token = ""
    while True:
        started = time.perf_counter()
        _, body = await client.ask("GET", f"{path}?limit=500&continue={token}")
        times.append((time.perf_counter() - started) * 1000)
        token = msgspec.json.decode(body)["metadata"].get("continue", "")
        if not token:
            return times


def memory(pid: int) -> int:
    """Resident megabytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) // 1024


async def measure(sandbox: RunningSandbox, count: int) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=ssl._create_unverified_context())) as session:
        client = Client(sandbox, session)
        for definition in read_crds():
            await client.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        await asyncio.sleep(1)
        base = f"/apis/{KYMA}/v1beta2/namespaces/default"
        names = [f"kyma-{number:05}" for number in range(count)]
        kymas = await fill(client, f"{base}/kymas", [kyma(name) for name in names])
        parts = [manifest(f"{name}-{number}") for name in names for number in range(MANIFESTS_OF_ONE)]
        manifests = await fill(client, f"{base}/manifests", parts)
        times = await pages(client, f"{base}/manifests")
    print(f"{count} Kymas in {kymas:.1f} s, {len(parts)} Manifests in {manifests:.1f} s")
    print(f"page of 500: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")
    print(f"memory {memory(sandbox.process.pid)} MB")


def main() -> None:
    with start_sandbox(empty=True) as sandbox:
        asyncio.run(measure(sandbox, int(sys.argv[1]) if len(sys.argv) > 1 else 5000))


if __name__ == "__main__":
    main()
