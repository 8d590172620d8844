"""The engine for front ends: a cluster that it can work on."""

from __future__ import annotations

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.api.discovery import Discovery
from kymatui.adapters.kube.api.discovery_cache import DiscoveryCache
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.sessions.cluster.session_options import SessionOptions


def open_cluster(options: SessionOptions | None = None) -> KubeCluster:
    """Open the cluster of a context without a request. Raise ConfigurationError."""
    chosen = options or SessionOptions()
    connection = connect(chosen.kubeconfig, chosen.context, chosen.namespace, overrides=chosen.access)
    transport = Transport(connection, read_only=chosen.read_only)
    cache = DiscoveryCache(connection.endpoint.server, f"{connection.context}/{connection.user}")
    return cluster_of(Client(transport, Discovery(transport, cache)))


def context_name(options: SessionOptions) -> str:
    """Return the selected context's name without a request. Raise ConfigurationError."""
    return connect(options.kubeconfig, options.context, options.namespace, overrides=options.access).context


def cluster_of(client: Client) -> KubeCluster:
    """Return the cluster of an existing client."""
    return KubeCluster(client)
