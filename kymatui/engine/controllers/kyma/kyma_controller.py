"""The controller of Kymas: changes of Kymas, Manifests and the catalog, and of Kymas on runtimes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.controllers.catalog.catalog_cache import RELEASE_META, TEMPLATE
from kymatui.engine.controllers.kyma.kyma_context import KYMA, MANIFEST, KymaContext
from kymatui.engine.controllers.kyma.kyma_reconciler import KymaReconciler
from kymatui.engine.controllers.runtime.controller import KindWatch, Wake

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
        self._lock = threading.Lock()
        self._owners: dict[ObjectRef, ObjectRef] = {}

    def watches(self) -> Sequence[KindWatch]:
        namespace = self._context.namespace
        return (
            KindWatch(KYMA, namespace=namespace, listed=True),
            KindWatch(MANIFEST, self._owner, namespace),
            KindWatch(TEMPLATE, self._all, namespace, spread=SPREAD),
            KindWatch(RELEASE_META, self._all, namespace, spread=SPREAD),
        )

    def begin(self, wake: Wake) -> None:
        self._context.watches.begin(wake)

    def end(self) -> None:
        self._context.watches.end()

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        return self._reconciler.reconcile(ref, cancel)

    def _owner(self, manifest: ObjectRef) -> Iterable[ObjectRef]:
        """Return the Kyma of a Manifest; a deleted one is remembered."""
        raw = self._context.home.get(manifest)
        name = JsonReader(raw or {}).child("metadata").labels("labels").get(LABEL_KYMA_NAME, "")
        with self._lock:
            if raw is None:
                owner = self._owners.pop(manifest, None)
                return (owner,) if owner is not None else ()
            if name:
                self._owners[manifest] = ObjectRef(KYMA, manifest.namespace, name)
            return (self._owners[manifest],) if name else ()

    def _all(self, changed: ObjectRef) -> Iterable[ObjectRef]:
        """Return all Kymas: each has its own part of the catalog."""
        self._context.templates.changed()
        return [read_ref(raw) for raw in self._context.home.list(KYMA, self._context.namespace)]
