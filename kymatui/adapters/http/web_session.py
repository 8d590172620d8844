"""Sessions for the web and registries: safe URLs, proxies, deadlines for whole answers (see `deadlines`)."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

from msgspec import Struct

from kymatui.adapters.http.deadlines import time_answers
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError, RegistryError, RegistryUnreachableError, UnreachableError
from kymatui.structs import repr_without

if TYPE_CHECKING:
    from requests import PreparedRequest, Session


MOST_REDIRECTS: Final = 5  # of one request; more are treated as a loop
WEB: Final = ("http", "https")
_AMBIGUOUS: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_PORTS: Final = {"http": 80, "https": 443}
_NONE: Final = SplitResult("", "", "", "", "")


def parts_of(address: str) -> SplitResult:
    """Return the parts of a URL, all empty if it is malformed.

    Backslashes and control characters are malformed: `https://a\\@b/` is host b for the standard library and host a
    for urllib3, which connects.
    """
    try:
        return _NONE if _AMBIGUOUS.search(address) else urlsplit(address)
    except ValueError:
        return _NONE


def redact_url(source: str) -> str:
    """Return the source without user and password, for display."""
    try:
        parts = urlsplit(source) if "://" in source else None
    except ValueError:  # malformed, but a password may still stand before the @
        return source.rpartition("@")[2]
    if parts is None or "@" not in parts.netloc:
        return source
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def next_address(where: str, address: str, location: str) -> str:
    """Return the target of a redirect or link. Raise RegistryError if it leaves TLS or HTTP."""
    try:
        target = "" if _AMBIGUOUS.search(location) else urljoin(address, location)
    except ValueError:
        target = ""
    parts = parts_of(target)
    if not parts.netloc:
        raise RegistryError(f"{where} redirects to {redact_url(location)[:200]!r}, which is not a valid address")
    if parts.scheme not in WEB or (parts.scheme == "http" and parts_of(address).scheme == "https"):
        raise RegistryError(f"{where} redirects to an address without TLS: {redact_url(target)}")
    return target


def is_same_origin(address: str, other: str) -> bool:
    """Return whether scheme, host and port are equal, so that credentials of one may go to the other."""
    origin = origin_of(address)
    return origin is not None and origin == origin_of(other)


def origin_of(address: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a web address, None if it has none."""
    parts = parts_of(address)
    try:
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in WEB or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, _PORTS[parts.scheme] if port is None else port


def open_web_session() -> Session:
    """Return a session under the deadlines of the calling thread."""
    load_requests()
    import requests

    session = requests.Session()
    bound_session(session)
    return session


def bound_session(session: Session) -> None:
    """Apply deadlines to a session that a library made, and disable its redirects and cookies.

    requests reads and decompresses the whole body of a redirect, even with `allow_redirects=False`. A cookie may be a
    login, and has no port: it would go to another server of the same host.
    """
    session.get_redirect_target = lambda response: None  # type: ignore[method-assign, assignment]
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
    session.auth = _add_login
    for scheme in ("https://", "http://"):
        session.mount(scheme, _adapter()())


def _add_login(request: PreparedRequest) -> PreparedRequest:
    """Add the login of the address, if it has one.

    Without a function here, requests replaces every Authorization by the login that ~/.netrc has for the host.
    """
    from requests.auth import HTTPBasicAuth
    from requests.utils import get_auth_from_url

    user, password = get_auth_from_url(request.url or "")
    return HTTPBasicAuth(user, password)(request) if user or password else request


@lru_cache(maxsize=1)
def _adapter() -> Any:
    from requests.adapters import HTTPAdapter

    class WebAdapter(HTTPAdapter):
        def send(self, request: PreparedRequest, *arguments: Any, **options: Any) -> Any:
            """Send through the proxy that the API server would have; requests reads the environment otherwise."""
            url, began = request.url or "", time.monotonic()
            proxy = find_proxy(url)
            # In Go, the SOCKS proxy always resolves host names; urllib3 does this only with socks5h.
            address = proxy.address.replace("socks5://", "socks5h://", 1) if proxy is not None else ""
            options["proxies"] = {parts_of(url).scheme: address} if address else {}
            try:
                return super().send(request, *arguments, **options)
            except OSError as error:
                waited = f"{time.monotonic() - began:.0f} s"
                host = parts_of(url).netloc
                failed = proxy_failure(host, proxy, error, waited) if proxy is not None else None
                if failed is None:
                    raise
                raise RegistryUnreachableError(str(failed), hint=failed.hint) from error

        def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
            super().init_poolmanager(*arguments, **options)
            time_answers(self.poolmanager)

        def proxy_manager_for(self, proxy: Any, **options: Any) -> Any:
            known = proxy in self.proxy_manager
            manager = super().proxy_manager_for(proxy, **options)
            if not known:
                time_answers(manager)
            return manager

    return WebAdapter


_LOCK = threading.Lock()


def load_requests() -> None:
    """Import `requests`. Call this before the import of any library that imports it."""
    with _LOCK:
        import requests  # noqa: F401


# The proxy of a server: that of the kubeconfig, else that of the environment as Go's net/http reads it.
#
# HTTPS_PROXY and HTTP_PROXY are for servers of that scheme; upper case goes before lower case, and there is no
# ALL_PROXY. NO_PROXY has names (with all names below them; with a dot in front, only those), addresses, networks and
# `*`, names and addresses also with a port. Loopback is never proxied.


SCHEMES = ("http", "https", "socks5", "socks5h")


