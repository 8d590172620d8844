"""The controller loop: changed Manifests, changed workloads, and a slow resync."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from kymatui.domain.kubernetes.jitter import JITTER_RANDOM
from kymatui.domain.kubernetes.object_meta import OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.retries import RetryingCluster, is_outcome_unknown
from kymatui.engine.controllers.manifest.access_secret_watches import AccessSecretWatches
from kymatui.engine.controllers.manifest.reconcile_context import ReconcileContext
from kymatui.engine.controllers.manifest.reconciler import ManifestReconciler
from kymatui.engine.controllers.runtime.work_queue import WorkQueue
from kymatui.engine.controllers.runtime.workers import WORKERS, Workers
from kymatui.engine.jobs.identity import own_identity
from kymatui.engine.jobs.lease import DURATION, Lease, LeaseTerms
from kymatui.errors import CancelledError, ClusterError, KymatuiError, NotFoundError, RefusedError

RESYNC: Final = 1800.0
"""Seconds between two reconciliations of an unchanged Manifest."""
LEADER: Final = "operator"
LEADER_NAMESPACE: Final = "kube-system"
_LOOK = 1.0  # seconds between checks whether the controller has to stop


class ManifestController:
    """The controller of all Manifests in a cluster; `told` gets failures, from any thread.

    Only one controller works on a cluster: others wait for its Lease and report the holder to `tell`.
    """

    def __init__(
        self,
        site: ReconcileContext,
        told: Callable[[ObjectRef, KymatuiError, float | None], None],
        *,
        tell: Callable[[str], None] = lambda words: None,
        workers: int = WORKERS,
        resync: float = RESYNC,
        lease: float = DURATION,
    ) -> None:
        self._site = site
        self._told = told
        self._tell = tell
        self._resync = resync
        self._lease_seconds = lease
        self._led = False
        self.queue: WorkQueue[ObjectRef] = WorkQueue()
        self._accesses = AccessSecretWatches(site.home)
        self._reconciler = ManifestReconciler(site, self._accesses)
        self._count = workers

    def run(self, cancel: threading.Event) -> None:
        """Run until `cancel` is set.

        If the Lease expires because the cluster is unreachable, the controller stops working until it holds the
        Lease again. Raises NotFoundError if the cluster does not serve Manifests, RefusedError if another
        controller took the Lease, and any unexpected error.
        """
        kind = manifest_kind(self._site)
        while self._lead(kind, cancel):
            self.queue = WorkQueue()
            self._tell(f"no connection to {self._site.home.name}: paused until the Lease is held again")

    def _lead(self, kind: GroupVersionKind, cancel: threading.Event) -> bool:
        """Work while holding the Lease; return whether to try again after a lost connection."""
        patient = RetryingCluster(self._site.home, self._site.clock, threading.Event(), self._site.limits.patience)
        terms = LeaseTerms(self._lease_seconds, patience=float("inf"))
        lease = Lease(patient, self._site.clock, LEADER, LEADER_NAMESPACE, own_identity(), terms)
        try:
            with lease.hold(cancel, _each_once(self._tell)) as stopped:
                self._work(kind, stopped)
        except CancelledError:
            return False  # cancelled while waiting for another holder
        except RefusedError:
            if not lease.cut_off:
                raise
        except ClusterError as error:
            if not (self._led and is_outcome_unknown(error)):
                raise
            self._site.clock.sleep(_LOOK, cancel)
            return not cancel.is_set()
        if lease.cut_off or cancel.is_set():
            return not cancel.is_set()
        raise RefusedError(
            f"another operator has taken the Lease {LEADER_NAMESPACE}/{lease.name}; this one has stopped",
            hint="start it again; it waits until the other one has stopped",
        )

    def _work(self, kind: GroupVersionKind, stopped: threading.Event) -> None:
        workers = Workers("manifests", self.queue, self._reconcile, self._failed, workers=self._count)
        with self._site.home.follow([(kind, "")]) as manifests:
            for raw in self._site.home.list(kind, cancel=stopped):
                self.queue.add(read_ref(raw))
            self._led = True
            self._site.lookouts.begin(self.queue.add)
            self._accesses.begin(self.queue.add)
            workers.start()
            try:
                while not (stopped.is_set() or workers.ended):
                    for ref in manifests.wait(_LOOK):
                        self.queue.add(ref)
            finally:
                workers.stop()
                self._site.lookouts.end()
                self._accesses.end()
                workers.join(self._site.limits.gone)

    def _reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        try:
            again = self._reconciler.reconcile(ref, cancel)
        except RefusedError as error:
            self._told(ref, error, None)
            return None
        return again if again is not None else self._resync * (1 + JITTER_RANDOM.random())

    def _failed(self, ref: ObjectRef, error: KymatuiError, seconds: float) -> None:
        self._told(ref, error, seconds)


def _each_once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that forwards a message unless it repeats the last one."""
    last = [""]

    def told(words: str) -> None:
        if words != last[0]:
            last[0] = words
            tell(words)

    return told


def manifest_kind(site: ReconcileContext) -> GroupVersionKind:
    """Return the cluster's preferred version of Manifests. Raises NotFoundError."""
    served = site.home.kinds(OPERATOR, "Manifest")
    if not served:
        raise NotFoundError(
            f"{site.home.name} does not serve Manifests",
            hint="install the Manifest CRD there",
            status=404,
        )
    return served[0].gvk
