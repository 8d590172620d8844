"""The operator's HTTP server over real connections: limits of bodies, heads, time and places; its end."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.http import http_service
from kymatui.adapters.http.http_connections import (
    PLACES,
    PLACES_OF_ADDRESS,
    ClientConnection,
    ClientConnections,
    ClientPhase,
)
from kymatui.adapters.http.http_service import (
    WORKERS,
    HttpService,
    OversizedBody,
    ServedReply,
    ServedRequest,
    parse_address,
)
from kymatui.errors import ConfigurationError
from tests.controllers.certificates import issue


def answer(request: ServedRequest) -> ServedReply:
    if isinstance(request.body, OversizedBody):
        return ServedReply(413, "too large")
    said = f"{request.method} {request.path} {request.header('x-a')} {request.body.decode()} {request.peer}"
    return ServedReply(200, said, headers={"X-More": "1"})


@contextlib.contextmanager
def serving(handle: http_service.Handle, **options: Any) -> Iterator[HttpService]:
    found = HttpService("127.0.0.1:0", handle, **options)
    found.start()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def service() -> Iterator[HttpService]:
    with serving(answer, limit=16) as found:
        yield found


def ask(service: HttpService, method: str, path: str, **options: object) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    try:
        connection.request(method, path, **options)  # type: ignore[arg-type]
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def raw(service: HttpService, text: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(text)
        found = b""
        while part := connection.recv(4096):
            found += part
        return found


def test_a_request_arrives_whole(service: HttpService) -> None:
    assert ask(service, "POST", "/a?b=c", body="hello", headers={"X-A": "1"}) == (200, "POST /a 1 hello 127.0.0.1")
    assert ask(service, "BREW", "/") == (200, "BREW /   127.0.0.1")
    assert ask(service, "HEAD", "/") == (200, "")


def test_a_body_at_the_limit_is_read_and_a_longer_one_is_not(service: HttpService) -> None:
    assert ask(service, "POST", "/", body="x" * 16)[0] == 200
    assert ask(service, "POST", "/", body="x" * 17)[0] == 413


@pytest.mark.parametrize(
    "headers",
    [
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Length: 1\r\nContent-Length: 2\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: +1\r\n",
        b"Content-Length: \xb2\r\n",
    ],
)
def test_a_body_without_a_plain_length_is_refused(service: HttpService, headers: bytes) -> None:
    assert raw(service, b"POST / HTTP/1.1\r\nHost: a\r\n" + headers + b"\r\n").startswith(b"HTTP/1.0 411")


def test_a_length_of_thousands_of_digits_costs_nothing(service: HttpService) -> None:
    text = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 6000 + b"\r\n\r\n"
    assert raw(service, text).startswith(b"HTTP/1.0 413")


def test_too_many_or_too_long_headers_are_refused(service: HttpService) -> None:
    many = b"".join(b"X-%d: 1\r\n" % number for number in range(200))
    assert b" 431 " in raw(service, b"GET / HTTP/1.1\r\n" + many + b"\r\n").splitlines()[0]
    long = b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n"
    assert b" 431 " in raw(service, long).splitlines()[0]


def test_a_taken_port_and_a_wrong_address_are_named(service: HttpService) -> None:
    with pytest.raises(ConfigurationError, match=rf"cannot listen on 127\.0\.0\.1:{service.port}"):
        HttpService(f"127.0.0.1:{service.port}", answer)
    for wrong in ("8080", "a:b", ":70000", ":"):
        with pytest.raises(ConfigurationError, match="is not an address"):
            parse_address(wrong)
    assert parse_address(":8080") == ("0.0.0.0", 8080)
    assert parse_address("[::1]:1") == ("::1", 1)


# clients that hold their connections


def hold(service: HttpService, sent: bytes = b"GET / HTTP/1.1\r\nX: ") -> socket.socket:
    """A client that has sent a part of its request."""
    found = socket.create_connection(("127.0.0.1", service.port), timeout=20)
    found.sendall(sent)
    return found


def connection(peer: str) -> ClientConnection:
    """A connection that is in no server."""
    with socket.socket() as closed:
        return ClientConnection(peer, closed)


def is_closed(client: socket.socket) -> bool:
    """Wait for the end of a connection."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def test_many_clients_of_one_address_lose_their_oldest_connections_and_probes_are_answered(
    service: HttpService,
) -> None:
    with contextlib.ExitStack() as clients:
        held = [clients.enter_context(hold(service)) for _ in range(PLACES_OF_ADDRESS + 6)]
        assert [ask(service, "GET", "/")[0] for _ in range(3)] == [200, 200, 200]
        assert all(map(is_closed, held[:6]))
        held[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            held[-1].recv(1)


def test_a_full_server_ends_a_connection_of_the_address_with_the_most() -> None:
    connections = ClientConnections(PLACES)
    many = [connection("10.0.0.1") for _ in range(PLACES - 1)]
    few = [connection("10.0.0.2"), connection("10.0.0.3")]
    for one in [few[0], *many]:
        assert connections.make_room()
        assert connections.add(one)
    assert connections.make_room()
    assert connections.add(few[1])
    assert list(connections) == [few[0], *many[1:], few[1]]


def test_what_is_being_answered_keeps_its_place() -> None:
    connections = ClientConnections(of_address=2)
    answering, reading = connection("10.0.0.1"), connection("10.0.0.1")
    answering.phase = ClientPhase.ANSWERING
    assert connections.add(answering)
    assert connections.add(reading)
    third = connection("10.0.0.1")
    assert connections.add(third)
    assert list(connections) == [answering, third]
    third.phase = ClientPhase.ANSWERING
    assert not connections.add(connection("10.0.0.1"))
    assert connections.add(connection("10.0.0.2"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
        ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
    ],
)
def test_a_client_is_an_address_or_a_network_of_ipv6(one: str, other: str, *, same: bool) -> None:
    assert (connection(one).origin == connection(other).origin) is same


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n12345678"], ids=["head", "line", "body"]
)
def test_a_request_that_does_not_end_is_ended(
    service: HttpService, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(http_service, "REQUEST_SECONDS", 0.2)
    with hold(service, sent) as client:
        assert is_closed(client)


def test_a_client_that_never_reads_its_reply_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_service, "REPLY_SECONDS", 0.2)
    ended = threading.Event()
    drop = ClientConnections.drop

    def dropped(connections: ClientConnections, connection: ClientConnection) -> None:
        drop(connections, connection)
        ended.set()

    monkeypatch.setattr(ClientConnections, "drop", dropped)
    long = ServedReply(200, "x" * 64_000_000)
    with serving(lambda request: long) as service, hold(service, b"GET / HTTP/1.1\r\n\r\n"):
        assert ended.wait(20)


