"""A small HTTP/1.1 server for the operator's ports, which neither slow nor many clients can hold.

asyncio moves the bytes and the standard library parses them; aiohttp, which serves the sandbox, has no deadline for the
head of a request and no limit of connections, and takes twice as long to import.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from msgspec import Struct, field

from kymatui.adapters.http.http_connections import (
    LARGEST_HEAD,
    PLACES_OF_ADDRESS,
    REQUEST_SECONDS,
    ClientConnection,
    ClientConnections,
    ClientPhase,
)
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.engine.cluster.concurrency import report_defect
from kymatui.errors import ConfigurationError

WORKERS: Final = 8
"""Requests that are answered at once; further ones wait, but for probes."""
REPLY_SECONDS: Final = 10.0
"""For a whole reply, however slowly the client reads it."""
_BACKLOG: Final = 512  # connections that wait until they are accepted
_PAUSE: Final = 0.1  # seconds until the next try where no connection can be accepted
_END_SECONDS: Final = 2.0  # for the loop to end, which aborts all connections


class ServedRequest(Struct, frozen=True):
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


class ServedReply(Struct, frozen=True):
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

    def __init__(
        self,
        address: str,
        handle: Handle,
        *,
        limit: int = 0,
        tls: TlsContext | None = None,
        probes: frozenset[str] = frozenset(),
        of_address: int = PLACES_OF_ADDRESS,
    ) -> None:
        """Listen on `address` ([HOST]:PORT). Raise ConfigurationError.

        limit       bytes of a body; a longer one is not read
        probes      paths that are answered at once, beside the requests that wait for a worker
        of_address  connections of one client address at once
        """
        host, port = parse_address(address)
        self._handle, self._limit, self._tls, self._probes = handle, limit, tls, probes
        self._connections = ClientConnections(of_address)
        try:
            self._socket = _listen(host, port)
        except OSError as error:
            raise ConfigurationError(f"cannot listen on {address}: {error_reason(error)}") from error
        self.port = int(self._socket.getsockname()[1])
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Stop at once; abort all connections, and leave requests that are being answered to their threads."""
        loop, ended = self._loop, self._ended
        if loop is not None and ended is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(ended.set)
            self._thread.join(_END_SECONDS)
        self._socket.close()

    # in the thread of the loop

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 (the thread has no caller)
            report_defect(error)
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)  # what clients do to their connections is no news
        ended = self._ended = asyncio.Event()
        self._workers = asyncio.Semaphore(WORKERS)
        accepting = loop.create_task(self._accept())
        self._ready.set()
        await ended.wait()
        accepting.cancel()
        self._connections.end_all()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._connections.make_room():
                await asyncio.sleep(_PAUSE)
            try:
                accepted, address = await loop.sock_accept(self._socket)
            except OSError:  # the client went away, or the process has no more files
                await asyncio.sleep(_PAUSE)
                continue
            accepted.setblocking(False)
            connection = ClientConnection(str(address[0]), accepted)
            if not self._connections.add(connection):
                connection.abort()
                continue
            connection.task = loop.create_task(self._converse(connection))
            await asyncio.sleep(0)  # between two connections, those that have a request get their turn

    async def _converse(self, connection: ClientConnection) -> None:
        """Read one request and answer it."""
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await connection.open(self._tls() if self._tls is not None else None)
                exchange, request = await self._read(connection)
            connection.phase = ClientPhase.ANSWERING
            if request is not None:
                exchange.reply(await self._answer(request))
            connection.phase = ClientPhase.WRITING
            async with asyncio.timeout(REPLY_SECONDS):
                await connection.write(exchange.answer)
        except (OSError, EOFError, ValueError):  # the client went away, was too slow, or spoke no TLS
            pass
        except Exception as error:  # noqa: BLE001 (other connections do not depend on it)
            report_defect(error)
        finally:
            self._connections.drop(connection)
            connection.abort()

    async def _read(self, connection: ClientConnection) -> tuple[_Exchange, ServedRequest | None]:
        """Return the exchange, and the request unless the exchange has the answer already."""
        head, rest = await connection.read_head()
        exchange = _Exchange(head if len(head) <= LARGEST_HEAD else b"GET / HTTP/1.0\r\n\r\n")
        if len(head) > LARGEST_HEAD:
            exchange.reply(ServedReply(431, "the headers are too long\n"))
            return exchange, None
        if not exchange.is_parsed:
            return exchange, None
        headers = {name.lower(): tuple(exchange.headers.get_all(name) or ()) for name in exchange.headers}
        length = _body_length(headers, self._limit)
        if length is None:
            exchange.reply(ServedReply(411, "Content-Length is required\n"))
            return exchange, None
        body = OversizedBody() if length > self._limit else await connection.read_body(rest, length)
        path = exchange.path.partition("?")[0]
        return exchange, ServedRequest(exchange.command, path, headers, body, connection.peer, connection.certificate)

    async def _answer(self, request: ServedRequest) -> ServedReply:
        if request.path in self._probes:
            return self._handled(request)
        async with self._workers:
            return await _in_thread(lambda: self._handled(request))

    def _handled(self, request: ServedRequest) -> ServedReply:
        try:
            return self._handle(request)
        except Exception as error:  # noqa: BLE001 (other requests do not depend on it)
            report_defect(error)
            return ServedReply(500, "internal error\n")


