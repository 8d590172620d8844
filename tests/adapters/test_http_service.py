"""The operator's HTTP server over real connections: limits of body, headers, time, and TLS clients that speak none."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator

import pytest

from kymatui.adapters.http.http_service import (
    HttpService,
    OversizedBody,
    ServedReply,
    ServedRequest,
    parse_address,
)
from kymatui.errors import ConfigurationError


def answer(request: ServedRequest) -> ServedReply:
    if isinstance(request.body, OversizedBody):
        return ServedReply(413, "too large")
    said = f"{request.method} {request.path} {request.header('x-a')} {request.body.decode()} {request.peer}"
    return ServedReply(200, said, headers={"X-More": "1"})


@pytest.fixture
def service() -> Iterator[HttpService]:
    found = HttpService("127.0.0.1:0", answer, limit=16)
    found.start()
    try:
        yield found
    finally:
        found.stop()


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
