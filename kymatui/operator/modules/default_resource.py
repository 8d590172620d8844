"""The default CR of a module on a runtime, and the other objects of its kind, which block a deletion."""

from __future__ import annotations

import contextlib
import threading

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import Manifest, default_resource_body
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster
from kymatui.errors import ConflictError, NotFoundError
from kymatui.operator.manifests.custom_state_check import resource_ref


class ModuleResources(Struct, frozen=True):
    """The objects of a module's CR kind: its default CR, and the user's."""

    default: ObjectRef | None = None
    others: tuple[ObjectRef, ...] = ()


class DefaultResource:
    """The default CR of one Manifest on one runtime."""

    def __init__(self, manifest: Manifest, cluster: Cluster, cancel: threading.Event) -> None:
        self._manifest = manifest
        self._cluster = cluster
        self._cancel = cancel

    @property
    def is_owned(self) -> bool:
        """Return whether the Manifest creates and deletes a default CR."""
        return bool(self._manifest.resource) and self._manifest.policy != Policy.IGNORE

    def create(self) -> None:
        """Create the CR if it does not exist; one that exists stays as it is."""
        if not self._manifest.resource:
            return
        if self._cluster.kind(read_ref(self._manifest.resource).kind) is None:
            self._cluster.forget_kinds()  # its CRD may have been applied just now
        ref = resource_ref(self._manifest, self._cluster)
        if ref is None:
            return
        if self._cluster.get(ref, cancel=self._cancel) is not None:
            return
        with contextlib.suppress(ConflictError):  # created meanwhile, and one that exists stays as it is
            body = default_resource_body(self._manifest.resource, ref)
            self._cluster.create(body, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)

    def find(self) -> ModuleResources:
        """Return what exists of the CR's kind, in all served versions and namespaces.

        With policy Ignore the default CR is one of the user's. A kind that is not served has no objects; the kinds are
        read again to be sure, because a list of kinds from before the CRD's creation would hide the user's objects.
        """
        if not self._manifest.resource:
            return ModuleResources()
        default = resource_ref(self._manifest, self._cluster)
        kind = read_ref(self._manifest.resource).kind
        if not self._cluster.kinds(kind.group, kind.kind):
            self._cluster.forget_kinds()
        found: dict[tuple[str, str, str, str], ObjectRef] = {}
        for served in self._cluster.kinds(kind.group, kind.kind):
            for raw in self._cluster.list(served.gvk, cancel=self._cancel):
                ref = read_ref(raw)
                found.setdefault(ref.key, ref)
        mine = found.pop(default.key, None) if default is not None and self.is_owned else None
        return ModuleResources(mine, tuple(found.values()))

    def delete(self, ref: ObjectRef) -> None:
        with contextlib.suppress(NotFoundError):
            self._cluster.delete(ref, propagation="Background", cancel=self._cancel)
