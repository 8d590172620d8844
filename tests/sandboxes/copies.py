"""What a copy of the template serves: an empty sandbox, or the sample world as it was told to the end once."""

from __future__ import annotations

import asyncio
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
    prepare,
    start_servers,
    wait_until_at_rest,
    write_private,
)
from kymatui.sandbox.world.story.world_population import SampleWorld, populate
from tests.sandboxes.forking import fork
from tests.sandboxes.resting import RestingClock

VIEWER_TOKEN = "viewer"
_PORT = 6443  # of a control plane that has no address yet


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
    """The sample world on one cluster `kcp`, at rest. Its registry is common to all copies, for nobody pushes to it."""

    def __init__(self) -> None:
        gc.set_threshold(*GC_THRESHOLDS)
        self._clock = RestingClock()
        self._cluster = SandboxCluster("kcp", make_serving_certificate(), standard_semantics, VIEWER_TOKEN)
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen(128)
            self._registry = SandboxRegistry(port=listening.getsockname()[1])
            asyncio.run(self._tell())
            gc.collect()
            gc.freeze()
            self._serving = fork(lambda: asyncio.run(_serve_registry(self._registry, listening)))

    def serve(self, asked: dict[str, Any], connection: socket.socket) -> None:
        """Serves a copy of the world until the connection ends."""
        asyncio.run(self._serve(Path(asked["kubeconfig"]), connection))

    def close(self) -> None:
        os.kill(self._serving, signal.SIGTERM)

    async def _tell(self) -> None:
        async with self._living():
            self._cluster.begin(self._clock, _PORT)
            world: SampleWorld = populate(self._cluster.controllers, self._registry)
            await wait_until_at_rest(world)

    async def _serve(self, kubeconfig: Path, connection: socket.socket) -> None:
        async with self._living():
            await self._cluster.listen()
            await _answer(kubeconfig, [self._cluster], self._registry, connection)
            await self._cluster.stop()

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
