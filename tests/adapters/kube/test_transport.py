"""What leaves and what does not; and every failure in words."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import socket
import ssl
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import urllib3

from kymatui import __version__
from kymatui.adapters.http.deadlines import run_abandonable
from kymatui.adapters.kube.api.client import Client, Reviews
from kymatui.adapters.kube.auth.connection import Connection
from kymatui.adapters.kube.auth.credentials import Credential, CredentialSource, bearer_credential
from kymatui.adapters.kube.auth.endpoint import Endpoint
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.transport import transport as transport_module
from kymatui.adapters.kube.transport.status_errors import SentRequest, error_of_response, unreachable
from kymatui.adapters.kube.transport.transport import Request, Transport
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import (
    CancelledError,
    ClusterError,
    ConfigurationError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ReadOnlyError,
    ServerError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
)
from tests import kube_writes
from tests.adapters.clusters import Exchange, connection, serving, status_body, transport

POD = ApiResource("", "v1", "Pod", "pods", True)
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Script:
    """Answers requests one after the other, the last answer for ever."""

    def __init__(self, *answers: Callable[[Exchange], Any]) -> None:
        self.answers = list(answers)
        self.seen: list[Exchange] = []

    def __call__(self, exchange: Exchange) -> None:
        self.seen.append(exchange)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        answer(exchange)


def fine(exchange: Exchange) -> None:
    exchange.json({"kind": "Pod", "metadata": {"name": "p"}})


def refuses(
    code: int, reason: str, message: str = "", headers: dict[str, str] | None = None
) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.json(status_body(code, reason, message), code, headers)


GET = Request("GET", "/api/v1/pods")


# the gate

WRITES = [
    *(
        (method, "/api/v1/namespaces/default/pods/p")
        for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "get", "CONNECT")
    ),
    ("POST", "/api/v1/namespaces/default/pods"),
    ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    ("POST", "/apis/authorization.k8s.io/v1/namespaces/x/localsubjectaccessreviews"),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
    ("POST", REVIEW + "/x"),
    ("POST", REVIEW + "/../../../../api/v1/namespaces"),
    ("POST", "/proxy" + REVIEW),
    ("PUT", REVIEW),
    ("GET", "/api/v1/namespaces/default/pods/p/exec"),
    ("GET", "/api/v1/namespaces/default/pods/p/attach"),
    ("GET", "/api/v1/namespaces/default/pods/p/portforward"),
    ("GET", "/api/v1/namespaces/default/services/s/proxy/delete-all"),
]


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_nothing_that_could_change_something_leaves_in_read_only(method: str, path: str) -> None:
    touched = Script(fine)
    with serving(touched) as address:
        guarded = transport(address, read_only=True)
        for send in (guarded.send, guarded.stream):
            with pytest.raises(ReadOnlyError):
                send(Request(method, path, [("dryRun", "All")], b"{}"))
        assert not touched.seen
        assert not guarded.counts


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/pods"),
        ("HEAD", "/readyz"),
        ("GET", "/api/v1/namespaces/default/pods/p/log"),
        ("POST", REVIEW),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"),
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews"),
    ],
)
def test_reading_and_asking_for_ones_rights_leave_in_read_only(method: str, path: str) -> None:
    with serving(Script(fine)) as address:
        guarded = transport(address, read_only=True)
        guarded.send(Request(method, path, body=b"{}" if method == "POST" else None))
        assert guarded.counts == {method: 1}


def test_no_method_of_the_client_writes_through_the_gate() -> None:
    touched = Script(lambda exchange: exchange.json({"status": {"allowed": False}}))
    with serving(touched) as address:
        client = Client(transport(address, read_only=True))
        body = {"metadata": {"name": "p", "namespace": "n"}}
        dry = {"dry_run": True}
        writes: list[Callable[[], object]] = [
            lambda: kube_writes.create(client, POD, body, "n"),
            lambda: kube_writes.create(client, POD, body, "n", **dry),
            lambda: kube_writes.update(client, POD, body),
            lambda: kube_writes.apply(client, POD, body),
            lambda: kube_writes.apply(client, POD, body, **dry),
            lambda: kube_writes.delete(client, POD, "p", "n"),
            lambda: kube_writes.delete(client, POD, "p", "n", dry_run=True),
            *((lambda kind=kind: kube_writes.patch(client, POD, "p", {}, kind, "n")) for kind in PatchKind),
        ]
        for write in writes:
            with pytest.raises(ReadOnlyError):
                write()
        assert Reviews(client.transport).allowed("get", "pods", namespace="n") is False
        assert {exchange.method for exchange in touched.seen} == {"POST"}
        assert all("selfsubject" in exchange.path for exchange in touched.seen)


# what goes with a request


def test_headers_name_us_the_user_and_whom_it_impersonates() -> None:
    script = Script(fine)
    made = Credential((("Authorization", "Bearer t"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")))
    with serving(script) as address:
        Transport(connection(address, made)).send(GET)
    headers = script.seen[0].headers
    assert headers["User-Agent"] == f"kymatui/{__version__}"
    assert headers["Authorization"] == "Bearer t"
    assert headers.get_all("Impersonate-Group") == ["a", "b"] or headers["Impersonate-Group"] == "a, b"
    assert headers["Accept-Encoding"] in (None, "identity")  # compressing costs more than loopback does


def test_an_environment_proxy_is_not_asked_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(Script(fine)) as address:
        assert transport(address).send(GET).status == 200


def test_a_proxy_of_the_kubeconfig_is_asked() -> None:
    script = Script(fine)
    with serving(script) as proxy:
        endpoint = Endpoint("http://cluster.example", proxy=proxy)
        found = Connection(((), ""), "", "", "", endpoint, CredentialSource(Credential))
        assert Transport(found).send(GET).status == 200
    assert script.seen[0].headers["Host"] == "cluster.example"


# trying again


@pytest.mark.parametrize("breaks", [1, 2])
def test_a_read_that_breaks_off_is_asked_again(breaks: int) -> None:
    with serving(Script(*[Exchange.drop] * breaks, fine)) as address:
        found = transport(address)
        assert found.send(GET).status == 200
        assert found.counts["GET"] == breaks + 1


def test_a_read_is_not_asked_for_ever() -> None:
    with serving(Script(Exchange.drop)) as address, pytest.raises(UnreachableError, match="was lost during GET"):
        transport(address).send(GET)


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_a_write_that_breaks_off_is_never_sent_twice(method: str) -> None:
    script = Script(Exchange.drop, fine)
    with serving(script) as address, pytest.raises(UnreachableError):
        transport(address).send(Request(method, "/api/v1/namespaces", body=b"{}"))
    assert len(script.seen) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_put_off_for_a_moment_is_asked_again(method: str) -> None:
    script = Script(refuses(429, "TooManyRequests", headers={"Retry-After": "1"}), fine)
    with serving(script) as address:
        assert transport(address).send(Request(method, "/x", body=b"{}")).status == 200


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/x", {"Retry-After": "3600"}),
        ("/x", {}),
        ("/x", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        ("/api/v1/namespaces/n/pods/p/eviction", {"Retry-After": "1"}),
    ],
)
def test_what_is_put_off_for_long_or_held_back_by_a_budget_is_an_answer(path: str, headers: dict[str, str]) -> None:
    script = Script(refuses(429, "TooManyRequests", "later", headers), fine)
    with serving(script) as address, pytest.raises(ThrottledError, match="later") as caught:
        transport(address).send(Request("POST", path, body=b"{}"))
    assert caught.value.retry_after == (3600 if headers.get("Retry-After") == "3600" else caught.value.retry_after)
    assert len(script.seen) == 1


def test_a_server_that_always_puts_off_is_given_up() -> None:
    script = Script(refuses(429, "TooManyRequests", headers={"Retry-After": "1"}))
    with serving(script) as address, pytest.raises(ThrottledError):
        transport(address).send(GET)
    assert len(script.seen) == 5


def test_an_expired_token_is_read_again_once() -> None:
    tokens = iter(["old", "new"])

    def checks(exchange: Exchange) -> None:
        if exchange.headers["Authorization"] == "Bearer new":
            fine(exchange)
        else:
            exchange.status(401, "Unauthorized")

    with serving(checks) as address:
        found = Transport(connection(address, credentials=CredentialSource(lambda: bearer_credential(next(tokens)))))
        assert found.send(GET).status == 200
        assert found.send(GET).status == 200
        assert found.counts["GET"] == 3


def test_credentials_that_stay_wrong_are_refused_with_the_user_and_the_kind_of_proof() -> None:
    script = Script(refuses(401, "Unauthorized"))
    with serving(script) as address, pytest.raises(UnauthorizedError) as caught:
        transport(address).send(GET)
    assert "'ann'" in str(caught.value)
    assert "'test'" in str(caught.value)
    assert "a token" in str(caught.value)
    assert len(script.seen) == 1


def test_an_expired_web_token_says_when() -> None:
    from tests.adapters.kube.test_credentials import jwt

    with serving(Script(refuses(401, "Unauthorized"))) as address, pytest.raises(UnauthorizedError) as caught:
        Transport(connection(address, bearer_credential(jwt({"exp": 86400})))).send(GET)
    assert "expired at 1970-01-02 00:00:00 UTC" in caught.value.hint


# time and cancelling


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that accepts and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()


def test_a_server_that_never_answers_is_given_up(silent: str) -> None:
    with pytest.raises(UnreachableError, match="did not answer GET"):
        transport(silent).send(Request("GET", "/x", timeout=(1.0, 0.1)))


@pytest.fixture
def crowded() -> Iterator[str]:
    """An address that listens, and whose queue of connections is full."""
    with contextlib.ExitStack() as open_sockets:
        listener = open_sockets.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = open_sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_what_never_lets_one_in_is_said_with_the_time_that_it_took(crowded: str) -> None:
    with pytest.raises(UnreachableError, match=r"accepts no connection \(tried for [\d.]+ s\)"):
        transport(f"http://{crowded}").send(Request("GET", "/x", timeout=(0.2, 30.0)))


def test_a_handshake_that_never_ends_is_said_with_the_time_that_it_took(silent: str) -> None:
    with pytest.raises(UnreachableError, match=r"did not complete the TLS handshake within [\d.]+ s"):
        transport(silent.replace("http://", "https://")).send(Request("GET", "/x", timeout=(0.2, 30.0)))


def test_an_answer_may_take_longer_than_the_connection() -> None:
    def slowly(exchange: Exchange) -> None:
        time.sleep(0.4)
        exchange.answer(200, b"{}")

    with serving(slowly) as address:
        assert transport(address).send(Request("GET", "/x", timeout=(0.2, 20.0))).body == b"{}"


def test_the_first_answer_has_a_deadline_of_its_own(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "FIRST_ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(transport_module, "FIRST_AGAIN_SECONDS", 0.1)
    found, began = transport(silent), time.monotonic()
    for _ in range(3):  # the later ones do not wait the whole time again
        with pytest.raises(UnreachableError, match=r"did not answer GET /x within [\d.]+ s"):
            found.send(Request("GET", "/x"))
    assert time.monotonic() - began < 5


def test_who_answered_once_is_given_the_time_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "FIRST_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(transport_module, "FIRST_AGAIN_SECONDS", 0.2)

    def slower_and_slower(exchange: Exchange) -> None:
        time.sleep(0.5 if exchange.path == "/slow" else 0)
        exchange.answer(200, b"{}")

    with serving(slower_and_slower) as address:
        found = transport(address)
        found.send(Request("GET", "/quick"))
        assert found.send(Request("GET", "/slow")).body == b"{}"


def test_waiting_can_be_stopped(silent: str) -> None:
    cancel = threading.Event()
    threading.Timer(0.1, cancel.set).start()
    with pytest.raises(CancelledError):
        transport(silent).send(Request("GET", "/x", timeout=(1.0, 5.0)), cancel)


def test_what_is_stopped_before_is_not_sent() -> None:
    script = Script(fine)
    cancel = threading.Event()
    cancel.set()
    with serving(script) as address, pytest.raises(CancelledError):
        transport(address).send(GET, cancel)
    assert not script.seen


# failures in words


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(UnreachableError, match=f"nothing listens at http://127.0.0.1:{port}"):
        transport(f"http://127.0.0.1:{port}").send(GET)


def test_a_network_that_leads_nowhere_is_said_in_the_words_of_the_system() -> None:
    error = urllib3.exceptions.NewConnectionError(None, "Failed to establish a new connection")  # type: ignore[arg-type]
    error.__cause__ = OSError(errno.ENETUNREACH, "Network is unreachable")
    assert "Network is unreachable" in str(unreachable(SentRequest("GET", "/x", "https://far"), error, "0.1 s"))


def test_a_name_that_nobody_knows() -> None:
    with pytest.raises(UnreachableError, match="cannot be resolved"):
        transport("http://nowhere.invalid").send(GET)


@pytest.mark.parametrize("status", [200, 403, 302, 502])
def test_a_login_page_is_no_api_server(status: int) -> None:
    page = b"<html><body>Please log in</body></html>"
    headers = {"Content-Type": "text/html; charset=utf-8", "Location": "https://login.example"}
    with serving(Script(lambda exchange: exchange.answer(status, page, headers))) as address:
        with pytest.raises(ServerError, match="as a Kubernetes API server") as caught:
            transport(address).send(GET)
        assert address in str(caught.value)


def test_http_spoken_to_an_https_server_is_said() -> None:
    text = b"Client sent an HTTP request to an HTTPS server.\n"
    plain = {"Content-Type": "text/plain"}
    script = Script(lambda exchange: exchange.answer(400, text, plain))
    with serving(script) as address, pytest.raises(UnreachableError, match="uses HTTPS, but the request was HTTP"):
        transport(address).send(GET)


STATUSES: list[tuple[int, str, type[ClusterError]]] = [
    (400, "BadRequest", InvalidError),
    (401, "Unauthorized", UnauthorizedError),
    (403, "Forbidden", ForbiddenError),
    (404, "NotFound", NotFoundError),
    (405, "MethodNotAllowed", InvalidError),
    (409, "Conflict", ConflictError),
    (410, "Expired", ExpiredError),
    (413, "RequestEntityTooLarge", InvalidError),
    (415, "UnsupportedMediaType", InvalidError),
    (422, "Invalid", InvalidError),
    (429, "TooManyRequests", ThrottledError),
    (500, "InternalError", ServerError),
    (503, "ServiceUnavailable", ServerError),
    (504, "Timeout", ServerError),
]


@pytest.mark.parametrize(("code", "reason", "kind"), STATUSES)
def test_each_status_is_an_error_with_the_servers_reason(code: int, reason: str, kind: type[ClusterError]) -> None:
    details = {"causes": [{"field": ".spec"}]}
    body = {**status_body(code, reason, "the server's words"), "details": details}
    with serving(Script(lambda exchange: exchange.json(body, code))) as address, pytest.raises(kind) as caught:
        transport(address).send(GET)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.reason) == (code, reason)
    assert caught.value.body["details"] == details
    if code != 401:
        assert "the server's words" in str(caught.value)


@pytest.mark.parametrize("code", [code for code, _, _ in STATUSES])
@pytest.mark.parametrize(
    "body", [b"", b"oops", b"{", b"null", b"[]", b'{"kind": "Status"}', b'{"kind":"Status","code":"x"}']
)
def test_answers_without_a_status_are_errors_all_the_same(code: int, body: bytes) -> None:
    asked = SentRequest("GET", "/x", "https://a.example")
    assert isinstance(error_of_response(asked, code, {"Content-Type": "text/plain"}, body), ClusterError)


def test_a_manifest_that_does_not_fit_is_refused_for_good_though_the_server_says_500() -> None:
    said = "failed to create typed patch object (a/d; apps/v1, Kind=Deployment): .spec.x: field not declared in schema"
    body = json.dumps({"kind": "Status", "status": "Failure", "message": said, "code": 500}).encode()
    error = error_of_response(SentRequest("PATCH", "/x", "https://a.example"), 500, {}, body)
    assert (type(error), str(error)) == (InvalidError, said)


@pytest.mark.parametrize("code", [403, 422, 429, 500])
def test_a_long_message_of_a_server_is_cut_and_its_status_is_whole(code: int) -> None:
    causes = [{"field": f".spec.{number}"} for number in range(1000)]
    status = {"kind": "Status", "message": "x" * 400_000, "code": code, "details": {"causes": causes}}
    asked = SentRequest("PATCH", "/x", "https://a.example")
    error = error_of_response(asked, code, {}, json.dumps(status).encode())
    assert 4096 <= len(str(error)) < 4200
    assert str(error).endswith("x…")
    assert error.body["details"]["causes"] == causes


def test_a_refusal_says_how_to_find_out_about_the_right() -> None:
    said = (
        'things.example.com is forbidden: User "ann" cannot list resource "things" in API group "example.com" '
        'in the namespace "n"'
    )
    with (
        serving(Script(refuses(403, "Forbidden", said))) as address,
        pytest.raises(ForbiddenError, match="ann") as caught,
    ):
        transport(address).send(GET)
    assert "auth can-i list things.example.com -n n" in caught.value.hint


# TLS


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """A certificate for `here.example` that nobody else signed, with its key."""
    return make_certificate(tmp_path / "server.pem", "here.example")


def make_certificate(file: Path, name: str) -> Path:
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(certificate.public_bytes(pem) + private)
    return file


@pytest.fixture
def secure(authority: Path) -> Iterator[str]:
    """An HTTPS server that asks for a client certificate signed by itself, where one is there."""
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert isinstance(self.connection, ssl.SSLSocket)
            body = b'{"certificate": %s}' % (b"true" if self.connection.getpeercert() else b"false")
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Refused handshakes are what is tested."""

    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority)
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def over_tls(endpoint: Endpoint, credential: Credential | None = None) -> Transport:
    return Transport(Connection(((), ""), "", "", "", endpoint, CredentialSource(lambda: credential or Credential())))


