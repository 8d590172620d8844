"""From the words of a command line to everything a request needs: address, TLS, proxy, credential, names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kymatui.adapters.http.requests_import import load_requests
from kymatui.adapters.kube.auth.credentials import (
    Credential,
    CredentialSource,
    authentication_kind,
    bearer_credential,
    read_user,
)
from kymatui.adapters.kube.auth.endpoint import Endpoint, read_endpoint
from kymatui.adapters.kube.auth.kubeconfig import KubeContext, no_kubeconfig, read_kubeconfig
from kymatui.errors import ConfigurationError

ClusterKey = tuple[tuple[Path, ...], str]
_IN_CLUSTER = "in-cluster"
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True)
class Connection:
    """One way to one cluster. `key` tells it from others: the kubeconfig's files and the context's name.

    `title` is what people call the cluster, where the context's name is not it. Of one that is `given`, by a Secret,
    `context` names that. `repr` shows nothing of what a kubeconfig holds but the context's name.
    """

    key: ClusterKey
    context: str
    namespace: str
    user: str
    endpoint: Endpoint
    credentials: CredentialSource
    title: str = ""
    given: bool = False

    @property
    def name(self) -> str:
        """What the cluster is called in plans, journals and backups."""
        return self.title or self.context

    def __repr__(self) -> str:
        return f"Connection({self.context!r})"


def connect(
    kubeconfig: str = "", context: str = "", namespace: str = "", environment: Mapping[str, str] | None = None
) -> Connection:
    """Reads the configuration; no socket is touched and no plugin run.

    Raises ConfigurationError where it cannot be used.
    """
    config = read_kubeconfig(kubeconfig, environment)
    if config is None or (not config.contexts and not kubeconfig and not config.clusters):
        inside = in_cluster(namespace)
        if inside is None:
            raise no_kubeconfig(kubeconfig, environment)
        if context and context != _IN_CLUSTER:
            raise ConfigurationError(f"there is no kubeconfig, and so no context {context!r}")
        return inside
    chosen = config.context(context)
    endpoint = read_endpoint(chosen.cluster)
    read_user(chosen.user, endpoint, chosen.cluster)  # complains now, not at the first request
    return Connection(
        key=chosen.key,
        context=chosen.name,
        namespace=namespace or chosen.namespace,
        user=chosen.user.name if chosen.user else "",
        endpoint=endpoint,
        credentials=CredentialSource(
            _reader(kubeconfig, chosen, environment),
            name=chosen.user.name if chosen.user else "",
            kind=authentication_kind(chosen.user),
        ),
    )


def _reader(kubeconfig: str, chosen: KubeContext, environment: Mapping[str, str] | None) -> Callable[[], Credential]:
    """Reads the files again each time: whoever logs in anew while kymatui runs changes them."""

    def make() -> Credential:
        config = read_kubeconfig(kubeconfig, environment)
        if config is None:
            raise no_kubeconfig(kubeconfig, environment)
        now = config.context(chosen.name)
        return read_user(now.user, read_endpoint(now.cluster), now.cluster)()

    return make


def list_contexts(kubeconfig: str = "", environment: Mapping[str, str] | None = None) -> tuple[tuple[str, ...], str]:
    """The names of all contexts, and the current one ("" where there is none)."""
    config = read_kubeconfig(kubeconfig, environment)
    return (tuple(sorted(config.contexts)), config.current) if config is not None else ((), "")


def in_cluster(namespace: str = "") -> Connection | None:
    """The service account of the pod that this runs in, as the official client finds it; None outside of pods."""
    load_requests()
    from kubernetes.client.configuration import Configuration
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.incluster_config import load_incluster_config

    def load() -> Configuration:
        configuration = Configuration()
        load_incluster_config(client_configuration=configuration)
        return configuration

    def make() -> Credential:
        import time

        return bearer_credential(load().api_key["BearerToken"].partition(" ")[2].strip(), time.time() + 60)

    try:
        found = load()
    except ConfigException:
        return None
    own = _NAMESPACE_FILE.read_text().strip() if _NAMESPACE_FILE.exists() else ""
    authority = Path(found.ssl_ca_cert).read_text()
    return Connection(
        key=((), _IN_CLUSTER),
        context=_IN_CLUSTER,
        namespace=namespace or own,
        user="the pod's service account",
        endpoint=Endpoint(found.host, authority, origin="the pod's service account"),
        credentials=CredentialSource(make, name="the pod's service account", kind="a service account token"),
    )


__all__ = ["ClusterKey", "Connection", "connect", "in_cluster", "list_contexts"]
