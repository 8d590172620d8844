"""The controller of Kymas: changes of Kymas, Manifests and the catalog, and of Kymas on runtimes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.operator.catalogs.catalog_cache import RELEASE_META, TEMPLATE
from kymatui.operator.framework.controller import KindWatch, Wake
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST, KymaContext
from kymatui.operator.kymas.kyma_reconciler import KymaReconciler

SPREAD: Final = 0.06
"""Seconds for each Kyma over which a change of the catalog is spread: 5 minutes for 5000 Kymas."""


class KymaController:
    """Implements `OperatorController` for Kymas."""

    name = "kyma"

    def __init__(self, context: KymaContext, *, workers: int) -> None:
        self.workers = workers
        self.intervals = context.intervals
        self.resync = context.intervals.success
        self._context = context
        self._reconciler = KymaReconciler(context)

    def watches(self) -> Sequence[KindWatch]:
        namespace = self._context.namespace
        return (
            KindWatch(KYMA, namespace=namespace, listed=True, edits=True),
            KindWatch(MANIFEST, namespace=namespace, label=LABEL_KYMA_NAME, owner=_owner, delay=self.intervals.soon),
            KindWatch(TEMPLATE, self._all, namespace, spread=SPREAD),
            KindWatch(RELEASE_META, self._all, namespace, spread=SPREAD),
        )

    def begin(self, wake: Wake) -> None:
        self._context.watches.begin(wake)

    def end(self) -> None:
        self._context.watches.end()
        self._context.runtimes.clear()

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        return self._reconciler.reconcile(ref, cancel)

    def leave(self, ref: ObjectRef) -> None:
        self._reconciler.leave(ref)

    def _all(self, changed: ObjectRef) -> None:
        """Reconcile all Kymas: each has its own part of the catalog."""
        self._context.templates.changed()


def _owner(manifest: ObjectRef, kyma: str) -> Iterable[ObjectRef]:
    return (ObjectRef(KYMA, manifest.namespace, kyma),) if kyma else ()
