"""The controller of one namespace's Manifests: changed ones, changed workloads and access Secrets, a slow resync."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.jobs.lease import DURATION
from kymatui.errors import NotFoundError, RefusedError
from kymatui.operator.framework.controller import KindWatch, Told, Wake
from kymatui.operator.framework.controller_group import ControllerGroup
from kymatui.operator.framework.reconcile_reports import GroupReports
from kymatui.operator.framework.requeue_intervals import RequeueIntervals
from kymatui.operator.framework.work_queue import BACKOFF
from kymatui.operator.framework.workers import WORKERS
from kymatui.operator.manifests.access_secret_watches import AccessSecretWatches
from kymatui.operator.manifests.reconcile_context import ReconcileContext
from kymatui.operator.manifests.reconciler import ManifestReconciler

RESYNC: Final = 1800.0
"""Seconds between two reconciliations of an unchanged Manifest."""
MANIFEST: Final = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")


class ManifestController:
    """The controller of a namespace's Manifests; implements `OperatorController`, and runs alone with `run`."""

    intervals = RequeueIntervals(backoff=BACKOFF)

    def __init__(
        self,
        site: ReconcileContext,
        told: Told,
        namespace: str,
        *,
        name: str = "manifest",
        tell: Callable[[str], None] = lambda words: None,
        workers: int = WORKERS,
        resync: float = RESYNC,
        lease: float = DURATION,
    ) -> None:
        self.name = name
        self.workers = workers
        self.resync = resync
        self._site = site
        self._namespace = namespace
        self._reports = GroupReports(told, tell)
        self._lease_seconds = lease
        self._accesses = AccessSecretWatches(site.home)
        self._reconciler = ManifestReconciler(site, self._accesses)

    def run(self, cancel: threading.Event) -> None:
        """Run alone until `cancel` is set; see `ControllerGroup.run`."""
        site = self._site
        ControllerGroup(
            site.home, site.clock, [self], self._reports, limits=site.limits, lease=self._lease_seconds
        ).run(cancel)

    def watches(self) -> Sequence[KindWatch]:
        served = self._site.home.kinds(OPERATOR, MANIFEST.kind)
        kind = served[0].gvk if served else MANIFEST
        return (KindWatch(kind, namespace=self._namespace, listed=True, label=LABEL_KYMA_NAME, edits=True),)

    def begin(self, wake: Wake) -> None:
        self._site.watches.begin(wake)
        self._accesses.begin(wake)

    def end(self) -> None:
        self._site.watches.end()
        self._accesses.end()

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        require_namespace(ref, self._namespace)
        return self._reconciler.reconcile(ref, cancel)

    def leave(self, ref: ObjectRef) -> None:
        self._reconciler.leave(ref)


def require_namespace(ref: ObjectRef, namespace: str) -> None:
    """Raise RefusedError for a Manifest of another namespace, whoever queued it: others may write Manifests there."""
    if ref.namespace != namespace:
        raise RefusedError(
            f"{ref} is not reconciled: this operator installs Manifests of {namespace} only",
            hint=f"--manifest-namespaces {ref.namespace} installs it with the rights of a ServiceAccount there",
        )


def manifest_kind(site: ReconcileContext) -> GroupVersionKind:
    """Return the cluster's preferred version of Manifests. Raises NotFoundError."""
    served = site.home.kinds(OPERATOR, MANIFEST.kind)
    if not served:
        raise NotFoundError(
            f"{site.home.name} does not serve Manifests",
            hint="install the Manifest CRD there",
            status=404,
        )
    return served[0].gvk
