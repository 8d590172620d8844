"""A server that stops closes every socket, also of a client that holds its connection and says nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import ssl
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

from kymatui.sandbox.apimachinery.exchange import ServerRequest, ServerResponse
from kymatui.sandbox.apiserver.http.http_server import HttpServer, make_serving_certificate, server_context
from kymatui.sandbox.apiserver.http.server_faults import ServerFaults
from kymatui.sandbox.registry.registry_server import SandboxRegistry

CERTIFICATE = make_serving_certificate()


def _answer(request: ServerRequest) -> ServerResponse:
    return ServerResponse(200, b"{}", "application/json")


@contextlib.contextmanager
def _held(port: int) -> Iterator[ssl.SSLSocket]:
    """Hold a TLS connection over which one request was answered."""
    context = ssl.create_default_context(cadata=CERTIFICATE.authority.decode())
    context.check_hostname = False
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port))) as held:
        held.sendall(b"GET /v2/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert held.recv(1000).startswith(b"HTTP/1.1 ")
        yield held


async def _stop_while_held(server: HttpServer | SandboxRegistry, pool: Executor) -> contextlib.ExitStack:
    await server.start()
    port = server.port if isinstance(server, HttpServer) else int(server.address.rpartition(":")[2])
    clients = contextlib.ExitStack()
    await asyncio.get_running_loop().run_in_executor(pool, lambda: clients.enter_context(_held(port)))
    await server.stop()
    return clients


@pytest.mark.parametrize(
    "server",
    [
        pytest.param(lambda: HttpServer(_answer, ServerFaults(), tls=server_context(CERTIFICATE)), id="cluster"),
        pytest.param(lambda: SandboxRegistry(tls=server_context(CERTIFICATE)), id="registry"),
    ],
)
def test_stopped_server_leaves_no_socket_open(server: Callable[[], HttpServer | SandboxRegistry]) -> None:
    """The loop may end right after `stop`; a socket that it left open would warn when it is collected."""
    unclosed: list[object] = []
    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.unraisablehook", lambda found: unclosed.append(found.exc_value))
        clients = asyncio.run(_stop_while_held(server(), pool))
        with clients, warnings.catch_warnings():
            warnings.simplefilter("error", ResourceWarning)
            gc.collect()
    assert not unclosed
