"""The deletion of a module's objects in two phases: what the module's manager may need goes last."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import NotFoundError

_LAST: Final = frozenset(
    {
        "CustomResourceDefinition",
        "Namespace",
        "ServiceAccount",
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
        "Service",
        "Deployment",
    }
)
"""The kinds of the second phase; a StatefulSet goes in the first one, as in lifecycle-manager."""


_NAMED: Final = 3  # objects that a message names; the others are counted


def obsolete(synced: Iterable[ObjectRef], target: Iterable[ObjectRef]) -> list[ObjectRef]:
    """Return the applied objects that are no longer wanted, except the namespace kyma-system."""
    wanted = set(target)
    return [ref for ref in synced if ref not in wanted and (ref.kind.kind, ref.name) != ("Namespace", KYMA_NAMESPACE)]


def prune(cluster: Cluster, refs: Sequence[ObjectRef], cancel: threading.Event) -> bool:
    """Delete what is possible now; return whether all are gone. The second phase waits for the end of the first."""
    first = [ref for ref in refs if ref.kind.kind not in _LAST]
    second = [ref for ref in refs if ref.kind.kind in _LAST]
    return _delete(cluster, first, cancel) and _delete(cluster, second, cancel)


def _delete(cluster: Cluster, refs: Iterable[ObjectRef], cancel: threading.Event) -> bool:
    """Send a deletion of each; return whether every one was answered with 404."""
    gone = True
    for ref in refs:
        try:
            cluster.delete(ref, propagation="Background", cancel=cancel)
        except NotFoundError:  # only a 404 proves that it is gone: an accepted deletion may wait for finalizers
            continue
        gone = False
    return gone


def names_of(refs: Sequence[ObjectRef]) -> str:
    """Return the first objects by name, and how many more there are."""
    first = ", ".join(map(str, refs[:_NAMED]))
    return f"{first} and {len(refs) - _NAMED} more" if len(refs) > _NAMED else first
