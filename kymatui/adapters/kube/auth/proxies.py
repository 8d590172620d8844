"""The proxy of a server: that of the kubeconfig, else that of the environment as Go's net/http reads it.

HTTPS_PROXY and HTTP_PROXY are for servers of that scheme; upper case goes before lower case, and there is no ALL_PROXY.
NO_PROXY has names (with all names below them; with a dot in front, only those), addresses, networks and `*`, names and
addresses also with a port. Loopback is never proxied.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from kymatui.adapters.http.web_session import parts_of, redact_url
from kymatui.errors import ConfigurationError
from kymatui.structs import repr_without

SCHEMES = ("http", "https", "socks5", "socks5h")
_PORTS = {"http": 80, "https": 443}


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
