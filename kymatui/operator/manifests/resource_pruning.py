"""The deletion of a module's objects in two phases: what the module's manager may need goes last.

A CRD stays while the runtime has objects of its kind or another installation has it, and a namespace while others have
objects in it: the API server would delete them along, those of users included. After an upgrade that is tried again.
lifecycle-manager deletes both.

What is deleted is what the Manifest's status lists, and others may write a status: only an object with the mark of the
Manifest is deleted, and none that its annotation keeps.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from kymatui.domain.kubernetes.object_meta import uid_of
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.ownership import Owner, OwnerKind, deletion_protection, owning_manifest, resource_policy
from kymatui.engine.cluster.concurrency import WIDTH
from kymatui.engine.cluster.kind_order import is_definition, is_namespace
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.deletion.cascade_contents import CascadeContents, contents_left, instances_left, staying
from kymatui.engine.inventory.managed_resources import find_crd_holders
from kymatui.errors import CancelledError, ConfigurationError, ConflictError, KymatuiError, NotFoundError

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
    desired = set(target)
    return [ref for ref in synced if ref not in desired and (ref.kind.kind, ref.name) != ("Namespace", KYMA_NAMESPACE)]


OBJECT_KEPT: Final = "ObjectKept"
"""The reason of the event for an object that the status lists and that stays."""
_FOREIGN: Final = "the status lists it, but it does not bear the Manifest's mark"


class UpgradePruning(Struct, frozen=True):
    """What became of the objects that a new version no longer has.

    remaining  those to wait for
    kept  CRDs and namespaces that are in use, with the reason: they are tried again
    """

    remaining: tuple[ObjectRef, ...] = ()
    kept: Mapping[ObjectRef, str] = field(default_factory=dict)


class ResourcePruning:
    """The deletion of one Manifest's objects on one cluster; `manifest` is "namespace/name".

    `others` returns the other Manifests of the same Kyma. `staying` are the objects that stay, with the reason.
    """

    def __init__(
        self, cluster: Cluster, manifest: str, cancel: threading.Event, others: Callable[[], Sequence[object]] = tuple
    ) -> None:
        self._cluster = cluster
        self._manifest = Owner(OwnerKind.LIFECYCLE_MANAGER, manifest)
        self._cancel = cancel
        self._others = others
        self._contents = CascadeContents(cluster, cancel, mine=self._manifest.__eq__)
        self.staying: dict[ObjectRef, str] = {}

    def prune(self, refs: Sequence[ObjectRef]) -> bool:
        """Delete what is possible now; return whether all are gone. The second phase waits for the end of the first."""
        first, second = _phases(refs)
        if not self._delete(first):
            return False
        used = self._used(second)
        self.staying |= used
        return self._delete(ref for ref in second if ref not in used)

    def prune_upgrade(self, refs: Sequence[ObjectRef]) -> UpgradePruning:
        """Prune what a new version no longer has, except CRDs and namespaces that are in use.

        The first phase deletes the module's own objects in them, so that it ends before they are judged.
        """
        first, second = _phases(refs)
        if not self._delete(first):
            return UpgradePruning(tuple(ref for ref in refs if ref not in self.staying))
        kept = self._used(second)
        gone = [ref for ref in second if ref not in kept]
        if self._delete(gone):
            return UpgradePruning((), kept)
        return UpgradePruning(tuple(ref for ref in gone if ref not in self.staying), kept)

    def retry_kept(self, refs: Sequence[ObjectRef]) -> Mapping[ObjectRef, str]:
        """Delete what is no longer in use; return what still exists, as far as is known."""
        used = self._used(refs)
        rest = {ref: "it is being deleted" for ref in refs if ref not in used and not self._delete([ref])}
        return {ref: reason for ref, reason in (used | rest).items() if ref not in self.staying}

    def _used(self, refs: Sequence[ObjectRef]) -> dict[ObjectRef, str]:
        """Return the CRDs and namespaces with which others would lose objects, each with the reason."""
        containers = [ref for ref in refs if is_definition(ref) or is_namespace(ref)]
        if not containers:
            return {}
        bodies = {ref: self._cluster.get(ref, cancel=self._cancel) for ref in refs}
        going = {uid_of(body) for body in bodies.values() if body is not None}
        reasons = {ref: self._reason(ref, bodies[ref], going) for ref in containers}
        return {ref: reason for ref, reason in reasons.items() if reason}

    def _reason(self, ref: ObjectRef, live: Object | None, going: Collection[str]) -> str:
        """Return why a CRD or namespace stays; what is being deleted already has nothing that stays."""
        if live is None or live["metadata"].get("deletionTimestamp") or self._is_foreign(live):
            return ""
        try:
            contents = staying(self._contents.of(live), going)
            if not is_definition(ref):
                return contents_left(contents)
            return instances_left(contents) or self._holders(ref)
        except CancelledError:
            raise
        except KymatuiError as error:
            return f"it is unknown what is in it: {error}"

    def _holders(self, ref: ObjectRef) -> str:
        owners, cancel = (self._manifest,), self._cancel
        return find_crd_holders(self._cluster, [ref.name], owners, cancel, WIDTH, self._others()).reason(ref.name)

    def _is_foreign(self, live: Object) -> bool:
        return owning_manifest(live) != self._manifest.name

    def _delete(self, refs: Iterable[ObjectRef]) -> bool:
        """Send a deletion of each of the Manifest's objects; return whether all of them are gone already.

        Raises ConfigurationError at the end for an object that a webhook would refuse to delete.
        """
        gone, protections = True, []
        for ref in refs:
            live = self._cluster.get(ref, cancel=self._cancel)
            if live is None:  # only this proves that it is gone: an accepted deletion may wait for finalizers
                continue
            if reason := _FOREIGN if self._is_foreign(live) else resource_policy(live):
                self.staying[ref] = reason
                continue
            gone = False
            if protection := deletion_protection(live):
                protections.append(f"{ref}: {protection}")
                continue
            metadata = live["metadata"]
            with contextlib.suppress(NotFoundError, ConflictError):  # gone or changed, which the next pass finds
                uid, version = uid_of(live), str(metadata.get("resourceVersion") or "")
                if not metadata.get("deletionTimestamp"):
                    self._cluster.delete(
                        ref, uid=uid, resource_version=version, propagation="Background", cancel=self._cancel
                    )
        if protections:
            raise ConfigurationError("; ".join(protections), hint="remove the annotation to delete the object")
        return gone


def _phases(refs: Sequence[ObjectRef]) -> tuple[list[ObjectRef], list[ObjectRef]]:
    first = [ref for ref in refs if ref.kind.kind not in _LAST]
    return first, [ref for ref in refs if ref.kind.kind in _LAST]


def names_of(refs: Sequence[ObjectRef]) -> str:
    """Return the first objects by name, and how many more there are."""
    return _first([str(ref) for ref in refs], ", ")


def describe_staying(staying_objects: Mapping[ObjectRef, str]) -> str:
    """Return the first objects that stay with the reasons, and how many more there are."""
    return _first([f"{ref} stays: {reason}" for ref, reason in staying_objects.items()], "; ")


def _first(texts: Sequence[str], separator: str) -> str:
    first = separator.join(texts[:_NAMED])
    return f"{first} and {len(texts) - _NAMED} more" if len(texts) > _NAMED else first
