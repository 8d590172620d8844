"""Credentials belong to scheme, host and port: no address that a server leads to gets those of another origin."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from requests.exceptions import RequestException
from requests.models import PreparedRequest
from urllib3 import HTTPResponse

from kymatui.adapters.content.blob_fetcher import fetch
from kymatui.adapters.content.chart_fetcher import ChartAccess, ChartFetcher
from kymatui.adapters.http.web_session import is_same_origin, next_address, open_web_session, origin_of, parts_of
from kymatui.adapters.kube.auth.credentials import bearer_credential
from kymatui.adapters.kube.transport.transport import Request, Transport
from kymatui.adapters.oci.docker_credentials import RegistryCredentials
from kymatui.adapters.oci.image_manifest import IMAGE_MANIFEST, digest_of
from kymatui.adapters.oci.image_reference import ImageReference
from kymatui.adapters.oci.registry import Registry
from kymatui.adapters.oci.requester import Requester
from kymatui.errors import HelmError, KymatuiError, RegistryError
from tests.adapters.clusters import Exchange, connection, serving

SECRET, TOKEN, COOKIE = "S3CRET", "issued-by-the-registry", "session-of-the-registry"
USERS = {"password": RegistryCredentials("ann", SECRET), "identity": RegistryCredentials(identity_token=SECRET)}
BLOB = b"content"


@dataclass
class Origin:
    """A server on a port of its own, which records all that it gets."""

    respond: Callable[[Exchange], None] = lambda exchange: exchange.answer(404, b"{}")
    address: str = ""
    requests: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        return self.address.removeprefix("http://")

    def answer(self, exchange: Exchange) -> None:
        query = json.dumps(exchange.query)
        self.requests.append(f"{exchange.method} {exchange.path} {query}\n{exchange.headers}\n{exchange.body.decode()}")
        self.respond(exchange)

    def has(self, secret: str) -> bool:
        basic = RegistryCredentials("ann", secret).basic
        return any(secret in text or basic in text for text in self.requests)


@contextmanager
def origins() -> Iterator[tuple[Origin, Origin, Origin]]:
    """Serve a registry, its token server and a stranger."""
    with ExitStack() as stack:
        found = Origin(), Origin(), Origin()
        for origin in found:
            origin.address = stack.enter_context(serving(origin.answer))
        registry, tokens, stranger = found
        tokens.respond = lambda exchange: exchange.json({"token": TOKEN})
        # another host and another port: a cookie has no port, so only one of both would hide it
        stranger.address = stranger.address.replace("127.0.0.1", "localhost")
        yield registry, tokens, stranger


def challenge(exchange: Exchange, realm: str) -> None:
    header = f'Bearer realm="{realm}/token",service="x"' if realm else 'Basic realm="x"'
    exchange.answer(401, b"{}", {"WWW-Authenticate": header, "Set-Cookie": f"sid={COOKIE}; Path=/"})


def guarded(tokens: Origin, lead: Callable[[Exchange], None], realm: str | None = None) -> Callable[[Exchange], None]:
    """Return a registry that requires its token, and then leads away."""

    def respond(exchange: Exchange) -> None:
        if exchange.headers.get("Authorization") == f"Bearer {TOKEN}":
            lead(exchange)
        else:
            challenge(exchange, tokens.address if realm is None else realm)

    return respond


Use = Callable[[Registry, str], object]
READS: dict[str, Use] = {
    "manifest": lambda client, host: client.fetch_manifest(f"{host}/a/b:1"),
    "blob": lambda client, host: list(client.read_blob(f"{host}/a/b", digest_of(BLOB))),
    "tags": lambda client, host: client.tags(f"{host}/a/b"),
    "referrers": lambda client, host: client.referrers(f"{host}/a/b", digest_of(BLOB)),
}
DEMANDS = {
    "Basic": lambda tokens, stranger: "",
    "its own token server": lambda tokens, stranger: stranger.address,
    "the registry's token server": lambda tokens, stranger: tokens.address,
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
@pytest.mark.parametrize("demand", DEMANDS.values(), ids=DEMANDS)
@pytest.mark.parametrize("use", READS.values(), ids=READS)
def test_a_redirect_gets_neither_credentials_nor_tokens(
    user: RegistryCredentials, demand: Callable[[Origin, Origin], str], use: Use
) -> None:
    with origins() as (registry, tokens, stranger):
        to_stranger = {"Location": f"{stranger.address}/v2/x/y/manifests/1"}
        registry.respond = guarded(tokens, lambda exchange: exchange.answer(307, b"", to_stranger))
        stranger.respond = lambda exchange: challenge(exchange, demand(tokens, stranger))
        with pytest.raises(RegistryError):
            use(Registry(insecure=True, credentials=lambda host: user), registry.host)
    assert tokens.has(SECRET)  # the registry itself named this server
    assert stranger.requests
    assert not any(stranger.has(secret) for secret in (SECRET, TOKEN, COOKIE))
    assert len([text for text in tokens.requests if SECRET in text or "Basic " in text]) == 1


def test_a_redirect_before_the_registry_asked_for_anything_gets_no_credentials() -> None:
    with origins() as (registry, _, stranger):
        to_stranger = {"Location": f"{stranger.address}/storage"}
        registry.respond = lambda exchange: exchange.answer(307, b"", to_stranger)
        stranger.respond = lambda exchange: challenge(exchange, "")
        client = Registry(insecure=True, credentials=lambda host: USERS["password"])
        with pytest.raises(RegistryError, match=r"which requires credentials; those of .* are not sent there"):
            client.fetch_manifest(f"{registry.host}/a/b:1")
    assert not stranger.has(SECRET)


def test_a_redirect_back_to_the_registry_gets_no_credentials() -> None:
    """A stranger chose that address, so what the registry answers there is no word of the registry's own."""
    with origins() as (registry, tokens, stranger):
        back = {"Location": f"{registry.address}/v2/chosen/by-the-stranger/manifests/1"}
        to_stranger = {"Location": f"{stranger.address}/storage"}
        registry.respond = guarded(tokens, lambda exchange: exchange.answer(307, b"", to_stranger))
        stranger.respond = lambda exchange: exchange.answer(307, b"", back)
        client = Registry(insecure=True, credentials=lambda host: USERS["password"])
        with pytest.raises(RegistryError):
            client.fetch_manifest(f"{registry.host}/a/b:1")
    chosen = [text for text in registry.requests if "by-the-stranger" in text]
    assert chosen
    assert not any(TOKEN in text and "Bearer" in text and SECRET in text for text in chosen)
    assert all("Basic " not in text for text in chosen)
    assert len([text for text in tokens.requests if "Basic " in text]) == 1


