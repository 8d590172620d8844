"""The uninstallation of a Manifest's installs, or their release."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from msgspec import Struct

from kymatui.domain.inventories import Inventory
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.ownership import LABEL_PART_OF
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, PatchKind
from kymatui.engine.deletion.managed_deletion import DeletionConsent
from kymatui.engine.deletion.module_deletion import uninstall_module
from kymatui.engine.deletion.uninstall_plan import DeletionScope, plan_uninstall
from kymatui.engine.inventory.inventory_lookup import read_inventory
from kymatui.engine.inventory.inventory_store import ApplySetStore
from kymatui.engine.inventory.ownership_marks import ANNOTATION_MANIFEST
from kymatui.errors import CancelledError, KymatuiError, NotFoundError
from kymatui.operator.manifests.install_record import InstallRecord
from kymatui.operator.manifests.reconcile_context import ReconcileContext


class RemainingObjects(Struct, frozen=True):
    """The remaining objects: a sentence ("" if none), and the objects to watch."""

    message: str = ""
    waits: tuple[ObjectRef, ...] = ()


class ManifestUninstallation:
    """The deletion or release of recorded installs on one cluster."""

    def __init__(self, site: ReconcileContext, manifest: Manifest, cluster: Cluster, cancel: threading.Event) -> None:
        self._site = site
        own = f"{manifest.meta.namespace}/{manifest.meta.name}"
        self._scope = DeletionScope(delete_crds=True, manifest=own)  # a module's CRDs end with it, as far as unused
        self._cluster = cluster
        self._cancel = cancel

    def remove(self, entries: Sequence[InstallRecord]) -> RemainingObjects:
        """Delete as much as possible now, the last install first; return what remains.

        User objects that a manager handles are never deleted here: until their owners delete them, everything
        stays.
        """
        found = [self._remove(entry) for entry in reversed(entries)]
        words = "; ".join(one.message for one in found if one.message)
        return RemainingObjects(words, tuple(ref for one in found for ref in one.waits))

    def _remove(self, entry: InstallRecord) -> RemainingObjects:
        waits: tuple[ObjectRef, ...] = ()
        try:
            found = plan_uninstall(
                entry.name, entry.namespace, self._cluster, self._site.clock, cancel=self._cancel, scope=self._scope
            )
            if found is None:
                return RemainingObjects()
            waits = (*(one.ref for one in found.remaining.instances), *(step.ref for step in found.deletions))
            with self._site.begin(self._cluster, self._cancel) as run:
                uninstall_module(found, run, DeletionConsent(found.accepted))
            return RemainingObjects()
        except CancelledError:
            raise
        except KymatuiError as error:
            return RemainingObjects(str(error), waits)

    def let_go(self, entries: Iterable[InstallRecord]) -> None:
        """Remove ownership marks and inventories; the objects stay.

        Raises NotFoundError for a deleted object, as its owner should know before the controller stops managing it.
        """
        for entry in entries:
            inventory = read_inventory(self._cluster, self._site.clock, entry.name, entry.namespace)
            if inventory is None:
                continue
            for item in inventory.items:
                self._unmark(item.ref)
            self._forget(inventory)

    def _unmark(self, ref: ObjectRef) -> None:
        patch = {"metadata": {"labels": {LABEL_PART_OF: None}, "annotations": {ANNOTATION_MANIFEST: None}}}
        try:
            self._cluster.patch(ref, patch, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)
        except NotFoundError as error:
            raise NotFoundError(
                f"{ref} is missing, so it cannot be released",
                hint="create it again, or delete the Manifest without releasing its objects",
                status=404,
            ) from error

    def _forget(self, inventory: Inventory) -> None:
        """Delete the inventory; a Helm release stays for the helm command."""
        if not inventory.chart:
            ApplySetStore(self._cluster, inventory.name, inventory.namespace).remove(inventory)
