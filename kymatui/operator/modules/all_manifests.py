"""The controller of the Manifests beside the Kymas: Kymas' own as lifecycle-manager, others with kymatui's engine."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.engine.cluster.ports import Cluster
from kymatui.operator.framework.controller import KindWatch, Wake
from kymatui.operator.framework.requeue_intervals import RequeueIntervals
from kymatui.operator.manifests.controller import ManifestController, require_namespace
from kymatui.operator.modules.module_reconciler import ModuleReconciler, is_of_kyma


class AllManifestsController:
    """Implements `OperatorController` for both sorts of Manifests; `namespace` is that of the Kymas."""

    name = "manifest"

    def __init__(
        self,
        home: Cluster,
        own: ManifestController,
        modules: ModuleReconciler,
        intervals: RequeueIntervals,
        namespace: str,
    ) -> None:
        self.workers = own.workers
        self.resync = own.resync
        self.intervals = intervals
        self._home = home
        self._own = own
        self._modules = modules
        self._namespace = namespace

    def watches(self) -> Sequence[KindWatch]:
        return self._own.watches()

    def begin(self, wake: Wake) -> None:
        self._own.begin(wake)

    def end(self) -> None:
        self._own.end()
        self._modules.end()

    def leave(self, ref: ObjectRef) -> None:
        self._own.leave(ref)

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        require_namespace(ref, self._namespace)
        raw = self._home.get(ref, cancel=cancel)
        if raw is not None and is_of_kyma(raw):
            manifest = read_manifest(raw)
            if isinstance(manifest, Manifest):
                return self._modules.reconcile(manifest, cancel)
        return self._own.reconcile(ref, cancel)
