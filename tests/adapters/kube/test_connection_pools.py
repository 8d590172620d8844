"""The pool of a cluster is the one that the official client makes of the same settings."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

import pytest
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from urllib3 import PoolManager, ProxyManager, make_headers
from urllib3.contrib.socks import SOCKSProxyManager

from kymatui.adapters.kube.auth.connection_pool import POOL_SIZE, _keepalive, open_pool
from kymatui.adapters.kube.auth.endpoint import ClientCertificate, Endpoint
from kymatui.errors import ConfigurationError

FAR = "https://api.cluster.example:6443/base"
LOGIN = "http://us%40er:pa%3Ass@proxy.example:3128"
ENDPOINTS = {
    "plain http": Endpoint("http://api.cluster.example"),
    "machine's authorities": Endpoint(FAR),
    "insecure": Endpoint(FAR, insecure=True),
    "server name": Endpoint(FAR, server_name="kubernetes"),
    "local": Endpoint("https://127.0.0.1:6443"),
    "local name": Endpoint("https://a.localhost:6443"),
    "IPv6": Endpoint("https://[2001:db8::1]:6443"),
    "proxy": Endpoint(FAR, proxy="http://proxy.example:3128"),
    "proxy with TLS": Endpoint(FAR, proxy="https://proxy.example"),
    "proxy with login": Endpoint(FAR, proxy=LOGIN),
    "proxy for a local server": Endpoint("https://127.0.0.1:6443", proxy="http://proxy.example:3128"),
    "SOCKS": Endpoint(FAR, proxy="socks5://user:word@proxy.example:1080"),
    "SOCKS that resolves": Endpoint(FAR, server_name="kubernetes", proxy="socks5h://proxy.example:1080"),
}
ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "https": {"HTTPS_PROXY": LOGIN},
    "http": {"HTTP_PROXY": "http://plain.example:3128"},
    "excepted": {"HTTPS_PROXY": LOGIN, "NO_PROXY": "other.example,.cluster.example"},
    "excepted network": {"HTTPS_PROXY": LOGIN, "NO_PROXY": "2001:db8::/32"},
    "excepted all": {"HTTPS_PROXY": LOGIN, "http_proxy": LOGIN, "NO_PROXY": "*"},
    "not excepted": {"HTTPS_PROXY": LOGIN, "no_proxy": "example,api.cluster.example.org"},
}


def official(endpoint: Endpoint) -> PoolManager:
    """Return the official client's manager, with the exceptions that client-go makes."""
    configuration = Configuration()
    configuration.host = endpoint.server
    if endpoint.proxy:
        configuration.proxy = endpoint.proxy.replace("socks5://", "socks5h://", 1)
        configuration.no_proxy = None
    elif "127.0.0.1" in endpoint.server:  # of names, Go excepts only localhost itself
        configuration.proxy = None
    if configuration.proxy == LOGIN:
        configuration.proxy_headers = make_headers(proxy_basic_auth="us@er:pa:ss")
    configuration.verify_ssl = not endpoint.insecure
    configuration.tls_server_name = endpoint.server_name or None
    configuration.connection_pool_maxsize = POOL_SIZE
    configuration.socket_options = _keepalive()
    configuration.retries = False
    manager: PoolManager = RESTClientObject(configuration).pool_manager
    return manager


def facts(manager: PoolManager) -> dict[str, Any]:
    options = {key: value for key, value in manager.connection_pool_kw.items() if value is not None}
    found: dict[str, Any] = {"kind": type(manager), "proxy": manager.proxy, "headers": dict(manager.headers)}
    if isinstance(manager, ProxyManager):
        found["proxy headers"] = dict(manager.proxy_headers)
    if isinstance(manager, SOCKSProxyManager):
        found["proxy"] = manager.proxy_url
    options.pop("ssl_context", None)  # the project's own
    options.pop("_proxy_config", None)
    options["retries"] = options["retries"].total
    return {**found, "options": options}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("name", ENDPOINTS)
def test_the_official_client_would_connect_alike(name: str, environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.lower(), raising=False)
    for variable, value in ENVIRONMENTS[environment].items():
        monkeypatch.setenv(variable, value)
    assert facts(open_pool(ENDPOINTS[name], None)._manager) == facts(official(ENDPOINTS[name]))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("proxy.example:3128", "http://proxy.example:3128"), ("https://proxy.example", "https://proxy.example:443")],
)
def test_a_proxy_of_the_environment_without_a_scheme_is_an_http_one(
    value: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    proxy = open_pool(Endpoint(FAR), None)._manager.proxy
    assert proxy is not None
    assert proxy.url == wanted


@pytest.mark.parametrize(
    "value", ["http://proxy:port", "http://", "ftp://proxy.example", "http://[::1", "http://u:SECRET@p:x"]
)
def test_a_proxy_of_the_environment_that_is_none_is_refused_by_its_variable(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY") as caught:
        open_pool(Endpoint(FAR), None)
    assert "SECRET" not in str(caught.value)


def test_a_client_certificate_that_cannot_be_written_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    with pytest.raises(ConfigurationError, match="No space left on device") as caught:
        open_pool(Endpoint(FAR), ClientCertificate("chain", "key"))
    assert "TMPDIR" in caught.value.hint
