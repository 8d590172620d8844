"""Redirects, links and addresses that servers send: bounded, readable, and without the credentials of another host."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.content import chart_fetcher
from kymatui.adapters.content.chart_fetcher import ChartFetcher
from kymatui.adapters.http.web_session import open_web_session
from kymatui.adapters.oci.docker_credentials import RegistryCredentials
from kymatui.adapters.oci.registry import Registry
from kymatui.adapters.oci.requester import Requester
from kymatui.errors import HelmError, RegistryError
from kymatui.helm.charts.repositories import ChartVersion, archive_url
from tests.adapters import hostile
from tests.adapters.clusters import Exchange, serving

BAD = ("http://[", "http://..", "http://" + "a" * 300 + "/", "http://127.0.0.1:x/", "//", "file:///etc/passwd")
Use = Callable[[str], Any]
USES: dict[str, Use] = {
    "manifest": lambda address: Registry(insecure=True).fetch_manifest(f"{_host(address)}/a/b:1"),
    "tags": lambda address: Registry(insecure=True).tags(f"{_host(address)}/a/b"),
    "blob": lambda address: list(Registry(insecure=True).read_blob(f"{_host(address)}/a/b", "sha256:" + "0" * 64)),
    "index": lambda address: ChartFetcher().index(address),
    "archive": lambda address: ChartFetcher().fetch(f"{address}/web-1.0.0.tgz"),
}


def _host(address: str) -> str:
    return address.removeprefix("http://")


def leading(status: int, location: str, body: bytes = b"", **headers: str) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(status, body, {"Location": location, **headers})


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("location", BAD, ids=lambda text: text[:20])
def test_a_redirect_to_no_address_is_an_error(use: Use, location: str) -> None:
    with serving(leading(302, location)) as address, pytest.raises(RegistryError):
        use(address)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_redirects_end(use: Use) -> None:
    count = [0]

    def respond(exchange: Exchange) -> None:
        count[0] += 1
        leading(307, f"{exchange.path}?n={count[0]}")(exchange)

    with serving(respond) as address, pytest.raises(RegistryError, match="redirects more than"):
        use(address)
    assert count[0] == 6


def test_sessions_leave_the_bodies_of_redirects_unread() -> None:
    packed = leading(302, "/moved", gzip.compress(b" " * 1_000_000), **{"Content-Encoding": "gzip"})
    with serving(packed) as address:
        for session in (open_web_session(), Registry().session):
            with session.get(address, stream=True, allow_redirects=False) as response:
                assert response.is_redirect
                assert response.raw.tell() == 0


@cache
def bomb() -> bytes:
    return gzip.compress(b" " * 300_000_000, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells of memory")
@pytest.mark.parametrize(
    "words", [("helm", "show", "chart", "web", "--repo", "URL"), ("helm", "pull", "oci://HOST/a:1")]
)
def test_packed_redirects_cost_less_than_300_mb(words: tuple[str, ...], tmp_path: Path) -> None:
    packed = bomb()

    def respond(exchange: Exchange) -> None:
        if exchange.query:
            exchange.answer(404, b"")
        else:
            leading(302, f"{exchange.path}?moved=1", packed, **{"Content-Encoding": "gzip"})(exchange)

    with serving(respond) as address:
        named = [word.replace("URL", address).replace("HOST", _host(address)) for word in words]
        plain = ["--plain-http"] if "pull" in words else []
        run = hostile.run_against(address, tmp_path, [*named, *plain])
    assert run.memory < 300, run
    assert "HTTP 404" in run.errors


def test_nothing_leads_out_of_tls() -> None:
    class Session:
        def request(self, method: str, url: str, **more: Any) -> Any:
            assert url.startswith("https://")
            assert not more["allow_redirects"]
            return _Moved()

    with pytest.raises(RegistryError, match="an address without TLS"):
        Requester(Session()).send("GET", "https://here.example/v2/a/b/tags/list")


class _Moved:
    status_code, is_redirect, headers = 302, True, {"Location": "http://there.example/"}

    def close(self) -> None:
        pass


@pytest.mark.parametrize("status", [307, 308])
def test_an_identity_token_does_not_follow_a_redirect(status: int) -> None:
    seen: list[bytes] = []

    def other(exchange: Exchange) -> None:
        seen.append(exchange.body)
        exchange.json({"token": "x"})

    with serving(other) as elsewhere:
        away = elsewhere.replace("127.0.0.1", "localhost")

        def respond(exchange: Exchange) -> None:
            if exchange.path == "/token":
                leading(status, f"{away}/token")(exchange)
                return
            realm = f'Bearer realm="http://{exchange.headers["Host"]}/token"'
            exchange.answer(401, b"", {"WWW-Authenticate": realm})

        with serving(respond) as address:
            registry = Registry(insecure=True, credentials=lambda host: RegistryCredentials(identity_token="secret"))
            with pytest.raises(RegistryError, match=rf"did not return a token \(HTTP {status}\)"):
                registry.tags(f"{_host(address)}/a/b")
    assert seen == []


def test_a_challenge_with_no_address_is_an_error() -> None:
    challenge = {"WWW-Authenticate": 'Bearer realm="http://["'}
    refused = pytest.raises(RegistryError, match="as its token server")
    with serving(lambda exchange: exchange.answer(401, b"", challenge)) as address, refused:
        USES["tags"](address)


@pytest.mark.parametrize("location", BAD[:1] + BAD[5:])
def test_a_next_page_at_no_address_is_an_error(location: str) -> None:
    link = {"Link": f'<{location}>; rel="next"'}
    tags = {"tags": ["1"]}
    with serving(lambda exchange: exchange.json(tags, headers=link)) as address, pytest.raises(RegistryError):
        USES["tags"](address)


@pytest.mark.parametrize("everywhere", [True, False])
def test_the_password_of_a_repository_goes_to_no_registry_it_points_to(everywhere: bool) -> None:
    seen: list[str | None] = []

    def registry(exchange: Exchange) -> None:
        seen.append(exchange.headers.get("Authorization"))
        exchange.answer(401, b"", {"WWW-Authenticate": "Basic realm=x"})

    with serving(registry) as elsewhere:
        entry = {"name": "web", "version": "1.0.0", "urls": [f"oci://{_host(elsewhere)}/a/web:1.0.0"]}
        index = json.dumps({"apiVersion": "v1", "entries": {"web": [entry]}}).encode()
        access = chart_fetcher.ChartAccess(username="ann", password="secret", plain_http=True, everywhere=everywhere)
        with serving(lambda exchange: exchange.answer(200, index)) as address, pytest.raises(RegistryError):
            ChartFetcher(access).fetch("web", repository=address)
    assert [bool(text) for text in seen] == ([False, True] if everywhere else [False])


def test_the_query_of_a_repository_goes_to_no_other_host() -> None:
    def url(location: str) -> str:
        return archive_url("https://a.example/charts?token=x", ChartVersion("web", "1", (location,), ""))

    assert url("web.tgz").endswith("?token=x")
    assert url("https://b.example/web.tgz") == "https://b.example/web.tgz"
    with pytest.raises(HelmError, match="no URL that can be fetched"):
        url("http://[")


def test_json_of_a_registry_that_would_take_much_memory_is_not_decoded() -> None:
    many = b'{"tags":[' + b"{}," * 1_300_000 + b"{}]}"
    for use in ("tags", "manifest"):
        heavy = pytest.raises(RegistryError, match="more than 1000000 values")
        with serving(lambda exchange: exchange.answer(200, many)) as address, heavy:
            USES[use](address)
