"""Proxies of the kubeconfig and of the environment: one set of rules for API servers, registries and the web."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.adapters.http.web_session import ProxyServer, find_proxy, open_web_session
from kymatui.adapters.kube.auth.endpoint import read_endpoint
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.adapters.oci.requester import Requester
from kymatui.errors import ConfigurationError, RegistryUnreachableError
from tests.adapters.kube.secure import Authority, Server, connect_proxy, secure_serving, socks_proxy


@pytest.mark.parametrize("proxy", ["http://[", "http://", "ftp://a"])
def test_a_proxy_that_is_no_address_is_refused(proxy: str) -> None:
    with pytest.raises(ConfigurationError, match="proxy-url"):
        read_endpoint(KubeconfigEntry("a", {"server": "https://a.example", "proxy-url": proxy}, Path("file")))


GO = [
    # exceptions, server, whether Go's net/http (golang.org/x/net/http/httpproxy) uses the proxy
    ("", "https://api.example.com:6443", True),
    ("", "https://localhost:6443", False),
    ("", "https://a.localhost:6443", True),
    ("", "https://127.0.0.2:6443", False),
    ("", "https://[::1]:6443", False),
    ("*", "https://api.example.com:6443", False),
    ("other,*", "https://10.0.0.1", False),
    ("example.com", "https://example.com", False),
    ("example.com", "https://api.example.com:6443", False),
    ("example.com", "https://badexample.com", True),
    (".example.com", "https://example.com", True),
    (".example.com", "https://api.example.com", False),
    ("*.example.com", "https://example.com", True),
    ("*.example.com", "https://a.b.example.com", False),
    ("EXAMPLE.com ", "https://api.Example.COM", False),
    ("a, api.example.com ,b", "https://api.example.com", False),
    ("api.example.com:6443", "https://api.example.com:6443", False),
    ("api.example.com:6443", "https://api.example.com", True),
    ("api.example.com:443", "https://api.example.com", False),
    ("example.com:80", "http://api.example.com", False),
    ("10.0.0.0/8", "https://10.1.2.3:6443", False),
    ("10.0.0.0/8", "https://11.1.2.3:6443", True),
    ("10.1.2.3", "https://10.1.2.3:6443", False),
    ("10.1.2.3:6443", "https://10.1.2.3:6443", False),
    ("10.1.2.3:443", "https://10.1.2.3:6443", True),
    ("10.1.2", "https://10.1.2.3:6443", True),
    (".3", "https://10.1.2.3:6443", True),
    ("2001:db8::/32", "https://[2001:db8::1]:6443", False),
    ("2001:db8::1", "https://[2001:db8::1]", False),
    ("[2001:db8::1]:6443", "https://[2001:db8::1]:6443", False),
    ("[2001:db8::1]:443", "https://[2001:db8::1]:6443", True),
    ("10.0.0.0/99", "https://10.0.0.1", True),
    (",", "https://api.example.com", True),
    ("com", "https://api.example.com", False),
]


@pytest.mark.parametrize("spelling", ["NO_PROXY", "no_proxy"])
@pytest.mark.parametrize(("exceptions", "server", "is_proxied"), GO)
def test_exceptions_are_those_of_go(exceptions: str, server: str, is_proxied: bool, spelling: str) -> None:
    address = "http://proxy.example:3128"
    environment = {"HTTPS_PROXY": address, "HTTP_PROXY": address, spelling: exceptions}
    proxy = find_proxy(server, "", environment)
    assert (proxy is not None) is is_proxied
    assert find_proxy(server, address, environment) == ProxyServer(address, "proxy-url of the kubeconfig")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HTTPS_PROXY": "http://a:1", "https_proxy": "http://b:1"}, ProxyServer("http://a:1", "HTTPS_PROXY")),
        ({"HTTPS_PROXY": "", "https_proxy": "http://b:1"}, ProxyServer("http://b:1", "https_proxy")),
        ({"HTTPS_PROXY": "a:3128"}, ProxyServer("http://a:3128", "HTTPS_PROXY")),
        ({"HTTP_PROXY": "http://a:1"}, None),
        ({"ALL_PROXY": "socks5://a:1", "all_proxy": "socks5://a:1"}, None),
        ({"HTTPS_PROXY": "socks5://a:1"}, ProxyServer("socks5://a:1", "HTTPS_PROXY")),
    ],
)
def test_the_variables_are_those_of_go(environment: dict[str, str], expected: ProxyServer | None) -> None:
    assert find_proxy("https://api.example.com", "", environment) == expected


REGISTRY = "registry.far.example:5000"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, str]]:
    """A registry whose name only proxies know, and the CA of its certificate; the environment has no proxy."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    authority = Authority()
    ca = tmp_path / "ca.pem"
    ca.write_text(authority.pem)
    with secure_serving(authority, tmp_path, "registry.far.example") as server:
        yield server, str(ca)


def ask(ca: str) -> int:
    with open_web_session() as session:
        return int(
            Requester(session, verify=ca, pause=lambda seconds: None).send("GET", f"https://{REGISTRY}/v2/").status_code
        )


def test_registries_are_asked_through_the_proxy_of_the_environment(
    registry: tuple[Server, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, ca = registry
    with connect_proxy({REGISTRY: server.port}, "Basic YW5uOnBAcw==") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ann:p%40s@127.0.0.1:{proxy.port}")
        assert ask(ca) == 200
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(RegistryUnreachableError, match=r"refuses the connection to registry.far.example:5000: 407"):
            ask(ca)
    assert {*proxy.targets} == {REGISTRY}


def test_a_socks_proxy_resolves_the_name_of_a_registry(
    registry: tuple[Server, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, ca = registry
    with socks_proxy({REGISTRY: server.port}) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"socks5://127.0.0.1:{proxy.port}")
        assert ask(ca) == 200
    assert proxy.targets == [REGISTRY]


@pytest.mark.parametrize("exceptions", ["far.example", ".far.example", "registry.far.example:5000", "*"])
def test_exceptions_hold_for_registries(
    registry: tuple[Server, str], monkeypatch: pytest.MonkeyPatch, exceptions: str
) -> None:
    server, ca = registry
    with connect_proxy({REGISTRY: server.port}) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", exceptions)
        with pytest.raises(RegistryUnreachableError, match=r"cannot reach registry.far.example:5000"):
            ask(ca)
        monkeypatch.setenv("NO_PROXY", "registry.far.example:443,10.0.0.0/8")
        assert ask(ca) == 200
    assert proxy.targets == [REGISTRY]


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_a_proxy_that_refuses_is_named(
    registry: tuple[Server, str], monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    _, ca = registry
    monkeypatch.setenv("https_proxy", f"{scheme}://ann:SECRET@127.0.0.1:9")
    with pytest.raises(RegistryUnreachableError) as raised:
        ask(ca)
    assert str(raised.value) == f"the proxy {scheme}://127.0.0.1:9 (https_proxy) refuses connections"
    assert "https_proxy" in raised.value.hint


def test_requests_own_rules_do_not_hold(registry: tuple[Server, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Go has no ALL_PROXY."""
    _, ca = registry
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with pytest.raises(RegistryUnreachableError, match=r"cannot reach registry.far.example:5000"):
        ask(ca)