class ProxyServer(Struct, frozen=True):
    """A proxy, and the setting that names it; as a text without user and password."""

    address: str
    setting: str

    __repr__ = repr_without("address")

    def __str__(self) -> str:
        return f"{redact_url(self.address)} ({self.setting})"

    @property
    def is_socks(self) -> bool:
        return self.address.startswith("socks")

    @property
    def login(self) -> tuple[str, str] | None:
        """Return user and password, None if the address has none."""
        parts = urlsplit(self.address)
        return None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))


def is_proxy_address(proxy: str) -> bool:
    """Return whether a text is the address of a proxy of a supported kind."""
    try:
        parts = parts_of(proxy)
        return parts.scheme in SCHEMES and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def find_proxy(server: str, proxy_url: str = "", environment: Mapping[str, str] | None = None) -> ProxyServer | None:
    """Return the proxy of a server; `proxy_url` is that of the kubeconfig, which NO_PROXY does not concern.

    Raise ConfigurationError if the environment names an invalid one.
    """
    if proxy_url:
        return ProxyServer(proxy_url, "proxy-url of the kubeconfig")
    variables = os.environ if environment is None else environment
    parts = urlsplit(server)
    name = f"{parts.scheme.upper()}_PROXY"
    text, variable = _variable(variables, name)
    if not text or not _is_proxied(parts, _variable(variables, "NO_PROXY")[0]):
        return None
    address = text if "://" in text else f"http://{text}"
    if not is_proxy_address(address):
        raise ConfigurationError(
            f"{variable} is not the address of a proxy", hint="set it as http://HOST:PORT, or unset it"
        )
    return ProxyServer(address, variable)


def _variable(environment: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the value of a variable in upper or lower case, and its name as it is spelled."""
    return next(((environment[key], key) for key in (name, name.lower()) if environment.get(key)), ("", name))


def _is_proxied(server: SplitResult, exceptions: str) -> bool:
    host, port = (server.hostname or "").lower(), server.port or _PORTS.get(server.scheme, 0)
    address = _ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    return not any(_is_excepted(entry.strip().lower(), host, address, port) for entry in exceptions.split(","))


def _is_excepted(
    entry: str, host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, port: int
) -> bool:
    """Return whether an entry of NO_PROXY names the server."""
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry:
        try:
            network = ipaddress.ip_network(entry, strict=False)
        except ValueError:
            pass
        else:
            return address is not None and address in network
    name, own_port = _split_port(entry)
    if own_port and own_port != str(port):
        return False
    excepted = _ip_address(name)
    if excepted is not None or address is not None:
        return address is not None and address == excepted
    name = name.removeprefix("*")
    if not name:
        return False
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, str]:
    """Split HOST:PORT or [IPV6]:PORT; an IPv6 address without brackets has no port."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and ":" not in name else (entry, "")


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


_TUNNEL = "Tunnel connection failed: "


def proxy_failure(host: str, proxy: ProxyServer, error: BaseException, timeout: str) -> UnreachableError | None:
    """Return the error of a proxy that cannot be used or refuses the server, None if something else failed."""
    import urllib3.exceptions as http

    causes = tuple(causes_of(error))
    hint = f"check that the proxy runs, and {proxy.setting}"
    answer = next((str(cause).removeprefix(_TUNNEL) for cause in causes if str(cause).startswith(_TUNNEL)), "")
    if answer:
        if answer.startswith("407"):
            hint = f"put user and password into {proxy.setting}: http://USER:PASSWORD@HOST:PORT"
        return UnreachableError(f"the proxy {proxy} refuses the connection to {host}: {answer}", hint=hint)
    if proxy.is_socks:
        if answer := next((str(cause) for cause in causes if type(cause).__name__ == "SOCKS5AuthError"), ""):
            return UnreachableError(f"the proxy {proxy} refuses the login: {answer}", hint=f"check {proxy.setting}")
        if answer := next((str(cause) for cause in causes if type(cause).__name__ == "SOCKS5Error"), ""):
            answer = answer.partition(": ")[2] or answer  # without the code of the reply
            return UnreachableError(
                f"the proxy {proxy} does not connect to {host}: {answer}",
                hint="check the name of the server, and what the proxy allows",
            )
        is_proxy = any(isinstance(cause, http.NewConnectionError | http.ConnectTimeoutError) for cause in causes)
    else:
        is_proxy = any(isinstance(cause, http.ProxyError) for cause in causes)
    if not is_proxy:
        return None
    if tls := [cause for cause in causes if isinstance(cause, ssl.SSLError | ssl.CertificateError)]:
        return UnreachableError(f"no TLS connection to the proxy {proxy}: {error_reason(tls[0])}", hint=hint)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return UnreachableError(f"the proxy {proxy} refuses connections", hint=hint)
    if any(isinstance(cause, socket.gaierror | http.NameResolutionError) for cause in causes):
        return UnreachableError(f"the name of the proxy {proxy} cannot be resolved", hint=hint)
    if any(isinstance(cause, TimeoutError | http.TimeoutError) for cause in causes) and not any(
        isinstance(cause, http.NewConnectionError) for cause in causes
    ):
        return UnreachableError(f"the proxy {proxy} accepts no connection (tried for {timeout})", hint=hint)
    return UnreachableError(f"no connection to the proxy {proxy}: {last_cause(causes)}", hint=hint)


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an error with all that caused it."""
    ids: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        cause = waiting.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in ids:
            continue
        ids.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]


def last_cause(causes: tuple[BaseException, ...]) -> str:
    """Return the reason of the innermost cause."""
    texts = [error_reason(cause) for cause in causes if str(cause)]
    return texts[-1] if texts else type(causes[0]).__name__
