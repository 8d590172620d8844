"""API servers over TLS with an authority of their own, and the proxies that stand before servers; all on loopback."""

from __future__ import annotations

import contextlib
import datetime
import http.server
import ipaddress
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass
class Pair:
    """A certificate and its key, PEM text."""

    certificate: str
    key: str


class Authority:
    """Signs certificates of servers and users, as bare as those of clusters often are: without key identifiers."""

    def __init__(self, name: str = "authority of the tests") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self.pem = self._signed(self._name, self._key, x509.BasicConstraints(ca=True, path_length=None)).certificate

    def server(self, *names: str) -> Pair:
        """For host names and addresses."""
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
        return self._signed(
            subject, ec.generate_private_key(ec.SECP256R1()), x509.SubjectAlternativeName([_general(n) for n in names])
        )

    def user(self, name: str, group: str) -> Pair:
        subject = x509.Name(
            [
                x509.NameAttribute(x509.NameOID.COMMON_NAME, name),
                x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group),
            ]
        )
        return self._signed(
            subject, ec.generate_private_key(ec.SECP256R1()), x509.BasicConstraints(ca=False, path_length=None)
        )

    def _signed(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType) -> Pair:
        now = datetime.datetime.now(datetime.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
            .sign(self._key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return Pair(made.public_bytes(pem).decode(), private.decode())


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@dataclass
class Seen:
    """What a server saw of one request; `subject` is the client certificate's name as "CN/O", "" without one."""

    path: str
    headers: list[tuple[str, str]]
    subject: str

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def all(self, prefix: str) -> list[tuple[str, str]]:
        return sorted((key, value) for key, value in self.headers if key.lower().startswith(prefix.lower()))


@dataclass
class Server:
    """A running one: `port`, its `certificate` (PEM), and the requests so far."""

    port: int = 0
    certificate: str = ""
    seen: list[Seen] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


class _Threading(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Connections that tests break are no news."""


@contextlib.contextmanager
def secure_serving(authority: Authority, folder: Path, *names: str, only_certified: bool = False) -> Iterator[Server]:
    """An HTTPS server with a certificate for the names, which trusts client certificates of the authority."""
    pair = authority.server(*(names or ("127.0.0.1",)))
    file, trusted = folder / "server.pem", folder / "trusted.pem"
    file.write_text(pair.certificate + pair.key)
    trusted.write_text(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    context.load_verify_locations(trusted)
    context.verify_mode = ssl.CERT_REQUIRED if only_certified else ssl.CERT_OPTIONAL
    with _recording(context) as found:
        found.certificate = pair.certificate
        yield found


@contextlib.contextmanager
def plain_serving() -> Iterator[Server]:
    """The same over HTTP."""
    with _recording(None) as found:
        yield found


@contextlib.contextmanager
def _recording(context: ssl.SSLContext | None) -> Iterator[Server]:
    found = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.seen.append(Seen(self.path, self.headers.items(), _subject(self.connection)))
            body = b'{"kind": "PodList", "items": []}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = _Threading(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    found.port = server.server_address[1]
    with _in_thread(server):
        yield found


def _subject(connection: socket.socket) -> str:
    certificate = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    if not certificate:
        return ""
    named = dict(pair[0] for pair in certificate["subject"])  # type: ignore[misc]
    return f"{named['commonName']}/{named['organizationName']}"


@contextlib.contextmanager
def _in_thread(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Proxy:
    """A running proxy: what was asked of it ("host:port"), and the logins that came with it."""

    port: int = 0
    targets: list[str] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)


@contextlib.contextmanager
def connect_proxy(route: dict[str, int], login: str = "") -> Iterator[Proxy]:
    """An HTTP proxy that opens tunnels (CONNECT) to the ports on loopback that `route` gives for "host:port".

    With `login` ("Basic …") it turns away everybody else with 407.
    """
    found = Proxy()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            found.targets.append(self.path)
            found.logins.append(self.headers.get("Proxy-Authorization") or "")
            if login and found.logins[-1] != login:
                self.send_error(407)
                return
            if self.path not in route:
                self.send_error(502)
                return
            self.send_response(200)
            self.end_headers()
            _join(self.connection, route[self.path])
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = _Threading(("127.0.0.1", 0), Handler)
    found.port = server.server_address[1]
    with _in_thread(server):
        yield found


@contextlib.contextmanager
def socks_proxy(route: dict[str, int], login: str = "") -> Iterator[Proxy]:
    """A SOCKS 5 proxy (RFC 1928) that connects names as `route` says; `login` is "user:password", "" for none."""
    found = Proxy()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            count = self._take(2)[1]
            methods = self._take(count)
            if login and 2 not in methods:
                self.request.sendall(b"\x05\xff")
                return
            self.request.sendall(b"\x05\x02" if login else b"\x05\x00")
            if login:
                self._take(1)
                user, password = (self._take(self._take(1)[0]).decode() for _ in range(2))
                found.logins.append(f"{user}:{password}")
                self.request.sendall(b"\x01\x00" if found.logins[-1] == login else b"\x01\x01")
                if found.logins[-1] != login:
                    return
            kind = self._take(4)[3]
            host = self._take(self._take(1)[0]).decode() if kind == 3 else socket.inet_ntoa(self._take(4))
            target = f"{host}:{int.from_bytes(self._take(2), 'big')}"
            found.targets.append(target)
            if target not in route:
                self.request.sendall(b"\x05\x05\x00\x01" + bytes(6))
                return
            self.request.sendall(b"\x05\x00\x00\x01" + bytes(6))
            _join(self.request, route[target])

        def _take(self, size: int) -> bytes:
            data: bytes = self.request.recv(size, socket.MSG_WAITALL)
            assert len(data) == size
            return data

    class Threading(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Connections that tests break are no news."""

    server = Threading(("127.0.0.1", 0), Handler)
    found.port = server.server_address[1]
    with _in_thread(server):
        yield found


def _join(client: socket.socket, port: int) -> None:
    """Passes bytes both ways until one side ends."""
    with socket.create_connection(("127.0.0.1", port)) as server:

        def copy(source: socket.socket, sink: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    sink.sendall(data)
            for one in (source, sink):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

        back = threading.Thread(target=copy, args=(server, client), daemon=True)
        back.start()
        copy(client, server)
        back.join()


def base64_of(*texts: str) -> Sequence[str]:
    import base64

    return [base64.b64encode(text.encode()).decode() for text in texts]
