"""The reconciliation of one Manifest that a Kyma's controller wrote."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MANAGED_BY, OPERATOR
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.objects.owners import find_owners
from kymatui.domain.plans.kyma_manifest import MANAGED_BY
from kymatui.operator.modules.module_deletion import ModuleDeletion
from kymatui.operator.modules.module_installation import ModuleInstallation
from kymatui.operator.modules.reconcile_pass import ManifestChangedError, ModuleContext, ReconcilePass


class ModuleReconciler:
    """The reconciler of modules' Manifests."""

    def __init__(self, context: ModuleContext) -> None:
        self._context = context

    def end(self) -> None:
        """Drop what reconciliations kept."""
        self._context.runtimes.clear()

    def reconcile(self, manifest: Manifest, cancel: threading.Event) -> float:
        """Do what is possible now; return the seconds until the next reconciliation.

        Raises the errors of both clusters and of the registry, which are in the status, too.
        """
        if manifest.skipped:
            return self._context.intervals.success
        turn = ReconcilePass(self._context, manifest, cancel)
        try:
            run = ModuleDeletion(turn).run if manifest.meta.deleting else ModuleInstallation(turn).run
            return run()
        except ManifestChangedError:  # the next reconciliation reads the new Manifest, which may request something else
            return turn.soon


def is_of_kyma(raw: Mapping[str, Any]) -> bool:
    """Return whether a Kyma's controller wrote a Manifest, by its labels or, where these were taken off, its owner."""
    labels = (raw.get("metadata") or {}).get("labels") or {}
    if labels.get(LABEL_MANAGED_BY) == MANAGED_BY and labels.get(LABEL_KYMA_NAME):
        return True
    kinds = [one.ref.kind for one in find_owners(raw) if one.is_controller]
    return any(kind.group == OPERATOR and kind.kind == "Kyma" for kind in kinds)
