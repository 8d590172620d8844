"""The cluster of a connection, as plans and questions name it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.domain.plans.cluster_target import ClusterTarget

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.client import Client


def read_cluster_target(client: Client) -> ClusterTarget:
    """Return the cluster of one context."""
    connection = client.transport.connection
    return ClusterTarget(
        connection.context,
        connection.endpoint.host,
        connection.namespace,
        read_only=client.transport.read_only,
        user=connection.impersonated,
    )


def read_runtime_target(home: Client, key: tuple[str, str], namespace: str, client: Client | None) -> ClusterTarget:
    """Return a runtime behind a control plane (`home`); `client` is None while it is not connected."""
    control = read_cluster_target(home)
    return ClusterTarget(
        control.context,
        client.transport.connection.endpoint.host if client is not None else "",
        namespace,
        control.read_only,
        "/".join(key),
        control.server,
        user=control.user,
    )
