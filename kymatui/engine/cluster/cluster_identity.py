"""The identity of a cluster, as a context name may mean different clusters on two machines."""

from __future__ import annotations

from typing import Final

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.plans.cluster_name import ClusterName
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ClusterError, RefusedError

_SYSTEM: Final = ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", "kube-system")


def cluster_identity(cluster: Cluster) -> str:
    """Return the uid of kube-system, which identifies a cluster; "" without permission."""
    try:
        namespace = cluster.get(_SYSTEM)
    except ClusterError:  # without an identity, clusters are compared by their names
        return ""
    return str(namespace["metadata"].get("uid") or "") if namespace is not None else ""


def refuse_another_cluster(name: str, cluster: Cluster) -> None:
    """Raise RefusedError if a plan was made for another cluster."""
    if name != cluster.name:
        raise RefusedError(f"the plan is for cluster {name}, but this is {cluster.name}")


def name_cluster(cluster: Cluster) -> ClusterName:
    """Return name and identity of a cluster."""
    return ClusterName(cluster.name, cluster_identity(cluster))
