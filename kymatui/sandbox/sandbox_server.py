"""`kymatui sandbox up`: serves clusters and a registry until a signal."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import secrets
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.errors import ClusterError, ConfigurationError
from kymatui.own_files import write_file
from kymatui.sandbox.apimachinery.clock import LoopClock, SandboxClock
from kymatui.sandbox.apiserver.http.http_server import (
    HttpServer,
    ServingCertificate,
    make_serving_certificate,
    server_context,
)
from kymatui.sandbox.apiserver.server.api_server import ApiServer, ServerSemantics
from kymatui.sandbox.apiserver.server.server_semantics import standard_semantics
from kymatui.sandbox.controllers.controller_manager import ControllerManager
from kymatui.sandbox.registry.registry_server import SandboxRegistry
from kymatui.sandbox.sandbox_process import follow_parent
from kymatui.sandbox.world.story.file_loader import load
from kymatui.sandbox.world.story.remote_world import RuntimeCluster, populate_remote
from kymatui.sandbox.world.story.world_population import SampleWorld, populate

# A running sandbox cluster: API server, socket and controllers on one event loop.


ADDRESS = "127.0.0.1"


class SandboxCluster(Struct):
    """One named cluster; call `start` first."""

    name: str
    certificate: ServingCertificate
    meaning: Callable[[SandboxClock], ServerSemantics]
    viewer_token: str = ""
    admin_token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    _server: ApiServer | None = None
    _carrier: HttpServer | None = None
    _controllers: ControllerManager | None = None
    _port: int = 0

    async def start(self, port: int = 0) -> None:
        """Listen and run the controllers; port 0 picks a free one. Raise OSError if the port is in use."""
        server = self._build(LoopClock(asyncio.get_running_loop()))
        self._begin(server, await self.listen(port))

    def begin(self, clock: SandboxClock, port: int) -> None:
        """Run with the caller's clock without listening; `port` is only advertised.

        A cluster in this state can be copied by a fork before it listens.
        """
        self._begin(self._build(clock), port)

    async def listen(self, port: int = 0) -> int:
        """Listen and return the port. Raise OSError if it is in use."""
        server = self.server
        carrier = HttpServer(
            server.requests.noting(server.api.handle), server.faults, tls=server_context(self.certificate)
        )
        await carrier.start(ADDRESS, port)
        self._carrier, self._port = carrier, carrier.port
        return carrier.port

    def _build(self, clock: SandboxClock) -> ApiServer:
        self._server = ApiServer(
            clock, self.meaning(clock), admin_token=self.admin_token, viewer_token=self.viewer_token
        )
        return self._server

    def _begin(self, server: ApiServer, port: int) -> None:
        self._port = port
        server.bootstrap(port)
        self._controllers = ControllerManager(
            server.client,
            server.store,
            root_ca=self.certificate.authority.decode(),
            is_busy=server.requests.has_news,
            kind_is_served=lambda api_version, kind: server.catalog.by_kind(api_version, kind) is not None,
        )
        self._controllers.start()

    async def stop(self) -> None:
        if self._controllers is not None:
            self._controllers.stop()
        if self._carrier is not None:
            await self._carrier.stop()

    @property
    def controllers(self) -> ControllerManager:
        if self._controllers is None:
            raise RuntimeError(f"cluster {self.name} is not started")
        return self._controllers

    @property
    def server(self) -> ApiServer:
        if self._server is None:
            raise RuntimeError(f"cluster {self.name} is not started")
        return self._server

    @property
    def endpoint(self) -> ServerEndpoint:
        """Return the address; before `listen`, the one that `begin` advertises."""
        if not self._port:
            raise RuntimeError(f"cluster {self.name} is not started")
        url = f"https://{ADDRESS}:{self._port}"
        return ServerEndpoint(self.name, url, self.certificate.authority, self.admin_token)


async def stop_all(clusters: Sequence[SandboxCluster]) -> None:
    await asyncio.gather(*(cluster.stop() for cluster in clusters))


# The kubeconfig of a sandbox: one context per cluster.


class ServerEndpoint(Struct, frozen=True):
    """One cluster of the file; `name` is the name of its cluster, user and context."""

    name: str
    url: str
    authority: bytes
    token: str


EXTENSION = "kymatui.io/sandbox"


def kubeconfig_text(endpoints: Sequence[ServerEndpoint], registry: str = "") -> str:
    """Return the kubeconfig; the first endpoint is the current context.

    `registry` goes into an extension that other tools ignore.
    """
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": endpoint.name,
                "cluster": {
                    "server": endpoint.url,
                    "certificate-authority-data": base64.b64encode(endpoint.authority).decode(),
                },
            }
            for endpoint in endpoints
        ],
        "users": [{"name": endpoint.name, "user": {"token": endpoint.token}} for endpoint in endpoints],
        "contexts": [
            {"name": endpoint.name, "context": {"cluster": endpoint.name, "user": endpoint.name}}
            for endpoint in endpoints
        ],
        "current-context": endpoints[0].name,
    }
    if registry:
        document["extensions"] = [{"name": EXTENSION, "extension": {"registry": registry}}]
    return dump_yaml(document)


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 atomically. Raise ConfigurationError."""
    try:
        write_file(path, text.encode(), private=True)
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror or error}") from error


GC_THRESHOLDS = (50_000, 50, 100)
"""Most of what lives is reachable for good: the collector need not look at it after every few hundred requests."""
_LOOK_SECONDS = 0.05


