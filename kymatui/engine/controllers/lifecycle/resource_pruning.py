"""The deletion of a module's objects in two phases: what the module's manager may need goes last.

An upgrade keeps a CRD that the new version no longer has while the runtime has objects of its kind: the API server
would delete them with it, those of users included. The deletion of the module keeps none, as in lifecycle-manager.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.engine.cluster.kind_order import defined_kinds, is_definition
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import CancelledError, KymatuiError, NotFoundError

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


class UpgradePruning(Struct, frozen=True):
    """What became of the objects that a new version no longer has: those to wait for, and the CRDs that stay."""

    left: tuple[ObjectRef, ...] = ()
    kept: tuple[ObjectRef, ...] = ()


def prune(cluster: Cluster, refs: Sequence[ObjectRef], cancel: threading.Event) -> bool:
    """Delete what is possible now; return whether all are gone. The second phase waits for the end of the first."""
    first, second = _phases(refs)
    return _delete(cluster, first, cancel) and _delete(cluster, second, cancel)


def prune_upgrade(cluster: Cluster, refs: Sequence[ObjectRef], cancel: threading.Event) -> UpgradePruning:
    """Prune what a new version no longer has, except CRDs with objects.

    The first phase deletes the module's own objects of such a kind, so that it ends before CRDs are judged.
    """
    first, second = _phases(refs)
    if not _delete(cluster, first, cancel):
        return UpgradePruning(tuple(refs))
    kept = tuple(ref for ref in second if is_definition(ref) and _is_used(cluster, ref, cancel))
    gone = [ref for ref in second if ref not in kept]
    return UpgradePruning(() if _delete(cluster, gone, cancel) else tuple(gone), kept)


def retry_kept(cluster: Cluster, refs: Iterable[ObjectRef], cancel: threading.Event) -> tuple[ObjectRef, ...]:
    """Delete the kept CRDs that have no objects any more; return those that still exist, as far as is known."""
    return tuple(ref for ref in refs if _is_used(cluster, ref, cancel) or not _delete(cluster, [ref], cancel))


def _phases(refs: Sequence[ObjectRef]) -> tuple[list[ObjectRef], list[ObjectRef]]:
    first = [ref for ref in refs if ref.kind.kind not in _LAST]
    return first, [ref for ref in refs if ref.kind.kind in _LAST]


def _is_used(cluster: Cluster, ref: ObjectRef, cancel: threading.Event) -> bool:
    """Return whether a CRD has objects, or they cannot be listed; one that is being deleted has none that stay."""
    try:
        live = cluster.get(ref, cancel=cancel)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return False
        served = [gvk for gvk in defined_kinds([live]) if cluster.kind(gvk) is not None]
        return not served or bool(cluster.list(served[0], cancel=cancel))
    except CancelledError:
        raise
    except KymatuiError:
        return True


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