async def _in_thread(work: Callable[[], ServedReply]) -> ServedReply:
    """Return the result of `work` from a thread that does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[ServedReply] = loop.create_future()

    def finish(reply: ServedReply) -> None:
        if not result.done():
            result.set_result(reply)

    def run() -> None:
        reply = work()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(finish, reply)

    threading.Thread(target=run, name="http", daemon=True).start()
    return await result


# requests


class _Exchange(BaseHTTPRequestHandler):
    """The parser of one head, and the bytes of its answer; it has no connection."""

    server_version = "kymatui"
    sys_version = ""

    def __init__(self, head: bytes) -> None:
        """Parse a head; `is_parsed` is False for one that is answered with an error."""
        self.rfile = BytesIO(head)
        self.wfile = self._answer = BytesIO()
        self.raw_requestline = self.rfile.readline()
        self.is_parsed = self.parse_request()

    @property
    def answer(self) -> bytes:
        return self._answer.getvalue()

    def reply(self, reply: ServedReply) -> None:
        content = reply.body.encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Do nothing: requests are counted by metrics."""


def _body_length(headers: Mapping[str, tuple[str, ...]], limit: int) -> int | None:
    """Return the announced length, at most one byte over the limit; None without a readable one."""
    lengths = headers.get("content-length", ())
    if "transfer-encoding" in headers or len(lengths) > 1:
        return None
    text = lengths[0] if lengths else "0"
    if not (text.isascii() and text.isdigit()):
        return None
    return limit + 1 if len(text) > len(str(limit)) else min(int(text), limit + 1)


# addresses


def parse_address(address: str) -> tuple[str, int]:
    """Return host and port of [HOST]:PORT; without a host, all IPv4 addresses. Raise ConfigurationError."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ConfigurationError(f"{address} is not an address", hint="write HOST:PORT or :PORT")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 (probes and scrapes come from other hosts)


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise OSError."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        if os.name == "posix":  # elsewhere, another process could take the port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


# TLS of the operator's own ports, from files that are renewed while it runs.


class TlsFiles(Struct, frozen=True):
    """Certificate and key of the server, and the authorities of its clients' certificates, all in PEM."""

    certificate: Path
    key: Path
    authorities: Path


class ServerTls:
    """The context for new connections; changed files are read again. Thread-safe.

    With `optional`, clients without a certificate may connect; the handler of a request has to refuse them.
    """

    def __init__(self, files: TlsFiles, *, optional: bool) -> None:
        """Raise ConfigurationError for files that cannot be used."""
        self._files, self._optional = files, optional
        self._lock = threading.Lock()
        self._read, self._context = self._state(), self._load()

    def context(self) -> ssl.SSLContext:
        """Return the context of the present files, or of the last ones that could be used."""
        with self._lock:
            try:
                now = self._state()
                if now != self._read:
                    self._context, self._read = self._load(), now
            except ConfigurationError:
                pass  # a Secret's files are replaced one after the other: the next connection reads them again
            return self._context

    def _state(self) -> tuple[tuple[int, int], ...]:
        files = (self._files.certificate, self._files.key, self._files.authorities)
        try:
            return tuple((file.stat().st_mtime_ns, file.stat().st_size) for file in files)
        except OSError as error:
            raise ConfigurationError(f"{error.filename} cannot be read: {error_reason(error)}") from error

    def _load(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self._files.authorities))
            context.load_cert_chain(self._files.certificate, self._files.key)
        except (OSError, ssl.SSLError) as error:
            why = error_reason(error)
            raise ConfigurationError(f"{self._files.certificate} and its key and CA cannot be used: {why}") from error
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as Go does: authorities may lack what Python 3.13 asks for
        context.verify_mode = ssl.CERT_OPTIONAL if self._optional else ssl.CERT_REQUIRED
        return context


def read_authorities(path: Path) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a PEM file. Raise ConfigurationError."""
    try:
        return tuple(x509.load_pem_x509_certificates(path.read_bytes()))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error_reason(error)}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path} has no certificate that can be read: {error}") from error
