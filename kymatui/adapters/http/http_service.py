"""A small HTTP/1.1 server for the operator's ports: bounded connections, headers, bodies and times."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError
from kymatui.first_use import dataclass

CONNECTIONS: Final = 64
"""Connections served at once; more wait in the server's backlog until one ends."""
SECONDS: Final = 10.0  # for each read of a request, so that a silent client gives its place back
_CHUNK: Final = 0.5  # seconds between looks whether the server has to stop


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A request; `certificate` is the peer's in DER, verified by TLS, None without one.

    `headers` has names in lower case; several headers of a name are in one tuple.
    """

    method: str
    path: str
    headers: Mapping[str, tuple[str, ...]]
    body: bytes
    peer: str
    certificate: bytes | None = None

    def header(self, name: str) -> str:
        return self.headers.get(name, ("",))[0]


@dataclass(frozen=True, slots=True)
class ServedReply:
    """A reply in plain text unless `content_type` says otherwise."""

    status: int
    body: str = ""
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


Handle = Callable[[ServedRequest], ServedReply]
"""A function that answers a request, from any thread. It is called without a body if that is over the limit."""


TlsContext = Callable[[], ssl.SSLContext]
"""A function that returns the context for the next connection."""


class OversizedBody(bytes):
    """The body of a request whose announced length is over the limit."""


class HttpService:
    """A server on one address, from `start` to `stop`, in threads of its own."""

    def __init__(self, address: str, handle: Handle, *, limit: int = 0, tls: TlsContext | None = None) -> None:
        """Listen on `address` ([HOST]:PORT); bodies over `limit` bytes are not read. Raise ConfigurationError."""
        host, port = parse_address(address)
        self._handle, self._limit, self._tls = handle, limit, tls
        try:
            self._server = _Server((host, port), self._handler(), tls)
        except OSError as error:
            raise ConfigurationError(f"cannot listen on {address}: {error_reason(error)}") from error

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": _CHUNK}, name="http", daemon=True
        ).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        handle, limit = self._handle, self._limit

        class Handler(_Handler):
            answer = staticmethod(handle)
            most = limit

        return Handler


class _Server(HTTPServer):
    """A server with a thread for each connection, at most CONNECTIONS at once."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], tls: TlsContext | None) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, handler)
        self._tls = tls
        self._places = threading.BoundedSemaphore(CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._places.acquire()
        threading.Thread(target=self._serve, args=(request, client_address), name="http", daemon=True).start()

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        try:
            request.settimeout(SECONDS)
            if self._tls is not None:
                request = self._tls().wrap_socket(request, server_side=True)
            self.finish_request(request, client_address)
        except (OSError, ValueError):  # the client went away, or spoke no TLS
            pass
        finally:
            self._places.release()
            with contextlib.suppress(OSError):
                self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: a broken connection is the client's affair."""


class _Handler(BaseHTTPRequestHandler):
    """One request for each connection."""

    answer: Callable[[ServedRequest], ServedReply]
    most = 0
    timeout = SECONDS
    server_version = "kymatui"
    sys_version = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # every method is answered by `handle`
            return self._respond
        raise AttributeError(name)

    def _respond(self) -> None:
        headers = {name.lower(): tuple(self.headers.get_all(name) or ()) for name in self.headers}
        body = self._body(headers)
        if body is None:
            self._send(ServedReply(411, "Content-Length is required\n"))
            return
        certificate = self.connection.getpeercert(True) if isinstance(self.connection, ssl.SSLSocket) else None
        peer = str(self.client_address[0])
        request = ServedRequest(self.command, self.path.partition("?")[0], headers, body, peer, certificate)
        self._send(self.answer(request))

    def _body(self, headers: Mapping[str, tuple[str, ...]]) -> bytes | None:
        """Return the body, None without a readable length."""
        lengths = headers.get("content-length", ())
        if "transfer-encoding" in headers or len(lengths) > 1:
            return None
        text = lengths[0] if lengths else "0"
        if not (text.isascii() and text.isdigit()):
            return None
        if len(text) > len(str(self.most)) or int(text) > self.most:
            return OversizedBody()
        return self.rfile.read(int(text))

    def _send(self, reply: ServedReply) -> None:
        content = reply.body.encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Do nothing: requests are counted by metrics."""


def parse_address(address: str) -> tuple[str, int]:
    """Return host and port of [HOST]:PORT; without a host, all IPv4 addresses. Raise ConfigurationError."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ConfigurationError(f"{address} is not an address", hint="write HOST:PORT or :PORT")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 (probes and scrapes come from other hosts)
