"""HTTP server and its certificate: requests between sockets and the API, with TLS, on loopback (aiohttp)."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from kymatui.errors import UsageError
from kymatui.sandbox.apimachinery.exchange import Handler, ResponseStream, ServerRequest, ServerResponse, parse_query
from kymatui.sandbox.apimachinery.statuses import StatusError, failure
from kymatui.sandbox.apiserver.http.server_faults import FaultOutcome, ServerFaults, status_response


async def stop_runner(runner: web.BaseRunner) -> None:
    """Stop listening and close every connection, the ones whose client does not answer too."""
    server = runner.server
    open_connections = [] if server is None else [connection.transport for connection in server.connections]
    await runner.cleanup()
    # TLS waits up to 30 s for the client's farewell: a loop that ends before would leak the socket
    for transport in open_connections:
        if transport is not None:
            with contextlib.suppress(AttributeError):  # what Python 3.11.2 raises if the connection ended by itself
                transport.abort()
    await asyncio.sleep(0)  # an aborted transport closes its socket in the loop's next turn


VALID = timedelta(days=365)
NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


class ServingCertificate(Struct, frozen=True):
    """PEM texts: `authority` for kubeconfigs, the other two for the server."""

    authority: bytes
    certificate: bytes
    key: bytes


def make_serving_certificate() -> ServingCertificate:
    """Return a new authority with a certificate for this machine and the service `kubernetes`."""
    now = datetime.now(UTC)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key, now)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _builder("kymatui-sandbox", authority.subject, key.public_key(), now)
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in NAMES]
    alternatives.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    signed = (
        certificate.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_usage(certificates=False), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return ServingCertificate(
        authority.public_bytes(serialization.Encoding.PEM),
        signed.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kymatui-sandbox-ca")])
    return (
        _builder("kymatui-sandbox-ca", name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _builder(name: str, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clocks of clients may be slow
        .not_valid_after(now + VALID)
    )


def _usage(*, certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certificates,
        crl_sign=certificates,
        encipher_only=False,
        decipher_only=False,
    )


BODY_LIMIT = 3 * 1024 * 1024
"""What a real API server reads of one body; more is answered with 413."""

STREAM_BUFFER = 64 * 1024 * 1024
"""How far a watch may lag behind before it is closed; its client then starts again, as with a real server."""

SHUTDOWN_SECONDS = 2.0
SILENCE_SECONDS = 3600.0
_REPEATABLE = ("impersonate-group", "impersonate-extra-")


def server_context(certificate: ServingCertificate) -> ssl.SSLContext:
    """Return the server's TLS context; its key is on disk only in a private file that is deleted at once."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.num_tickets = 0  # no session tickets: the many short connections never resume
    with tempfile.TemporaryDirectory() as folder:  # mode 0700
        path = Path(folder, "serving.pem")
        path.touch(mode=0o600)
        path.write_bytes(certificate.certificate + certificate.key)
        context.load_cert_chain(path)
    return context


def loopback(address: str) -> str:
    """Return the address if it is a loopback address. Raise UsageError."""
    try:
        if ipaddress.ip_address(address).is_loopback:
            return address
    except ValueError:
        pass
    raise UsageError(
        f"the sandbox does not listen on {address!r}", hint="it serves 127.0.0.1 alone; forward a port to reach it"
    )