def test_a_stranger_makes_kymatui_ask_for_no_token_of_the_registry() -> None:
    with origins() as (registry, tokens, stranger):
        back = {"Location": f"{registry.address}/v2/chosen/by-the-stranger/manifests/1"}
        to_stranger = {"Location": f"{stranger.address}/storage"}

        def respond(exchange: Exchange) -> None:
            if "by-the-stranger" in exchange.path:
                challenge(exchange, tokens.address)
            else:
                exchange.answer(307, b"", to_stranger)

        registry.respond = respond
        stranger.respond = lambda exchange: exchange.answer(307, b"", back)
        with pytest.raises(RegistryError, match="which requires credentials"):
            Registry(insecure=True, credentials=lambda host: USERS["password"]).fetch_manifest(f"{registry.host}/a/b:1")
    assert tokens.requests == []
    assert not registry.has(SECRET)


def test_content_of_another_registry_is_read_with_an_anonymous_token() -> None:
    """Public registries such as ghcr.io ask everybody for a token, and names such as registry.k8s.io lead to them."""
    with origins() as (registry, tokens, stranger):
        raw = json.dumps({"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "layers": []}).encode()
        elsewhere = {"Location": f"{stranger.address}/v2/x/y/manifests/1"}
        registry.respond = guarded(tokens, lambda exchange: exchange.answer(307, b"", elsewhere))

        def respond(exchange: Exchange) -> None:
            if exchange.path == "/token":
                exchange.json({"token": "anonymous"})
            elif exchange.headers.get("Authorization") == "Bearer anonymous":
                exchange.answer(200, raw, {"Content-Type": IMAGE_MANIFEST})
            else:
                challenge(exchange, stranger.address)

        stranger.respond = respond
        client = Registry(insecure=True, credentials=lambda host: USERS["password"])
        assert client.fetch_manifest(f"{registry.host}/a/b:1").raw == raw
    assert "repository:x/y:pull" in stranger.requests[1]
    assert not any("anonymous" in text for text in registry.requests)
    assert not stranger.has(SECRET)


def test_a_token_server_of_another_host_gets_the_credentials_where_the_registry_names_it() -> None:
    """Docker Hub: registry-1.docker.io names auth.docker.io."""
    with origins() as (registry, tokens, stranger):
        del stranger
        registry.respond = guarded(tokens, lambda exchange: exchange.json({"tags": ["1"]}))
        client = Registry(insecure=True, credentials=lambda host: USERS["password"])
        assert client.tags(f"{registry.host}/a/b") == ["1"]
        assert client.tags(f"{registry.host}/a/b") == ["1"]
    assert tokens.has(SECRET)
    assert len(tokens.requests) == 1
    assert not registry.has(SECRET)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_a_redirect_of_the_token_server_gets_no_credentials(user: RegistryCredentials, status: int) -> None:
    with origins() as (registry, tokens, stranger):
        to_stranger = {"Location": f"{stranger.address}/token"}
        registry.respond = guarded(tokens, lambda exchange: exchange.json({"tags": []}))
        tokens.respond = lambda exchange: exchange.answer(status, b"", to_stranger)
        stranger.respond = lambda exchange: challenge(exchange, "")
        with pytest.raises(RegistryError):
            Registry(insecure=True, credentials=lambda host: user).tags(f"{registry.host}/a/b")
    assert tokens.has(SECRET)
    assert not stranger.has(SECRET)


def test_further_pages_on_another_host_get_no_credentials() -> None:
    with origins() as (registry, tokens, stranger):
        link = {"Link": f'<{stranger.address}/v2/a/b/tags/list?last=1>; rel="next"'}
        registry.respond = guarded(tokens, lambda exchange: exchange.json({"tags": ["1"]}, headers=link))
        stranger.respond = lambda exchange: challenge(exchange, stranger.address)
        with pytest.raises(RegistryError):
            Registry(insecure=True, credentials=lambda host: USERS["password"]).tags(f"{registry.host}/a/b")
        stranger.respond = lambda exchange: exchange.json({"tags": ["2"]})
        client = Registry(insecure=True, credentials=lambda host: USERS["password"])
        assert client.tags(f"{registry.host}/a/b") == ["1", "2"]
    assert not any(stranger.has(secret) for secret in (SECRET, TOKEN, COOKIE))


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_uploads_to_another_host_get_no_credentials(method: str) -> None:
    """The content goes where the registry wants it, as with every client; the credentials do not."""
    with origins() as (registry, tokens, stranger):

        def lead(exchange: Exchange) -> None:
            here = registry.address if method == "PATCH" and exchange.method == "POST" else stranger.address
            upload = {"Location": f"{here}/v2/a/b/blobs/uploads/1"}
            exchange.answer(404 if exchange.method == "HEAD" else 202, b"", upload)

        registry.respond = guarded(tokens, lead)
        stranger.respond = lambda exchange: challenge(exchange, stranger.address)
        client = Registry(insecure=True, credentials=lambda host: USERS["password"], chunk=4)
        with pytest.raises(RegistryError, match="requires credentials"):
            client.push_blob(f"{registry.host}/a/b", BLOB, "text/plain")
    assert [text.split()[0] for text in stranger.requests] == ["PATCH"]
    assert not any(stranger.has(secret) for secret in (SECRET, TOKEN, COOKIE))


def test_nothing_is_deleted_on_another_host() -> None:
    with origins() as (registry, tokens, stranger):
        upload = {"Location": f"{stranger.address}/v2/a/b/blobs/uploads/1"}
        registry.respond = guarded(tokens, lambda exchange: exchange.answer(202, b"", upload))
        client = Registry(insecure=True, credentials=lambda host: USERS["password"])
        where = ImageReference(registry.host, "a/b")
        assert not client.uploader().mount(where, digest_of(BLOB), "c/d")
    assert stranger.requests == []


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("demand", ["", "stranger"])
@pytest.mark.parametrize("path", ["/index.yaml", "/web-1.0.0.tgz", "/web-1.0.0.tgz.prov"])
def test_a_redirect_of_a_chart_repository_gets_no_password(path: str, demand: str, everywhere: bool) -> None:
    with origins() as (registry, _, stranger):
        entry = {"name": "web", "version": "1.0.0", "urls": ["web-1.0.0.tgz"]}
        index = json.dumps({"apiVersion": "v1", "entries": {"web": [entry]}}).encode()

        def respond(exchange: Exchange) -> None:
            if exchange.path == path:
                exchange.answer(302, b"", {"Location": f"{stranger.address}{path}", "Set-Cookie": f"sid={COOKIE}"})
            else:
                exchange.answer(200, index)

        registry.respond = respond
        stranger.respond = lambda exchange: challenge(exchange, demand and stranger.address)
        access = ChartAccess("ann", SECRET, plain_http=True, everywhere=everywhere)
        with pytest.raises((RegistryError, HelmError)):
            ChartFetcher(access).fetch("web", repository=registry.address, provenance=True)
    assert registry.has(SECRET)
    assert stranger.requests
    assert not any(stranger.has(secret) for secret in (SECRET, COOKIE))


def test_the_login_of_an_address_follows_no_redirect() -> None:
    with origins() as (registry, _, stranger):
        registry.respond = lambda exchange: exchange.answer(302, b"", {"Location": f"{stranger.address}/catalog"})
        stranger.respond = lambda exchange: exchange.answer(200, b"fine")
        address = registry.address.replace("http://", f"http://ann:{SECRET}@")
        assert fetch(f"{address}/catalog", largest=100, what="catalog") == b"fine"
    assert registry.has(SECRET)
    assert not stranger.has(SECRET)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST", "stream"])
def test_a_redirect_of_an_api_server_is_an_error(status: int, method: str) -> None:
    with origins() as (server, _, stranger):
        server.respond = lambda exchange: exchange.answer(status, b"{}", {"Location": f"{stranger.address}/api"})
        client = Transport(connection(server.address, bearer_credential(SECRET)), sleep=lambda _: None)
        request = Request("POST" if method == "POST" else "GET", "/api/v1/secrets", body=b"{}")
        with pytest.raises(KymatuiError):
            client.stream(request) if method == "stream" else client.send(request)
    assert server.has(SECRET)
    assert stranger.requests == []


def test_a_client_certificate_is_shown_to_its_own_registry_and_the_token_server_it_names() -> None:
    shown: list[tuple[str, object]] = []

    class Reply:
        status_code, is_redirect, raw = 200, False, HTTPResponse(b"")

        def __init__(self, address: str) -> None:
            self.headers: dict[str, str] = {}
            if "/redirected" in address:
                self.is_redirect, self.headers["Location"] = True, "https://b.example/storage"
            if "/guarded" in address and len(shown) == 1:
                self.status_code, self.headers["WWW-Authenticate"] = 401, 'Bearer realm="https://t.example/token"'

        def json(self) -> object:
            return {"token": "t"}

        def close(self) -> None:
            pass

    class Session:
        def request(self, method: str, url: str, *, cert: object, **more: Any) -> Reply:
            shown.append((url, cert))
            return Reply(url)

    pair = ("cert.pem", "key.pem")
    Requester(Session(), certificate=pair).send("GET", "https://a.example/redirected")
    assert shown == [("https://a.example/redirected", pair), ("https://b.example/storage", None)]
    shown.clear()
    Requester(Session(), certificate=pair).send("GET", "https://a.example/guarded")
    assert [(url.partition("/token")[0], cert) for url, cert in shown] == [
        ("https://a.example/guarded", pair),
        ("https://t.example", pair),
        ("https://a.example/guarded", pair),
    ]
    shown.clear()
    Requester(Session(), certificate=pair).send("GET", "https://b.example/page", owner="https://a.example/v2/")
    assert shown == [("https://b.example/page", None)]


def test_sessions_keep_no_cookies() -> None:
    with origins() as (registry, _, _stranger):
        registry.respond = lambda exchange: exchange.answer(200, b"", {"Set-Cookie": f"sid={COOKIE}; Path=/"})
        for session in (open_web_session(), Registry().session):
            session.get(registry.address)
            session.get(registry.address)
    assert not registry.has(COOKIE)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a.example/x", "https://a.example:443/y?z", True),
        ("https://A.example/x", "https://a.example/", True),
        ("https://ann:x@a.example/", "https://a.example/", True),
        ("http://[::1]/", "http://[::1]:80/", True),
        ("https://a.example/", "http://a.example/", False),
        ("https://a.example/", "https://a.example:8443/", False),
        ("https://a.example/", "https://b.a.example/", False),
        ("https://a.example/", "https://a.example.b/", False),
        ("https://a.example/", "https://a.example@b/", False),
        ("https://a.example/", "https://b\\@a.example/", False),
        ("https://a.example/", "https://b\t@a.example/", False),
        ("https://a.example:x/", "https://a.example:x/", False),
        ("", "", False),
        ("file:///a", "file:///a", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(one: str, other: str, same: bool) -> None:
    assert is_same_origin(one, other) is same
    assert is_same_origin(other, one) is same


@pytest.mark.parametrize("location", ["https://b\\@a.example/", "\\\\b\\x", "/x\ny", "https://b\x00@a.example/"])
def test_an_address_that_two_parsers_read_differently_is_followed_by_none(location: str) -> None:
    with pytest.raises(RegistryError, match="not a valid address"):
        next_address("here", "https://a.example/", location)


def test_the_checked_host_is_the_host_that_is_connected_to() -> None:
    """`https://b\\@a/` is a for urllib.parse, and b for urllib3."""
    letters, chosen = "ab.:/@\\?#[] \t\n%é。", random.Random(7)
    compared = 0
    for _ in range(20_000):
        address = "https://" + "".join(chosen.choices(letters, k=chosen.randint(1, 9)))
        origin = origin_of(address)
        request = PreparedRequest()
        with suppress(RequestException, ValueError):
            request.prepare_url(address, None)
            if origin is not None and address.isascii():
                assert request.url is not None
                assert (parts_of(request.url).hostname or "").lower() == origin[1], address
                compared += 1
    assert compared > 300