def test_a_client_that_never_completes_tls_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_service, "REQUEST_SECONDS", 0.2)
    certificate, key = issue("server").write(tmp_path, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(answer, tls=lambda: context) as service, hold(service, b"\x16\x03\x01") as client:
        assert is_closed(client)


def test_probes_are_answered_while_all_workers_are_busy() -> None:
    free = threading.Event()

    def slow(request: ServedRequest) -> ServedReply:
        if request.path != "/healthz":
            free.wait(20)
        return ServedReply(200, "ok")

    with serving(slow, probes=frozenset({"/healthz"})) as service, contextlib.ExitStack() as clients:
        for _ in range(WORKERS + 2):
            clients.enter_context(hold(service, b"GET /metrics HTTP/1.1\r\n\r\n"))
        assert ask(service, "GET", "/healthz") == (200, "ok")
        free.set()


def test_a_server_stops_while_clients_and_requests_hold_it() -> None:
    free, begun = threading.Event(), threading.Event()

    def stuck(request: ServedRequest) -> ServedReply:
        begun.set()
        free.wait(60)
        return ServedReply(200)

    found = HttpService("127.0.0.1:0", stuck)
    found.start()
    with hold(found) as slow, hold(found, b"GET / HTTP/1.1\r\n\r\n") as asking:
        assert begun.wait(20)
        found.stop()
        assert is_closed(slow)
        assert is_closed(asking)
        assert not found._thread.is_alive()
    free.set()


def test_a_handler_that_fails_is_told_and_does_not_end_the_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(request: ServedRequest) -> ServedReply:
        raise ZeroDivisionError

    told: list[Exception] = []
    monkeypatch.setattr(http_service, "report_defect", told.append)
    with serving(fails) as service:
        assert ask(service, "GET", "/") == (500, "internal error\n")
        assert ask(service, "GET", "/") == (500, "internal error\n")
    assert [type(one) for one in told] == [ZeroDivisionError, ZeroDivisionError]


def test_lines_may_end_without_a_carriage_return(service: HttpService) -> None:
    assert raw(service, b"GET /a HTTP/1.0\nX-A: 1\n\n").endswith(b"GET /a 1  127.0.0.1")
