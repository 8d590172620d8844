"""The controller of Kymas' Manifests alone."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.operator.framework.controller import GONE, KindWatch, Wake
from kymatui.operator.kymas.kyma_context import MANIFEST
from kymatui.operator.manifests.controller import require_namespace
from kymatui.operator.modules.module_reconciler import ModuleReconciler, is_of_kyma
from kymatui.operator.modules.reconcile_pass import ModuleContext


class ModuleController:
    """Implements `OperatorController`."""

    name = "manifest"

    def __init__(self, context: ModuleContext, namespace: str, *, workers: int = 1) -> None:
        self.workers = workers
        self.intervals = context.intervals
        self.resync = context.intervals.success
        self._context = context
        self._namespace = namespace
        self._modules = ModuleReconciler(context)

    def watches(self) -> Sequence[KindWatch]:
        return (KindWatch(MANIFEST, namespace=self._namespace, listed=True, label=LABEL_KYMA_NAME, edits=True),)

    def begin(self, wake: Wake) -> None:
        self._context.watches.begin(wake)

    def end(self) -> None:
        self._context.watches.end()
        self._context.runtimes.clear()

    def leave(self, ref: ObjectRef) -> None:
        self._context.watches.unwatch(ref)

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        require_namespace(ref, self._namespace)
        raw = self._context.home.get(ref, cancel=cancel)
        if raw is None:
            self.leave(ref)
            return GONE
        manifest = read_manifest(raw) if is_of_kyma(raw) else None
        return self._modules.reconcile(manifest, cancel) if isinstance(manifest, Manifest) else None