class SandboxOptions(Struct, frozen=True):
    """What to serve; a second cluster listens on the next port if a port is given.

    `load` goes into the first cluster. With `fleet`, the first cluster is a control plane with that many Kymas, of
    which those of the other clusters are real; without, a control plane has a small fleet. With `settled`, readiness
    is reported only when the sample world is at rest; with `overseen`, a control plane has maintenance windows and
    Watchers.
    """

    kubeconfig: Path
    clusters: Sequence[str] = ("kcp",)
    port: int = 0
    viewer_token: str = ""
    empty: bool = False
    load: Sequence[Path] = ()
    settled: bool = False
    fleet: int | None = None
    overseen: bool = False


Print = Callable[[str], None]


def serve(options: SandboxOptions, say: Print, warn: Print) -> int:
    """Serve until SIGINT or SIGTERM; print `ready` when everything answers. Return the exit status."""
    gc.set_threshold(*GC_THRESHOLDS)
    follow_parent()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(options, say, warn))
    return 0


async def _serve(options: SandboxOptions, say: Print, warn: Print) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers; Ctrl-C raises there
            loop.add_signal_handler(number, stopped.set)
    async with start_servers(options) as served:
        await asyncio.sleep(_LOOK_SECONDS)  # lets the loop handle a signal that arrived meanwhile
        if stopped.is_set():
            return  # the parent is gone, so the file has no reader and nothing would remove it
        endpoints = [cluster.endpoint for cluster in served.clusters]
        write_private(options.kubeconfig, kubeconfig_text(endpoints, served.registry.address))
        preparing = asyncio.ensure_future(prepare(options, served, warn))
        interrupted = asyncio.ensure_future(stopped.wait())
        await asyncio.wait((preparing, interrupted), return_when=asyncio.FIRST_COMPLETED)
        if preparing.done():
            await preparing
            say(f"registry {served.registry.address}\nready")
        else:
            preparing.cancel()
        await interrupted


async def prepare(options: SandboxOptions, served: RunningServers, warn: Print) -> None:
    """Load the content that must exist before readiness is reported."""
    if options.settled and served.world is not None:
        await wait_until_at_rest(served.world)
    if options.load:
        await _load(options.load, served.clusters[0], warn)


async def wait_until_at_rest(world: SampleWorld) -> None:
    """Wait until the sample world is at rest. Raise ClusterError if it does not get there."""
    while not world.story.done:
        if world.story.given_up:
            raise ClusterError(
                f"the sample modules did not settle; unfinished: {_counted(world.story.waiting_for)}",
                hint="the machine may be busy; try again, or leave out --settled",
            )
        await asyncio.sleep(_LOOK_SECONDS)


def _counted(names: Iterable[str]) -> str:
    """Return each name once, with how many clusters it is about if these are several."""
    return ", ".join(f"{name} ({number} clusters)" if number > 1 else name for name, number in Counter(names).items())


async def _load(paths: Sequence[Path], cluster: SandboxCluster, warn: Print) -> None:
    """Load files and folders; report refused objects and continue."""
    report = load(cluster.server.client, cluster.server.store, paths)
    while not report.done:
        await asyncio.sleep(_LOOK_SECONDS)
    for refused in report.failures:
        warn(f"failed: {refused}")
    for left_out in report.skipped:
        warn(f"skipped: {left_out}")
    failed = f", {len(report.failures)} failed" if report.failures else ""
    warn(f"{format_count(len(report.loaded), 'object')} loaded{failed}")


class RunningServers(Struct, frozen=True):
    """The listening servers, and the sample world if there is one."""

    clusters: Sequence[SandboxCluster]
    registry: SandboxRegistry
    world: SampleWorld | None


@contextlib.asynccontextmanager
async def start_servers(options: SandboxOptions) -> AsyncIterator[RunningServers]:
    """Run the servers during the block; the sample world is built meanwhile, see `prepare`."""
    certificate = make_serving_certificate()
    registry = SandboxRegistry()
    world: SampleWorld | None = None
    clusters: list[SandboxCluster] = []
    try:
        for offset, name in enumerate(options.clusters):
            cluster = SandboxCluster(name, certificate, standard_semantics, options.viewer_token)
            await _start(cluster, options.port + offset if options.port else 0)
            clusters.append(cluster)
        await registry.start()
        if not options.empty:
            world = populate_clusters(clusters, registry, options.fleet, overseen=options.overseen)
        yield RunningServers(clusters, registry, world)
    finally:
        if world is not None:
            world.stop()
        await stop_all(clusters)
        await registry.stop()


def populate_clusters(
    clusters: Sequence[SandboxCluster], registry: SandboxRegistry, fleet: int | None, *, overseen: bool = False
) -> SampleWorld:
    """Create the sample world: the first cluster is the control plane, the others are its runtimes."""
    control, *runtimes = clusters
    if not runtimes and fleet is None:
        return populate(control.controllers, registry)
    runtime_clusters = {
        cluster.name: RuntimeCluster(cluster.controllers, kubeconfig_text([cluster.endpoint])) for cluster in runtimes
    }
    others = 12 if fleet is None else max(0, fleet - len(runtime_clusters))
    return populate_remote(control.controllers, runtime_clusters, registry, others=others, overseen=overseen)


async def _start(cluster: SandboxCluster, port: int) -> None:
    try:
        await cluster.start(port)
    except OSError as error:
        raise ConfigurationError(
            f"cannot use port {port} of 127.0.0.1: {error.strerror or error}", hint="leave out --port to use a free one"
        ) from error
