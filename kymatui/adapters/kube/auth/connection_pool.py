"""Connection pool of a cluster (TLS, proxies, SOCKS, NO_PROXY), with one shared TLS context.

A TLS context per connection would cost some 10 ms each, and every watch has its own connection. Client keys are on
disk only while OpenSSL reads them, and an encrypted key never makes OpenSSL prompt on the terminal.
"""

from __future__ import annotations

import base64
import os
import socket
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kymatui.adapters.http.deadlines import time_answers
from kymatui.adapters.http.web_session import ProxyServer, find_proxy
from kymatui.adapters.kube.auth.endpoint import ClientCertificate, Endpoint
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, HTTPConnectionPool, PoolManager

POOL_SIZE = 128  # connections that stay open for reuse; each watch has one


class ConnectionPool:
    """Connections to one server. Without a proxy, the server's pool is chosen only once.

    urllib3's PoolManager parses the address and chooses a pool for every request, a fifth of a request's cost.
    """

    def __init__(self, manager: PoolManager, server: str, proxy: ProxyServer | None = None) -> None:
        self.proxy = proxy
        self._manager = manager
        self._server = server
        self._base = urlsplit(server).path
        self._direct: HTTPConnectionPool | None = None if manager.proxy else manager.connection_from_url(server)

    def request(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], timeout: tuple[float, float]
    ) -> BaseHTTPResponse:
        """Send one request without retries and leave the body unread; `target` is path and query.

        Raises errors of urllib3 and sockets.
        """
        import urllib3

        connect, silence = timeout
        limits = urllib3.Timeout(connect=connect, read=silence)
        if self._direct is not None:
            return self._direct.urlopen(
                method,
                self._base + target,
                body,
                headers,
                retries=False,
                redirect=False,
                assert_same_host=False,
                timeout=limits,
                preload_content=False,
            )
        return self._manager.request(
            method,
            self._server + target,
            body=body,
            headers=headers,
            timeout=limits,
            retries=False,
            redirect=False,
            preload_content=False,
        )

    def close(self) -> None:
        """Close idle connections."""
        self._manager.clear()


def open_pool(endpoint: Endpoint, certificate: ClientCertificate | None) -> ConnectionPool:
    """Return a pool; it opens connections on first use.

    It is what the official client makes of the same settings (see `tests/adapters/kube/test_connection_pools.py`),
    whose import takes as long as a whole command.
    """
    import urllib3

    proxy = find_proxy(endpoint.server, endpoint.proxy)
    manager = _manager(endpoint, proxy)
    if endpoint.insecure:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # the kubeconfig requests it
    if endpoint.server.startswith("https"):
        manager.connection_pool_kw["ssl_context"] = tls_context(endpoint, certificate)
    time_answers(manager)
    return ConnectionPool(manager, endpoint.server, proxy)


def _manager(endpoint: Endpoint, proxy: ProxyServer | None) -> PoolManager:
    import urllib3

    options: dict[str, Any] = {
        "cert_reqs": ssl.CERT_NONE if endpoint.insecure else ssl.CERT_REQUIRED,
        "maxsize": POOL_SIZE,
        "retries": False,
        "socket_options": _keepalive(),
    }
    if endpoint.server_name:
        options["server_hostname"] = endpoint.server_name
    if proxy is None:
        return urllib3.PoolManager(**options)
    if not proxy.is_socks:
        return urllib3.ProxyManager(proxy.address, proxy_headers=_proxy_headers(proxy), **options)
    from urllib3.contrib.socks import SOCKSProxyManager

    user, password = proxy.login or (None, None)
    # In Go, the SOCKS proxy always resolves host names; urllib3 does this only with socks5h.
    address = proxy.address.replace("socks5://", "socks5h://", 1)
    return SOCKSProxyManager(address, username=user, password=password, **options)


def _proxy_headers(proxy: ProxyServer) -> dict[str, str] | None:
    """Return the Proxy-Authorization header, which urllib3 does not derive from the proxy's address."""
    if proxy.login is None:
        return None
    return {"proxy-authorization": f"Basic {base64.b64encode(':'.join(proxy.login).encode()).decode()}"}


def tls_context(endpoint: Endpoint, certificate: ClientCertificate | None) -> ssl.SSLContext:
    """Return a TLS context that trusts only the cluster's authority, else the machine's."""
    from urllib3.util.ssl_ import create_urllib3_context

    context = create_urllib3_context(cert_reqs=ssl.CERT_NONE if endpoint.insecure else ssl.CERT_REQUIRED)
    # Verify as Go does: authorities of clusters often lack extensions that RFC 5280 requires and Python 3.13
    # enforces, and Go trusts everything in certificate-authority, root certificate or not.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        if endpoint.authority:
            context.load_verify_locations(cadata=endpoint.authority)
        elif not endpoint.insecure:
            context.load_default_certs()
    except (ssl.SSLError, ValueError) as error:
        raise ConfigurationError(
            f"the certificate authority of {endpoint.origin} is not a certificate",
            hint="it must be PEM: fix it there, or get a new kubeconfig",
        ) from error
    if certificate is not None:
        _load_certificate(context, certificate)
    return context


def _load_certificate(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    try:
        with tempfile.TemporaryDirectory(prefix="kymatui-") as folder:  # mode 0700
            chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
            for path, text in ((chain, certificate.chain), (key, certificate.key)):
                with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
                    stream.write(text)
            # Without a callback, OpenSSL would ask for the password of an encrypted key on the terminal.
            context.load_cert_chain(chain, key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        raise ConfigurationError(
            f"the client certificate and its key cannot be used: {error}",
            hint="they must be PEM, belong together, and the key must not be encrypted",
        ) from error
    except OSError as error:  # TLS reads them from files only
        raise ConfigurationError(
            f"the client certificate cannot be written to a temporary file: {error_reason(error)}",
            hint="make room there, or set TMPDIR to a folder that can be written",
        ) from error


def _keepalive() -> list[tuple[int, int, int]]:
    """Return socket options that detect a dead peer (laptop slept, network changed) after about a minute."""
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options
