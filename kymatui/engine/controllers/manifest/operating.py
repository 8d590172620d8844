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
from kymatui.engine.identities import own_identity
from kymatui.engine.leases import Lease, Terms
from kymatui.engine.retrying import PatientCluster
from kymatui.errors import CancelledError, KymatuiError, NotFoundError, RefusedError

RESYNC: Final = 1800.0
"""Seconds between two looks at a Manifest of which nothing changes."""
LEADER: Final = "operator"
LEADER_NAMESPACE: Final = "kube-system"
_LOOK = 1.0


class ManifestController:
    """Reconciles all Manifests of a cluster until it is stopped. `told` hears of failures, from any thread.

    One works on a cluster at a time: further ones wait for its Lease, and tell (`tell`) whom they wait for.
    """

    def __init__(
        self,
        site: Site,
        told: Callable[[ObjectRef, KymatuiError, float | None], None],
        *,
        tell: Callable[[str], None] = lambda words: None,
        workers: int = WORKERS,
        resync: float = RESYNC,
    ) -> None:
        self._site = site
        self._told = told
        self._tell = tell
        self._resync = resync
        self.queue: WorkQueue[ObjectRef] = WorkQueue()
        self._reconciler = ManifestReconciler(site)
        self._workers = Workers("manifests", self.queue, self._reconcile, self._failed, workers=workers)

    def run(self, cancel: threading.Event) -> None:
        """Returns when `cancel` is set.

        Raises NotFoundError where the cluster does not know Manifests, RefusedError where its Lease was lost to
        another, and whatever a defect raised.
        """
        kind = manifest_kind(self._site)
        patient = PatientCluster(self._site.home, self._site.clock, threading.Event(), self._site.limits.patience)
        terms = Terms(patience=float("inf"))
        lease = Lease(patient, self._site.clock, LEADER, LEADER_NAMESPACE, own_identity(), terms)
        try:
            with lease.hold(cancel, _each_once(self._tell)) as stopped:
                self._work(kind, stopped)
        except CancelledError:
            return  # while it waited for another
        if not cancel.is_set():
            raise RefusedError(
                f"another operator has taken the Lease {LEADER_NAMESPACE}/{lease.name}; this one has stopped",
                hint="start it again: it waits until the other is gone",
            )

    def _work(self, kind: GroupVersionKind, stopped: threading.Event) -> None:
        with self._site.home.follow([(kind, "")]) as manifests:
            for raw in self._site.home.list(kind, cancel=stopped):
                self.queue.add(read_ref(raw))
            self._site.lookouts.begin(self.queue.add)
            self._workers.start()
            try:
                while not (stopped.is_set() or self._workers.ended):
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


def _each_once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Passes on what is not the same as the last time."""
    last = [""]

    def told(words: str) -> None:
        if words != last[0]:
            last[0] = words
            tell(words)

    return told


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
