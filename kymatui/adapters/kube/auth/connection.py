"""Connections: from command-line options to address, TLS, proxy, credentials and names."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kymatui.adapters.http.web_session import load_requests
from kymatui.adapters.kube.auth.credentials import (
    Credential,
    CredentialSource,
    authentication_kind,
    bearer_credential,
    read_user,
)
from kymatui.adapters.kube.auth.endpoint import Endpoint, read_endpoint
from kymatui.adapters.kube.auth.kubeconfig import (
    NO_OVERRIDES,
    AccessOverrides,
    KubeContext,
    no_kubeconfig,
    read_kubeconfig,
)
from kymatui.errors import ConfigurationError

ClusterKey = tuple[tuple[Path, ...], str]
_IN_CLUSTER = "in-cluster"
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class Connection(Struct, frozen=True):
    """Connection data of one cluster; `key` identifies it by kubeconfig files and context name.

    `title` is a display name, empty where the context name serves. With `from_secret`, `context` names
    the Secret that it comes from. `request_timeout` is in seconds, 0 for the transport's own limits. `repr` shows
    only the context name, no secrets. `impersonated` is the user of `--as`, or of `as` in the kubeconfig.
    """

    key: ClusterKey
    context: str
    namespace: str
    user: str
    endpoint: Endpoint
    credentials: CredentialSource
    title: str = ""
    from_secret: bool = False
    request_timeout: float = 0.0
    impersonated: str = ""

    @property
    def name(self) -> str:
        """Return the cluster's name for plans, journals and backups."""
        return self.title or self.context

    def __repr__(self) -> str:
        return f"Connection({self.context!r})"


def connect(
    kubeconfig: str = "",
    context: str = "",
    namespace: str = "",
    environment: Mapping[str, str] | None = None,
    overrides: AccessOverrides = NO_OVERRIDES,
) -> Connection:
    """Read the kubeconfig; opens no socket and runs no plugin. Raise ConfigurationError if it is unusable."""
    config = read_kubeconfig(kubeconfig, environment)
    if config is None or (not config.contexts and not kubeconfig and not config.clusters):
        inside = in_cluster(namespace)
        if inside is None:
            raise no_kubeconfig(kubeconfig, environment)
        if context and context != _IN_CLUSTER:
            raise ConfigurationError(f"no kubeconfig found, so there is no context {context!r}")
        if overrides.user or overrides.impersonation:
            raise ConfigurationError("no kubeconfig found, so there is no other user", hint="use --kubeconfig")
        return replace(inside, request_timeout=overrides.request_timeout)
    chosen = config.context(context, overrides)
    endpoint = read_endpoint(chosen.cluster)
    read_user(chosen.user, endpoint, chosen.cluster)  # to raise now, not at the first request
    impersonated = str(chosen.user.body.get("as") or "") if chosen.user else ""
    return Connection(
        key=chosen.key,
        context=chosen.name,
        namespace=namespace or chosen.namespace,
        user=" as ".join(filter(None, (chosen.user.name if chosen.user else "", impersonated))),
        endpoint=endpoint,
        credentials=CredentialSource(
            _reader(kubeconfig, chosen, environment, overrides),
            name=chosen.user.name if chosen.user else "",
            kind=authentication_kind(chosen.user),
        ),
        request_timeout=overrides.request_timeout,
        impersonated=impersonated,
    )


def _reader(
    kubeconfig: str, chosen: KubeContext, environment: Mapping[str, str] | None, overrides: AccessOverrides
) -> Callable[[], Credential]:
    """Return a credential function that reads the files each time, so that a new login takes effect."""

    def make() -> Credential:
        config = read_kubeconfig(kubeconfig, environment)
        if config is None:
            raise no_kubeconfig(kubeconfig, environment)
        now = config.context(chosen.name, overrides)
        return read_user(now.user, read_endpoint(now.cluster), now.cluster)()

    return make


def in_cluster(namespace: str = "") -> Connection | None:
    """Return the connection of the pod's service account, as the official client does; None outside pods."""
    if not os.environ.get("KUBERNETES_SERVICE_HOST"):
        return None
    load_requests()
    from kubernetes.client.configuration import Configuration
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.incluster_config import load_incluster_config

    def load() -> Configuration:
        configuration = Configuration()
        load_incluster_config(client_configuration=configuration)
        return configuration

    def make() -> Credential:
        return bearer_credential(load().api_key["BearerToken"].partition(" ")[2].strip(), time.time() + 60)

    try:
        loaded = load()
    except ConfigException:  # not in a Pod
        return None
    own = _NAMESPACE_FILE.read_text().strip() if _NAMESPACE_FILE.exists() else ""
    authority = Path(loaded.ssl_ca_cert).read_text()
    return Connection(
        key=((), _IN_CLUSTER),
        context=_IN_CLUSTER,
        namespace=namespace or own,
        user="the pod's service account",
        endpoint=Endpoint(loaded.host, authority, origin="the pod's service account"),
        credentials=CredentialSource(make, name="the pod's service account", kind="a service account token"),
    )


__all__ = ["ClusterKey", "Connection", "connect", "in_cluster"]
