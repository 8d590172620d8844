"""Kubeconfigs from Secrets. They are untrusted: kept in memory only, no plugins and no local files."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from kymatui.adapters.kube.auth.connection import Connection
from kymatui.adapters.kube.auth.credentials import (
    Credential,
    CredentialSource,
    authentication_kind,
    read_user,
    token_expiry,
)
from kymatui.adapters.kube.auth.endpoint import read_endpoint
from kymatui.adapters.kube.auth.kubeconfig import Kubeconfig, KubeconfigEntry, KubeContext, merge
from kymatui.errors import ConfigurationError

LARGEST: Final = 1 << 20  # bytes; the API server refuses Secrets above 1 MiB
MOST_NODES: Final = 10_000
"""Maps, lists and scalars of a kubeconfig: one of a runtime has 20 to 30."""
_FORBIDDEN_OF_USERS: Final = ("exec", "auth-provider", "tokenFile", "client-certificate", "client-key")
_FORBIDDEN_OF_CLUSTERS: Final = ("certificate-authority",)
_NAMELESS: Final = "current"
"""Stands in messages for the names of entries, which are content, too."""


def connect_from_secret(content: bytes, where: str) -> Connection:
    """Return the connection of the current context; `where` names the Secret in errors.

    Errors never quote the content. Raise ConfigurationError if it is unusable, or names a plugin or a file.
    """
    chosen = _context(_merged(content, where), where)
    cluster = replace(chosen.cluster, name=_NAMELESS)
    user = replace(chosen.user, name=_NAMELESS) if chosen.user is not None else None
    _check(cluster, "cluster", _FORBIDDEN_OF_CLUSTERS, where)
    if user is not None:
        _check(user, "user", _FORBIDDEN_OF_USERS, where)
    _check_server(cluster, where)
    endpoint = read_endpoint(cluster)
    return Connection(
        key=((), where),
        context=where,
        namespace=chosen.namespace,
        user="",
        endpoint=endpoint,
        credentials=CredentialSource(read_user(user, endpoint, cluster), name=where, kind=authentication_kind(user)),
        from_secret=True,
    )


def require_unexpired(connection: Connection, now: float) -> None:
    """Raise ConfigurationError if the token or client certificate expired; `now` in Unix seconds.

    The server would only answer 401.
    """
    credential = connection.credentials.present()
    ends = {"token": token_expiry(credential), "client certificate": _certificate_end(credential)}
    for what, end in ends.items():
        if end is not None and end <= now:
            moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(end))
            raise ConfigurationError(
                f"the kubeconfig in {connection.context} has expired: its {what} was valid until {moment}",
                hint="renew the access Secret",
            )


def _certificate_end(credential: Credential) -> float | None:
    if credential.certificate is None:
        return None
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(credential.certificate.chain.encode())
    except ValueError:
        return None  # the TLS library reports the error
    return certificate.not_valid_after_utc.timestamp()


def _merged(content: bytes, where: str) -> Kubeconfig:
    document = _document(content, where)
    try:
        return merge([(Path(where), document)])
    except ConfigurationError:
        problem = "its clusters, users and contexts are not lists of named objects"
        raise ConfigurationError(f"the kubeconfig in {where} cannot be used: {problem}") from None


def _context(config: Kubeconfig, where: str) -> KubeContext:
    """Return the current context, or the only one; errors do not quote names of the file."""
    name = config.current or (next(iter(config.contexts)) if len(config.contexts) == 1 else "")
    if not name:
        fault = "no context" if not config.contexts else "several contexts and no current one"
        raise ConfigurationError(f"the kubeconfig in {where} cannot be used: it has {fault}")
    if name not in config.contexts:
        raise ConfigurationError(f"the kubeconfig in {where} cannot be used: its current context does not exist")
    try:
        return config.context(name)
    except ConfigurationError:
        problem = "its context names a cluster or a user that it does not have"
        raise ConfigurationError(f"the kubeconfig in {where} cannot be used: {problem}") from None


def _check_server(cluster: KubeconfigEntry, where: str) -> None:
    server = cluster.body.get("server")
    try:
        known = isinstance(server, str) and not urlsplit(server).username
        if known:
            read_endpoint(replace(cluster, body={"server": server}))
    except (ConfigurationError, ValueError):  # the message below does not quote the Secret's content
        known = False
    if not known:
        raise ConfigurationError(
            f"the kubeconfig in {where} cannot be used: its server is not an http or https address"
        )


def _document(content: bytes, where: str) -> Mapping[str, Any]:
    if len(content) > LARGEST:
        raise ConfigurationError(f"the kubeconfig in {where} is too large; at most {LARGEST} bytes are allowed")
    from kymatui.helm.yaml.errors import YamlError
    from kymatui.helm.yaml.limits import YamlBudget
    from kymatui.helm.yaml.reading import load_exactly

    try:
        document = load_exactly(content, budget=YamlBudget(MOST_NODES))
    except YamlError as error:
        # The parser's message may quote the content, so the cause is dropped too.
        raise ConfigurationError(f"the kubeconfig in {where} is not valid YAML: {error.summary}") from None
    if not isinstance(document, Mapping):
        raise ConfigurationError(f"the kubeconfig in {where} is not an object")
    return document


def _check(entry: KubeconfigEntry, what: str, forbidden: tuple[str, ...], where: str) -> None:
    named = [key for key in forbidden if entry.body.get(key)]
    if named:
        raise ConfigurationError(
            f"the kubeconfig in {where} is refused: its {what} names {', '.join(named)}",
            hint="a kubeconfig from a Secret may not run programs or read files on this machine",
        )
