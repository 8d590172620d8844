"""A running sandbox cluster: API server, socket and controllers on one event loop."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from kymatui.sandbox.apimachinery.clock import LoopClock, SandboxClock
from kymatui.sandbox.apiserver.http.http_server import HttpServer, server_context
from kymatui.sandbox.apiserver.http.kubeconfig_file import ServerEndpoint
from kymatui.sandbox.apiserver.http.serving_certificate import ServingCertificate
from kymatui.sandbox.apiserver.server.api_server import ApiServer, ServerSemantics
from kymatui.sandbox.controllers.controller_manager import ControllerManager

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
        self._carrier = carrier
        return carrier.port

    def _build(self, clock: SandboxClock) -> ApiServer:
        self._server = ApiServer(
            clock, self.meaning(clock), admin_token=self.admin_token, viewer_token=self.viewer_token
        )
        return self._server

    def _begin(self, server: ApiServer, port: int) -> None:
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
        if self._carrier is None:
            raise RuntimeError(f"cluster {self.name} is not started")
        url = f"https://{ADDRESS}:{self._carrier.port}"
        return ServerEndpoint(self.name, url, self.certificate.authority, self.admin_token)


async def stop_all(clusters: Sequence[SandboxCluster]) -> None:
    await asyncio.gather(*(cluster.stop() for cluster in clusters))