class HttpServer:
    """One listening server; `start` returns once it answers, `stop` once all is closed."""

    def __init__(self, handle: Handler, faults: ServerFaults, *, tls: ssl.SSLContext | None) -> None:
        self._handle = handle
        self._faults = faults
        self._tls = tls
        self._runner: web.ServerRunner | None = None
        self._streams: set[_Writing] = set()
        self.port = 0

    async def start(self, address: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 picks a free one, see `port`. Raise OSError if the port is in use."""
        server = web.Server(self._serve, access_log=None, tcp_keepalive=False)
        self._runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        tcp_site = web.TCPSite(self._runner, loopback(address), port, ssl_context=self._tls)
        await tcp_site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        for writing in tuple(self._streams):
            writing.finish()
        if self._runner is not None:
            await stop_runner(self._runner)

    async def _serve(self, incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            request = await _request(incoming)
        except _TooLargeError:
            return _answer(status_response(_too_large()))
        outcome = self._faults.meet(request)
        if outcome is not None:
            if outcome.carried_out:
                self._handle(request)
            answered = await self._misbehave(incoming, outcome)
            if answered is not None:
                return answered
        response = self._handle(request)
        if response.stream is not None:
            return await self._write_stream(incoming, response, response.stream)
        return web.Response(
            status=response.status, body=response.body if incoming.method != "HEAD" else b"", headers=_headers(response)
        )

    async def _misbehave(self, incoming: web.BaseRequest, outcome: FaultOutcome) -> web.StreamResponse | None:
        if outcome.delay:
            await asyncio.sleep(outcome.delay)
        if outcome.drop:
            if incoming.transport is not None:
                incoming.transport.abort()
            raise ConnectionResetError("dropped on demand")
        if outcome.silent:
            await asyncio.sleep(SILENCE_SECONDS)  # cancelled when the client disconnects or the server stops
            raise ConnectionResetError("nobody waited for an answer")
        return _answer(outcome.response) if outcome.response is not None else None

    async def _write_stream(
        self, incoming: web.BaseRequest, response: ServerResponse, stream: ResponseStream
    ) -> web.StreamResponse:
        answer = web.StreamResponse(status=response.status, headers=_headers(response))
        answer.enable_chunked_encoding()
        await answer.prepare(incoming)
        writing = _Writing()
        self._streams.add(writing)
        try:
            stream.start(writing.send, writing.finish)
            await writing.carry(answer.write)
            with contextlib.suppress(ConnectionError):
                await answer.write_eof()
        finally:
            stream.stop()
            self._streams.discard(writing)
        return answer


def _headers(response: ServerResponse) -> list[tuple[str, str]]:
    return [
        *response.headers,
        ("Audit-Id", secrets.token_hex(16)),
        ("Cache-Control", "no-cache, private"),
        ("Content-Type", response.content_type),
    ]


class _Writing:
    """The data that a stream has sent and its client has not read yet."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []
        self._size = 0
        self._news = asyncio.Event()
        self._finished = False

    def send(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        if self._size > STREAM_BUFFER:
            self._finished = True
        self._news.set()

    def finish(self) -> None:
        self._finished = True
        self._news.set()

    async def carry(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Write until the stream ends or the client disconnects."""
        while True:
            await self._news.wait()
            self._news.clear()
            data, self._waiting, self._size = b"".join(self._waiting), [], 0
            if data:
                try:
                    await write(data)
                except ConnectionError:
                    return
            if self._finished and not self._waiting:
                return


class _TooLargeError(Exception):
    """The body is larger than `BODY_LIMIT`."""


async def _request(incoming: web.BaseRequest) -> ServerRequest:
    headers: dict[str, str] = {}
    for name, value in incoming.headers.items():
        name = name.lower()
        if name in headers and name.startswith(_REPEATABLE):
            value = headers[name] + "\n" + value
        elif name in headers and name == "accept":
            value = headers[name] + "," + value
        headers[name] = value
    body = await _body(incoming) if incoming.can_read_body else b""
    path, _, query = incoming.raw_path.partition("?")
    return ServerRequest(incoming.method, path, parse_query(query), headers, body)


async def _body(incoming: web.BaseRequest) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in incoming.content.iter_any():
        size += len(part)
        if size > BODY_LIMIT:
            raise _TooLargeError
        parts.append(part)
    return b"".join(parts)


def _too_large() -> StatusError:
    message = f"Request entity too large: limit is {BODY_LIMIT}"
    return failure(413, "RequestEntityTooLarge", message)


def _answer(response: ServerResponse) -> web.Response:
    return web.Response(status=response.status, body=response.body, headers=_headers(response))
