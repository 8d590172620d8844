"""API server endpoints: address, TLS and proxy settings, checked from the `cluster` of a kubeconfig."""

from __future__ import annotations

import base64
import binascii
import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from kymatui.adapters.http.web_session import SCHEMES, is_proxy_address
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.domain.kubernetes.json_reader import text_at
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json
from kymatui.structs import compare_by, repr_without


class Endpoint(Struct, frozen=True):
    """Address and TLS settings; `server` has no trailing slash, `authority` is trusted PEM text or ""."""

    server: str
    authority: str = ""
    insecure: bool = False
    server_name: str = ""
    proxy: str = ""
    compress: bool = True
    origin: str = ""

    __eq__, __hash__ = compare_by("server", "authority", "insecure", "server_name", "proxy", "compress")
    __repr__ = repr_without("authority", "proxy")

    @property
    def host(self) -> str:
        """Return host and port, as messages name the server."""
        return urlsplit(self.server).netloc

    @property
    def is_local(self) -> bool:
        """Return whether the server is on this machine, where compression costs more than it saves."""
        name = urlsplit(self.server).hostname or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:  # a host name, and no IP address
            return name == "localhost" or name.endswith(".localhost")


class ClientCertificate(Struct, frozen=True):
    """A client certificate and its key as PEM text; `repr` shows neither."""

    chain: str
    key: str

    __repr__ = repr_without("chain", "key")


def read_endpoint(cluster: KubeconfigEntry) -> Endpoint:
    """Return the checked endpoint of a cluster entry; the checks are client-go's and open no socket."""
    body = cluster.body
    server = body.get("server")
    if not isinstance(server, str) or not server:
        raise entry_error(cluster, "cluster", "it has no server")
    insecure = body.get("insecure-skip-tls-verify") is True
    authority = read_pem(cluster, "cluster", "certificate-authority")
    if insecure and authority:
        raise entry_error(
            cluster, "cluster", "it has both a certificate authority and insecure-skip-tls-verify; keep one"
        )
    return Endpoint(
        server=_checked_server(cluster, server),
        authority=authority,
        insecure=insecure,
        server_name=text_at(body, "tls-server-name"),
        proxy=_checked_proxy(cluster, text_at(body, "proxy-url")),
        compress=body.get("disable-compression") is not True,
        origin=f"cluster {cluster.name!r} in {cluster.file}",
    )


def _checked_server(cluster: KubeconfigEntry, server: str) -> str:
    full = server if "://" in server else f"http://{server}"
    try:
        parts = urlsplit(full)
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError as error:
        raise entry_error(cluster, "cluster", f"its server {server!r} is not a valid address: {error}") from error
    if parts.scheme not in ("http", "https") or not named:
        raise entry_error(cluster, "cluster", f"its server {server!r} is not an http or https address")
    return full.rstrip("/")


def _checked_proxy(cluster: KubeconfigEntry, proxy: str) -> str:
    if proxy and not is_proxy_address(proxy):
        raise entry_error(cluster, "cluster", f"its proxy-url must be an address of {', '.join(SCHEMES)}")
    return proxy


def read_pem(entry: KubeconfigEntry, kind: str, key: str) -> str:
    """Return the text of `KEY-data` (base64), else of the file at `KEY`; "" if neither is set."""
    data, path = text_at(entry.body, f"{key}-data"), text_at(entry.body, key)
    if data:
        try:
            return base64.b64decode("".join(data.split()), validate=True).decode()
        except (binascii.Error, ValueError) as error:
            raise entry_error(entry, kind, f"its {key}-data is not base64 of PEM text") from error
    return read_file(entry, kind, key, path) if path else ""


def read_file(entry: KubeconfigEntry, kind: str, key: str, path: str) -> str:
    """Return the text of a file that a kubeconfig names. Raise ConfigurationError if it is unreadable."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise entry_error(entry, kind, f"its {key} {path} cannot be read: {reason}") from error


def entry_error(entry: KubeconfigEntry, kind: str, reason: str) -> ConfigurationError:
    """Return the error of an unusable kubeconfig entry, with its name and file."""
    return ConfigurationError(
        f"the {kind} {entry.name!r} in {entry.file} cannot be used: {reason}",
        hint="fix it there, or choose another context",
    )


# JSON web tokens: what they say of themselves. Signatures are the API server's to verify.


_LATEST = 253_402_300_800  # the year 10000 in Unix seconds


def jwt_expiry(token: str) -> float | None:
    """Return the `exp` of a JSON web token in Unix seconds."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = read_json(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:  # an opaque token has no expiry that a client can read
        return None
    expiry = claims.get("exp") if isinstance(claims, dict) else None
    # Moments before 1970 or after the year 9999 are no expiry, and no calendar has them.
    return float(expiry) if isinstance(expiry, int | float) and 0 <= expiry < _LATEST else None
