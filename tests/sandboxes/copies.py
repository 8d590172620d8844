"""What a copy of the template serves: an empty sandbox, or the sample world as it was told to the end once."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from kymatui.sandbox.apiserver.http.http_server import make_serving_certificate
from kymatui.sandbox.apiserver.server.server_semantics import standard_semantics
from kymatui.sandbox.registry.registry_server import SandboxRegistry
from kymatui.sandbox.sandbox_server import (
    GC_THRESHOLDS,
    SandboxCluster,
    SandboxOptions,
    kubeconfig_text,
    populate_clusters,
    prepare,
    start_servers,
    stop_all,
    wait_until_at_rest,
    write_private,
)
from tests.sandboxes.forking import fork
from tests.sandboxes.resting import RestingClock

VIEWER_TOKEN = "viewer"
_PORT = 6443  # of the first cluster before it has an address


def warm() -> None:
    """Starts a sandbox once, which reads definitions and schemas; copies of this process need not."""

    async def once() -> None:
        async with start_servers(SandboxOptions(Path(), ("warm",), empty=True)):
            pass

    asyncio.run(once())
    logging.getLogger("aiohttp").disabled = True  # it has much to say of connections that are dropped on demand
    logging.getLogger("aiohttp.server").disabled = True
    gc.collect()
    gc.freeze()  # what is there is never looked at again, so copies share its memory


def serve_fresh(asked: dict[str, Any], connection: socket.socket) -> None:
    """Serves what `kymatui sandbox up` would, until the connection ends."""
    wanted = SandboxOptions(
        Path(asked["kubeconfig"]),
        asked["clusters"],
        viewer_token=asked["viewer_token"],
        empty=asked["empty"],
        settled=asked["settled"],
        fleet=asked["fleet"],
    )
    asyncio.run(_serve_fresh(wanted, connection))


async def _serve_fresh(wanted: SandboxOptions, connection: socket.socket) -> None:
    gc.set_threshold(*GC_THRESHOLDS)
    async with start_servers(wanted) as served:
        await prepare(wanted, served, print)
        await _answer(wanted.kubeconfig, served.clusters, served.registry, connection)


async def _answer(
    kubeconfig: Path, clusters: Sequence[SandboxCluster], registry: SandboxRegistry, connection: socket.socket
) -> None:
    write_private(kubeconfig, kubeconfig_text([cluster.endpoint for cluster in clusters], registry.address))
    connection.sendall(f"ready {registry.address}\n".encode())
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(connection.fileno(), ended.set)
    await ended.wait()
    loop.remove_reader(connection.fileno())


class TellingTemplate:
    """The sample world on some clusters, at rest. Its registry is common to all copies, for nobody pushes to it."""

    def __init__(self, clusters: Sequence[str], fleet: int | None) -> None:
        gc.set_threshold(*GC_THRESHOLDS)
        self._clock = RestingClock()
        certificate = make_serving_certificate()
        self._clusters = [SandboxCluster(name, certificate, standard_semantics, VIEWER_TOKEN) for name in clusters]
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen(128)
            self._registry = SandboxRegistry(port=listening.getsockname()[1])
            asyncio.run(self._tell(fleet))
            gc.collect()
            gc.freeze()
            self._serving = fork(lambda: asyncio.run(_serve_registry(self._registry, listening)))

    def serve(self, asked: dict[str, Any], connection: socket.socket) -> None:
        """Serves a copy of the world until the connection ends."""
        asyncio.run(self._serve(Path(asked["kubeconfig"]), connection))

    def close(self) -> None:
        os.kill(self._serving, signal.SIGTERM)

    async def _tell(self, fleet: int | None) -> None:
        async with self._living():
            for number, cluster in enumerate(self._clusters):
                cluster.begin(self._clock, _PORT + number)
            await wait_until_at_rest(populate_clusters(self._clusters, self._registry, fleet))

    async def _serve(self, kubeconfig: Path, connection: socket.socket) -> None:
        async with self._living():
            told = [cluster.endpoint.url for cluster in self._clusters]
            for cluster in self._clusters:
                await cluster.listen()
            self._move(told)
            await _answer(kubeconfig, self._clusters, self._registry, connection)
            await stop_all(self._clusters)

    def _move(self, told: Sequence[str]) -> None:
        """Give the access Secrets of the control plane the addresses of this copy."""
        client = self._clusters[0].server.client
        for secret in client.list("secrets") if told[1:] else ():
            for key, value in secret.get("data", {}).items():
                before = base64.b64decode(value).decode(errors="replace")
                moved = before
                for url, cluster in zip(told, self._clusters, strict=True):
                    moved = moved.replace(url, cluster.endpoint.url)
                if moved != before:
                    data = {key: base64.b64encode(moved.encode()).decode()}
                    meta = secret["metadata"]
                    client.patch("secrets", meta["name"], {"data": data}, namespace=meta["namespace"])

    @contextlib.asynccontextmanager
    async def _living(self) -> AsyncIterator[None]:
        self._clock.attach(asyncio.get_running_loop())
        try:
            yield
        finally:
            self._clock.detach()


async def _serve_registry(registry: SandboxRegistry, listening: socket.socket) -> None:
    await registry.start(listening)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await registry.stop()
