"""`kymatui sandbox up`: clusters and a registry, from the first socket to the last."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kymatui.errors import ConfigurationError
from kymatui.sandbox.apiserver.certificates import make_serving_certificate
from kymatui.sandbox.apiserver.kubeconfig import kubeconfig_text, write_private
from kymatui.sandbox.apiserver.meanings import standard_meaning
from kymatui.sandbox.cluster import Cluster, stop_all
from kymatui.sandbox.process import follow_parent
from kymatui.sandbox.registry.server import Registry
from kymatui.sandbox.world.populating import World, populate
from kymatui.sandbox.world.remote import RuntimeCluster, populate_remote

_GC_THRESHOLDS = (50_000, 50, 100)
"""Most of what lives is reachable for good: the collector need not look at it after every few hundred requests."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to serve; the second cluster listens on the port behind the first one's, where that is given."""

    kubeconfig: Path
    clusters: Sequence[str] = ("kcp",)
    port: int = 0
    viewer_token: str = ""
    empty: bool = False


def serve(wanted: Wanted) -> int:
    """Serves until SIGINT or SIGTERM; prints `ready` when everything answers. Returns the exit status."""
    gc.set_threshold(*_GC_THRESHOLDS)
    follow_parent()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(wanted))
    return 0


async def _serve(wanted: Wanted) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows has no such handlers; Ctrl-C raises there
            loop.add_signal_handler(number, stopped.set)
    async with _started(wanted) as (clusters, registry):
        endpoints = [cluster.endpoint for cluster in clusters]
        write_private(wanted.kubeconfig, kubeconfig_text(endpoints, registry.address))
        print("ready", flush=True)
        await stopped.wait()


@contextlib.asynccontextmanager
async def _started(wanted: Wanted) -> AsyncIterator[tuple[list[Cluster], Registry]]:
    certificate = make_serving_certificate()
    registry = Registry()
    world: World | None = None
    clusters: list[Cluster] = []
    try:
        for offset, name in enumerate(wanted.clusters):
            cluster = Cluster(name, certificate, standard_meaning, wanted.viewer_token)
            await _start(cluster, wanted.port + offset if wanted.port else 0)
            clusters.append(cluster)
        await registry.start()
        if not wanted.empty:
            world = _populate(clusters, registry)
        yield clusters, registry
    finally:
        if world is not None:
            world.stop()
        await stop_all(clusters)
        await registry.stop()


def _populate(clusters: Sequence[Cluster], registry: Registry) -> World:
    """The sample world: the first cluster is the control plane, the others are its runtimes."""
    control, *runtimes = clusters
    if not runtimes:
        return populate(control.controllers, registry)
    found = {
        cluster.name: RuntimeCluster(cluster.controllers, kubeconfig_text([cluster.endpoint])) for cluster in runtimes
    }
    return populate_remote(control.controllers, found, registry)


async def _start(cluster: Cluster, port: int) -> None:
    try:
        await cluster.start(port)
    except OSError as error:
        raise ConfigurationError(
            f"port {port} of 127.0.0.1 cannot be used: {error.strerror or error}",
            hint="leave --port out for a free one",
        ) from error
