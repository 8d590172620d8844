"""The engine for front ends: a cluster that it can work on."""

from __future__ import annotations

import contextlib
from typing import Any, Final

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.api.discovery import Discovery, DiscoveryCache
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.snapshot.snapshots import Object
from kymatui.engine.cluster.ports import NAMESPACE, Cluster
from kymatui.errors import ClusterError, NotFoundError, UnknownNameError
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


# The cluster of a connection, as plans and questions name it.


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


_SECRET: Final = ("", "Secret")
# Without a second choice: a server that cannot leave the data out has to refuse.
_METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def read_object(client: Client, ref: ObjectRef) -> Object:
    """Return the whole object, of a Secret its metadata alone; the version is that of `ref`, or one that is served.

    Raises NotFoundError where the object does not exist or its kind is not served, and the errors of the client.
    """
    kind = ref.kind
    resource = client.discovery.find_kind(kind.group, kind.kind, (kind.version,))
    if resource is None:
        name = f"{kind.kind} of {kind.group}" if kind.group else kind.kind
        raise NotFoundError(f"the cluster does not serve {name}", status=404)
    namespace = ref.namespace if resource.namespaced else ""
    if (kind.group, kind.kind) != _SECRET:
        return client.get(resource, ref.name, namespace)
    metadata: dict[str, Any] = client.get(resource, ref.name, namespace, decode=MetadataOnly, accept=_METADATA)
    served = GroupVersionKind(resource.group, resource.version, resource.kind)
    return {**metadata, "apiVersion": served.api_version, "kind": served.kind}


def require_namespace(cluster: Cluster, name: str) -> None:
    """Raise UnknownNameError if the cluster has no such namespace; pass where namespaces may not be read."""
    try:
        if cluster.kind(NAMESPACE) is None or cluster.get(ObjectRef(NAMESPACE, "", name)) is not None:
            return
    except ClusterError:  # unknown: the lists in the namespace report what is wrong
        return
    known: list[str] = []
    with contextlib.suppress(ClusterError):  # names only improve the message
        known = [read_ref(raw).name for raw in cluster.list(NAMESPACE)]
    hint = "`kubectl get namespaces` lists them"
    raise UnknownNameError.near("namespace", name, known, where=f"in {cluster.name}", hint=hint)
