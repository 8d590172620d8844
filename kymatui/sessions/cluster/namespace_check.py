"""The check that a namespace named by a person exists."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.errors import ClusterError, UnknownNameError

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster

_NAMESPACE = GroupVersionKind("", "v1", "Namespace")


def require_namespace(cluster: Cluster, name: str) -> None:
    """Raise UnknownNameError if the cluster has no such namespace; pass where namespaces may not be read."""
    try:
        if cluster.kind(_NAMESPACE) is None or cluster.get(ObjectRef(_NAMESPACE, "", name)) is not None:
            return
    except ClusterError:  # unknown: the lists in the namespace report what is wrong
        return
    known: list[str] = []
    with contextlib.suppress(ClusterError):  # names only improve the message
        known = [read_ref(raw).name for raw in cluster.list(_NAMESPACE)]
    hint = "`kubectl get namespaces` lists them"
    raise UnknownNameError.near("namespace", name, known, where=f"in {cluster.name}", hint=hint)
