"""Kubeconfigs out of Secrets, written by somebody else: kept in memory, and reaching for nothing on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kymatui.adapters.kube.connections import Connection
from kymatui.adapters.kube.credentials import Credentials, kind_of, read_user
from kymatui.adapters.kube.endpoints import read_endpoint
from kymatui.adapters.kube.kubeconfig import Entry, merge
from kymatui.errors import ConfigurationError

LARGEST: Final = 1 << 20
_FORBIDDEN_OF_USERS: Final = ("exec", "auth-provider", "tokenFile", "client-certificate", "client-key")
_FORBIDDEN_OF_CLUSTERS: Final = ("certificate-authority",)


def connect_given(content: bytes, where: str) -> Connection:
    """The current context of a kubeconfig; `where` names it in errors, which never hold anything of its content.

    Raises ConfigurationError where it cannot be used, or names a plugin or a file.
    """
    config = merge([(Path(where), _document(content, where))])
    only = next(iter(config.contexts)) if not config.current and len(config.contexts) == 1 else ""
    chosen = config.context(only)
    _check(chosen.cluster, "cluster", _FORBIDDEN_OF_CLUSTERS, where)
    if chosen.user is not None:
        _check(chosen.user, "user", _FORBIDDEN_OF_USERS, where)
    endpoint = read_endpoint(chosen.cluster)
    credential = read_user(chosen.user, endpoint, chosen.cluster)
    return Connection(
        key=((), where),
        context=where,
        namespace=chosen.namespace,
        user=chosen.user.name if chosen.user else "",
        endpoint=endpoint,
        credentials=Credentials(credential, name=where, kind=kind_of(chosen.user)),
    )


def _document(content: bytes, where: str) -> Mapping[str, Any]:
    import yaml

    if len(content) > LARGEST:
        raise ConfigurationError(f"the kubeconfig in {where} is too large; {LARGEST} bytes are the most")
    try:
        found = yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (both are safe)
    except (yaml.YAMLError, ValueError, RecursionError):
        # the parser's own words may quote the content, so that not even the cause is kept
        raise ConfigurationError(f"the kubeconfig in {where} does not parse: it is no YAML") from None
    if not isinstance(found, Mapping):
        raise ConfigurationError(f"the kubeconfig in {where} does not parse: it is no object")
    return found


def _check(entry: Entry, what: str, forbidden: tuple[str, ...], where: str) -> None:
    named = [key for key in forbidden if entry.body.get(key)]
    if named:
        raise ConfigurationError(
            f"the kubeconfig in {where} is refused: its {what} names {', '.join(named)}",
            hint="a kubeconfig out of a Secret may run nothing here and read no file here",
        )
