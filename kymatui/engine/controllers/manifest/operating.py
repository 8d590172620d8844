"""The controller on its way: Manifests that change, workloads that change, and a slow look at everything."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Final

from kymatui.domain.objects import OPERATOR, read_ref
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.engine.controllers.manifest.places import Site
from kymatui.engine.controllers.manifest.reconciling import ManifestReconciler
from kymatui.engine.controllers.queues import WorkQueue
from kymatui.engine.controllers.workers import WORKERS, Workers
from kymatui.errors import KymatuiError, NotFoundError, RefusedError

RESYNC: Final = 1800.0
"""Seconds between two looks at a Manifest of which nothing changes."""
_LOOK = 1.0


class ManifestController:
    """Reconciles all Manifests of a cluster until it is stopped. `told` hears of failures, from any thread."""

    def __init__(
        self,
        site: Site,
        told: Callable[[ObjectRef, KymatuiError, float | None], None],
        *,
        workers: int = WORKERS,
        resync: float = RESYNC,
    ) -> None:
        self._site = site
        self._told = told
        self._resync = resync
        self.queue: WorkQueue[ObjectRef] = WorkQueue()
        self._reconciler = ManifestReconciler(site)
        self._workers = Workers("manifests", self.queue, self._reconcile, self._failed, workers=workers)

    def run(self, cancel: threading.Event) -> None:
        """Returns when `cancel` is set. Raises NotFoundError where the cluster does not know Manifests."""
        kind = manifest_kind(self._site)
        with self._site.home.follow([(kind, "")]) as manifests:
            for raw in self._site.home.list(kind, cancel=cancel):
                self.queue.add(read_ref(raw))
            self._site.lookouts.begin(self.queue.add)
            self._workers.start()
            try:
                while not cancel.is_set():
                    for ref in manifests.wait(_LOOK):
                        self.queue.add(ref)
            finally:
                self._workers.stop()
                self._site.lookouts.end()
                self._workers.join(self._site.limits.gone)

    def _reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        try:
            again = self._reconciler.reconcile(ref, cancel)
        except RefusedError as error:
            self._told(ref, error, None)
            return None
        return again if again is not None else self._resync * (1 + random.random())  # noqa: S311 (spread, no secret)

    def _failed(self, ref: ObjectRef, error: KymatuiError, seconds: float) -> None:
        self._told(ref, error, seconds)


def manifest_kind(site: Site) -> GroupVersionKind:
    """The version of Manifests that the cluster prefers."""
    served = site.home.kinds(OPERATOR, "Manifest")
    if not served:
        raise NotFoundError(
            f"{site.home.name} does not serve Manifests",
            hint="their CustomResourceDefinition is not installed there",
            status=404,
        )
    return served[0].gvk
