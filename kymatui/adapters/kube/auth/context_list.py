"""Contexts of the kubeconfig files, as a person chooses among them, and what changed in one of them on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from kymatui.adapters.http.web_session import redact_url
from kymatui.adapters.kube.auth.credentials import authentication_kind, read_user
from kymatui.adapters.kube.auth.endpoint import read_endpoint
from kymatui.adapters.kube.auth.kubeconfig import (
    NO_OVERRIDES,
    AccessOverrides,
    Kubeconfig,
    KubeconfigEntry,
    KubeContext,
    no_kubeconfig,
    read_kubeconfig,
)
from kymatui.domain.kubernetes.json_reader import text_at
from kymatui.errors import ConfigurationError

_LARGEST: Final = 1024 * 1024
"""Bytes of a file with a token or certificate that a comparison reads."""


class KubeconfigContext(Struct, frozen=True):
    """One context as the files have it; `problem` is why it cannot be used, `plugin` the command that logs in."""

    name: str
    cluster: str
    user: str
    server: str
    namespace: str
    is_current: bool
    problem: str = ""
    plugin: str = ""


def list_contexts(kubeconfig: str = "", environment: Mapping[str, str] | None = None) -> tuple[KubeconfigContext, ...]:
    """Return every context by name; one that cannot be used has its problem. Raise ConfigurationError."""
    config = read_kubeconfig(kubeconfig, environment)
    return tuple(_listed(config, name) for name in sorted(config.contexts)) if config is not None else ()


def _listed(config: Kubeconfig, name: str) -> KubeconfigContext:
    body = config.contexts[name].body
    cluster, user, namespace = (text_at(body, key) for key in ("cluster", "user", "namespace"))
    server, problem, plugin = "", "", ""
    try:
        chosen = config.context(name)
        plugin = _plugin(chosen.user)
        server = redact_url(text_at(chosen.cluster.body, "server"))
        read_user(chosen.user, read_endpoint(chosen.cluster), chosen.cluster)
    except ConfigurationError as error:
        problem = str(error)
    return KubeconfigContext(name, cluster, user, server, namespace, name == config.current, problem, plugin)


def _plugin(user: KubeconfigEntry | None) -> str:
    """Return the command of a user's credential plugin with its arguments, "" without one."""
    plan = user.body.get("exec") if user is not None else None
    if not isinstance(plan, Mapping):
        return ""
    arguments = plan.get("args")
    return " ".join(map(str, (plan.get("command") or "", *(arguments if isinstance(arguments, list) else ()))))


class ConnectionFact(Struct, frozen=True):
    """One part of a connection: `value` may be displayed, `digest` stands for what may not."""

    name: str
    value: str = ""
    digest: str = ""

    def changed_from(self, before: ConnectionFact) -> str:
        """Return the change, such as `server https://a → https://b` or `token`; never what is secret."""
        if before.digest or self.digest:
            return self.name
        return f"{self.name} {before.value or 'none'} → {self.value or 'none'}"


class ConnectionFacts(Struct, frozen=True):
    """All that a connection to a context is made from."""

    facts: tuple[ConnectionFact, ...]

    def changes_since(self, before: ConnectionFacts) -> tuple[str, ...]:
        """Return what differs, in words for people."""
        past = {fact.name: fact for fact in before.facts}
        return tuple(fact.changed_from(past[fact.name]) for fact in self.facts if past[fact.name] != fact)


def connection_facts(
    kubeconfig: str = "", context: str = "", overrides: AccessOverrides = NO_OVERRIDES
) -> ConnectionFacts:
    """Return what a connection to a context is made from on disk; tokens, keys and passwords as digests only.

    Opens no socket, runs no plugin. Raise ConfigurationError or UnknownNameError.
    """
    config = read_kubeconfig(kubeconfig)
    if config is None:
        raise no_kubeconfig(kubeconfig)
    chosen = config.context(context, overrides)
    endpoint = read_endpoint(chosen.cluster)
    read_user(chosen.user, endpoint, chosen.cluster)
    facts = (
        ConnectionFact("cluster", chosen.cluster.name),
        ConnectionFact("server", redact_url(endpoint.server)),
        ConnectionFact("certificate authority", digest=_digest(endpoint.authority)),
        ConnectionFact("TLS server name", endpoint.server_name),
        ConnectionFact("TLS verification", "off" if endpoint.insecure else "on"),
        ConnectionFact("proxy", digest=_digest(endpoint.proxy)),
        ConnectionFact("namespace", chosen.namespace),
        *_user_facts(chosen),
    )
    return ConnectionFacts(facts)


def _user_facts(chosen: KubeContext) -> Iterator[ConnectionFact]:
    user = chosen.user
    body: Mapping[str, Any] = user.body if user is not None else {}
    yield ConnectionFact("user", user.name if user is not None else "")
    yield ConnectionFact("authentication", authentication_kind(user))
    yield ConnectionFact(
        "impersonation",
        digest=_digest({key: body[key] for key in sorted(body) if key == "as" or key.startswith("as-")}),
    )
    yield ConnectionFact("token", digest=_digest([body.get("token"), _content(user, "tokenFile")]))
    yield ConnectionFact("user name and password", digest=_digest([body.get("username"), body.get("password")]))
    yield ConnectionFact("plugin", digest=_digest([body.get("exec"), body.get("auth-provider")]))
    for name in ("client-certificate", "client-key"):
        secret = [body.get(f"{name}-data"), _content(user, name)]
        yield ConnectionFact(name.replace("-", " "), digest=_digest(secret))


def _content(user: KubeconfigEntry | None, key: str) -> str:
    """Return a file that the user names; "" where it cannot be read now, as when it is being replaced."""
    path = text_at(user.body, key) if user is not None else ""
    if not path:
        return ""
    try:
        with Path(path).open("rb") as file:
            return hashlib.sha256(file.read(_LARGEST)).hexdigest()
    except OSError:
        return ""


def _digest(value: object) -> str:
    """Return a digest, "" for a value that is missing."""
    if not value or (isinstance(value, list) and not any(value)):
        return ""
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()
