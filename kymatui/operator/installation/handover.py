"""Hand a control plane over from lifecycle-manager to the operator, or back: the fields of all their objects."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from msgspec import Struct

from kymatui.actions.operator_lease import operator_of
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import CRD, DEPLOYMENT, ObjectRef
from kymatui.domain.kyma.kyma_keeper import find_keeper
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.problems import Actor
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import NAMESPACE, Cluster
from kymatui.engine.dryrun.field_takeover import hand_fields_over, has_fields_for
from kymatui.errors import CancelledError, KymatuiError, ReadOnlyError, RefusedError
from kymatui.operator.catalogs.runtime_catalog import SYNCED_CRDS
from kymatui.operator.framework.foreign_manager_guard import require_no_lifecycle_manager
from kymatui.operator.framework.runtime_cache import RuntimeClusters
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST
from kymatui.operator.kymas.runtime_kyma import RUNTIME_KYMA


class ClusterHandover(Struct, frozen=True):
    """What is handed over in one cluster.

    kyma   the Kyma whose runtime it is, "" for the control plane
    refs   the objects with fields of the one that leaves
    error  why they are unknown, None if they are known
    """

    kyma: str
    refs: tuple[ObjectRef, ...] = ()
    error: KymatuiError | None = None


class ControllerHandover:
    """The handover of one control plane `to` lifecycle-manager or the operator."""

    def __init__(
        self, home: Cluster, namespace: str, to: Actor, runtimes: RuntimeClusters, cancel: threading.Event
    ) -> None:
        self._home, self._namespace, self._to = home, namespace, to
        self._runtimes, self._cancel = runtimes, cancel

    def require_stopped(self, now: float) -> None:
        """Raise RefusedError if the one that leaves still works: it would write again. `now` is in Unix seconds."""
        namespaces = tuple(dict.fromkeys((self._namespace, KYMA_NAMESPACE)))
        if self._to is Actor.OPERATOR:
            require_no_lifecycle_manager(self._home, namespaces, now, self._cancel)
            return
        deployments = [raw for name in namespaces for raw in self._home.list(DEPLOYMENT, name, cancel=self._cancel)]
        lease = operator_of(self._home, self._cancel)
        if find_keeper((), deployments, lease) is Actor.OPERATOR:
            raise RefusedError(
                f"kymatui's operator works on {self._home.name}: {lease.message}",
                hint="run `kymatui operator uninstall`, or scale its Deployment to 0, first",
                unchanged=True,
            )

    def plan(self) -> list[ClusterHandover]:
        """Return the control plane, and each runtime. Raises the control plane's errors."""
        kymas = self._home.list(KYMA, self._namespace, with_managed_fields=True, cancel=self._cancel)
        manifests = self._home.list(MANIFEST, self._namespace, with_managed_fields=True, cancel=self._cancel)
        refs = [read_ref(raw) for raw in (*kymas, *manifests) if has_fields_for(raw, self._to)]
        applied: dict[str, list[ObjectRef]] = {read_ref(raw).name: [] for raw in kymas}
        for manifest in map(read_manifest, manifests):
            if isinstance(manifest, Manifest):
                resource = [read_ref(manifest.resource)] if manifest.resource else []
                applied.setdefault(manifest.kyma, []).extend([*manifest.synced, *resource])
        runtimes = run_for_each(list(applied.items()), lambda item: self._plan_runtime(*item), self._cancel)
        return [ClusterHandover("", tuple(refs)), *runtimes]

    def _plan_runtime(self, kyma: str, applied: Sequence[ObjectRef]) -> ClusterHandover:
        crds = (ObjectRef(CRD, "", name) for name in SYNCED_CRDS)
        own = (RUNTIME_KYMA, ObjectRef(NAMESPACE, "", KYMA_NAMESPACE), *crds)
        try:
            return ClusterHandover(kyma, tuple(self._handed(self._runtime(kyma), (*own, *applied))))
        except KymatuiError as error:
            return ClusterHandover(kyma, error=error)

    def _handed(self, cluster: Cluster, refs: Sequence[ObjectRef]) -> Iterator[ObjectRef]:
        for ref in dict.fromkeys(refs):
            live = cluster.get(ref, cancel=self._cancel)
            if live is not None and has_fields_for(live, self._to):
                yield ref

    def carry_out(self, planned: Sequence[ClusterHandover]) -> list[ClusterHandover]:
        """Hand over what was planned; return what failed. What is done stays, and a second time continues.

        Raises ReadOnlyError, CancelledError.
        """
        return [item for item in run_for_each(planned, self._carry_out, self._cancel) if item.error is not None]

    def _carry_out(self, planned: ClusterHandover) -> ClusterHandover:
        try:
            cluster = self._runtime(planned.kyma) if planned.kyma else self._home
            for ref in planned.refs:
                hand_fields_over(cluster, ref, self._to, home=not planned.kyma)
        except (ReadOnlyError, CancelledError):
            raise
        except KymatuiError as error:
            return ClusterHandover(planned.kyma, error=error)
        return planned

    def _runtime(self, kyma: str) -> Cluster:
        runtime = self._runtimes.runtime(kyma, self._namespace, self._cancel)
        if runtime is None:
            raise RefusedError(f"no Secret in {self._namespace} gives access to the runtime of {kyma}")
        return runtime
