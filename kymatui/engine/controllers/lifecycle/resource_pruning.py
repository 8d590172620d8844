"""The deletion of a module's objects in two phases: what the module's manager may need goes last.

An upgrade keeps a CRD that the new version no longer has while the runtime has objects of its kind: the API server
would delete them with it, those of users included. The deletion of the module keeps none, as in lifecycle-manager.

What is deleted is what the Manifest's status lists, and others may write a status: only an object with the mark of the
Manifest is deleted.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.modules.module_manager import owning_manifest
from kymatui.engine.cluster.kind_order import defined_kinds, is_definition
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import CancelledError, ConflictError, KymatuiError, NotFoundError

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


OBJECT_KEPT: Final = "ObjectKept"
"""The reason of the event for an object that the status lists and that is not the Manifest's."""


class UpgradePruning(Struct, frozen=True):
    """What became of the objects that a new version no longer has: those to wait for, and the CRDs that stay."""

    left: tuple[ObjectRef, ...] = ()
    kept: tuple[ObjectRef, ...] = ()


class ResourcePruning:
    """The deletion of one Manifest's objects on one cluster; `manifest` is "namespace/name".

    `foreign` are the objects that stay, because they do not bear the Manifest's mark.
    """

    def __init__(self, cluster: Cluster, manifest: str, cancel: threading.Event) -> None:
        self._cluster = cluster
        self._manifest = manifest
        self._cancel = cancel
        self._foreign: dict[ObjectRef, None] = {}

    @property
    def foreign(self) -> tuple[ObjectRef, ...]:
        return tuple(self._foreign)

    def prune(self, refs: Sequence[ObjectRef]) -> bool:
        """Delete what is possible now; return whether all are gone. The second phase waits for the end of the first."""
        first, second = _phases(refs)
        return self._delete(first) and self._delete(second)

    def prune_upgrade(self, refs: Sequence[ObjectRef]) -> UpgradePruning:
        """Prune what a new version no longer has, except CRDs with objects.

        The first phase deletes the module's own objects of such a kind, so that it ends before CRDs are judged.
        """
        first, second = _phases(refs)
        if not self._delete(first):
            return UpgradePruning(tuple(ref for ref in refs if ref not in self._foreign))
        kept = tuple(ref for ref in second if is_definition(ref) and self._is_used(ref))
        gone = [ref for ref in second if ref not in kept]
        if self._delete(gone):
            return UpgradePruning((), kept)
        return UpgradePruning(tuple(ref for ref in gone if ref not in self._foreign), kept)

    def retry_kept(self, refs: Iterable[ObjectRef]) -> tuple[ObjectRef, ...]:
        """Delete the kept CRDs that have no objects any more; return those that still exist, as far as is known."""
        return tuple(ref for ref in refs if self._is_used(ref) or not self._delete([ref]))

    def _is_used(self, ref: ObjectRef) -> bool:
        """Return whether a CRD has objects, or they cannot be listed; one that is being deleted has none that stay."""
        try:
            live = self._cluster.get(ref, cancel=self._cancel)
            if live is None or live["metadata"].get("deletionTimestamp"):
                return False
            served = [gvk for gvk in defined_kinds([live]) if self._cluster.kind(gvk) is not None]
            return not served or bool(self._cluster.list(served[0], cancel=self._cancel))
        except CancelledError:
            raise
        except KymatuiError:
            return True

    def _delete(self, refs: Iterable[ObjectRef]) -> bool:
        """Send a deletion of each of the Manifest's objects; return whether all of them are gone already."""
        gone = True
        for ref in refs:
            live = self._cluster.get(ref, cancel=self._cancel)
            if live is None:  # only this proves that it is gone: an accepted deletion may wait for finalizers
                continue
            if owning_manifest(live) != self._manifest:
                self._foreign[ref] = None
                continue
            gone = False
            with contextlib.suppress(NotFoundError, ConflictError):  # gone or created again, which the next pass finds
                uid = str(live["metadata"].get("uid") or "")
                self._cluster.delete(ref, uid=uid, propagation="Background", cancel=self._cancel)
        return gone


def _phases(refs: Sequence[ObjectRef]) -> tuple[list[ObjectRef], list[ObjectRef]]:
    first = [ref for ref in refs if ref.kind.kind not in _LAST]
    return first, [ref for ref in refs if ref.kind.kind in _LAST]


def names_of(refs: Sequence[ObjectRef]) -> str:
    """Return the first objects by name, and how many more there are."""
    first = ", ".join(map(str, refs[:_NAMED]))
    return f"{first} and {len(refs) - _NAMED} more" if len(refs) > _NAMED else first