def test_an_authority_and_a_server_name_of_the_kubeconfig_are_honoured(secure: str, authority: Path) -> None:
    found = over_tls(Endpoint(secure, authority.read_text(), server_name="here.example")).send(GET)
    assert found.body == b'{"certificate": false}'


def test_a_client_certificate_is_shown_and_leaves_no_file(
    secure: str, authority: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kymatui.adapters.kube.auth.endpoint import ClientCertificate

    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    pair = authority.read_text()
    endpoint = Endpoint(secure, pair, server_name="here.example")
    found = over_tls(endpoint, Credential((), ClientCertificate(pair, pair))).send(GET)
    assert found.body == b'{"certificate": true}'
    assert list(folder.iterdir()) == []


def test_an_authority_that_nobody_trusts_is_said(secure: str) -> None:
    with pytest.raises(UnreachableError, match="no TLS connection") as caught:
        over_tls(Endpoint(secure)).send(GET)
    assert "certificate-authority" in caught.value.hint


def test_a_certificate_for_another_name_is_said(secure: str, authority: Path) -> None:
    with pytest.raises(UnreachableError, match="no TLS connection") as caught:
        over_tls(Endpoint(secure, authority.read_text())).send(GET)
    assert "tls-server-name" in caught.value.hint


def test_insecure_is_insecure_because_it_was_asked_for(secure: str) -> None:
    assert over_tls(Endpoint(secure, insecure=True)).send(GET).status == 200


def test_tls_spoken_to_a_plain_server_is_said() -> None:
    with serving(Script(fine)) as address, pytest.raises(UnreachableError, match="no TLS connection") as caught:
        over_tls(Endpoint(address.replace("http:", "https:"), insecure=True)).send(GET)
    assert "plain HTTP" in caught.value.hint


def _silent(_: socket.socket) -> None:
    time.sleep(5)


def _closing(accepted: socket.socket) -> None:
    accepted.recv(4096)


def _resetting(accepted: socket.socket) -> None:
    accepted.recv(10)
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _alerting(code: int) -> Callable[[socket.socket], None]:
    def alert(accepted: socket.socket) -> None:
        accepted.recv(4096)
        accepted.sendall(bytes([21, 3, 3, 0, 2, 2, code]))
        accepted.recv(4096)

    return alert


@pytest.mark.parametrize(
    ("peer", "message", "hint"),
    [
        (_silent, "did not complete the TLS handshake within 2 s", "port"),
        (_closing, "closed the connection during the TLS handshake", "port"),
        (_resetting, "closed the connection during the TLS handshake", "port"),
        (_alerting(116), "no TLS connection to {}: it requires a client certificate", "client-certificate"),
        (_alerting(42), "no TLS connection to {}: it rejected the client certificate", "new kubeconfig"),
        (_alerting(70), "no TLS connection to {}: it supports no version of TLS from 1.2 on", "update"),
    ],
    ids=["silent", "closing", "resetting", "wants a certificate", "rejects the certificate", "old versions only"],
)
def test_a_handshake_that_fails_says_so(peer: Callable[[socket.socket], None], message: str, hint: str) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:  # a connection that is lost is opened once more
                    with listener.accept()[0] as accepted:
                        peer(accepted)

        threading.Thread(target=serve, daemon=True).start()
        host = f"https://127.0.0.1:{listener.getsockname()[1]}"
        patience = 2 if peer is _silent else 60
        with pytest.raises(UnreachableError) as caught:
            over_tls(Endpoint(host, insecure=True)).send(Request("GET", "/apis", timeout=(patience, patience)))
    assert message.format(host) in str(caught.value)
    assert "/apis" not in str(caught.value)
    assert hint in caught.value.hint


def test_certificates_that_are_none_are_refused_before_anything_is_sent(authority: Path) -> None:
    from kymatui.adapters.kube.auth.endpoint import ClientCertificate

    with pytest.raises(ConfigurationError, match="is not a certificate"):
        over_tls(Endpoint("https://a.example", "rubbish")).send(GET)
    with pytest.raises(ConfigurationError, match="client certificate"):
        over_tls(Endpoint("https://a.example", insecure=True), Credential((), ClientCertificate("x", "y"))).send(GET)


# what a failure leaves behind


class Work:
    """What a caller has at hand while it asks."""


@pytest.fixture
def no_collector() -> Iterator[None]:
    """An operator collects rarely: what only the collector finds would pile up meanwhile."""
    gc.disable()
    yield
    gc.enable()


def asks_at_work(ask: Callable[[], object]) -> weakref.ref[Work]:
    work = Work()
    with contextlib.suppress(ClusterError):
        ask()
    return weakref.ref(work)


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("code", [404, 409, 429, 500])
@pytest.mark.parametrize("cancel", [None, threading.Event()], ids=["waiting", "abandonable"])
def test_an_answer_that_is_an_error_keeps_nothing_of_its_callers_alive(
    code: int, cancel: threading.Event | None
) -> None:
    with serving(Script(refuses(code, "Odd"))) as address:
        sender = transport(address)
        assert asks_at_work(lambda: sender.send(GET, cancel))() is None


@pytest.mark.usefixtures("no_collector")
def test_what_fails_beside_others_keeps_nothing_of_its_callers_alive() -> None:
    def fails(item: int) -> None:
        raise ServerError(f"no {item}")

    stop = threading.Event()
    assert asks_at_work(lambda: run_for_each([1, 2], fails, stop))() is None
    assert asks_at_work(lambda: run_abandonable(lambda: fails(1), stop))() is None


def test_what_an_abandoned_call_returns_is_dropped_and_nothing_else_is() -> None:
    stop, may_end, dropped, ended = threading.Event(), threading.Event(), list[int](), threading.Event()

    def slow() -> int:
        stop.set()
        may_end.wait(30)
        return 1

    def drop(result: int) -> None:
        dropped.append(result)
        ended.set()

    with pytest.raises(CancelledError):
        run_abandonable(slow, stop, drop)
    assert dropped == []
    may_end.set()
    assert ended.wait(30)
    assert dropped == [1]
    assert run_abandonable(lambda: 2, threading.Event(), drop) == 2
    assert dropped == [1]


def test_a_stream_that_comes_after_it_was_given_up_is_closed() -> None:
    """However long its error is kept: that refers to the call, and the call to its result."""
    asked, may_answer, stop, closed = (threading.Event() for _ in range(4))

    class Late(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.set()
            may_answer.wait(30)
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.rfile.read(1)  # until the client closes the connection
            closed.set()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Late)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    late = Transport(connection(f"http://127.0.0.1:{server.server_port}"))

    def give_up() -> None:
        asked.wait(30)
        stop.set()

    threading.Thread(target=give_up).start()
    with pytest.raises(CancelledError) as kept:
        late.stream(Request("GET", "/"), stop)
    may_answer.set()
    assert closed.wait(10)
    assert kept.value
    server.shutdown()
    server.server_close()
