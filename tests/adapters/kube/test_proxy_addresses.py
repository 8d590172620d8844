"""The proxy-url of a kubeconfig."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.adapters.kube.auth.endpoint import read_endpoint
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.adapters.kube.auth.proxies import ProxyServer, find_proxy
from kymatui.errors import ConfigurationError


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
