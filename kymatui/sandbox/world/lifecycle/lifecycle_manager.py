"""lifecycle-manager of the sample world: the operator's controllers of Kymas, mandatory modules and Manifests.

It works under lifecycle-manager's name, and without a pause between two steps of one reconciliation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MODULE_NAME
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, WindowPolicy, read_policy_document
from kymatui.domain.ownership import LIFECYCLE_APPLIER
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY
from kymatui.engine.cluster.ports import Cluster
from kymatui.operator.catalogs.catalog_cache import CatalogCache
from kymatui.operator.catalogs.runtime_catalog import RuntimeCatalog
from kymatui.operator.framework.controller import RequeueIntervals
from kymatui.operator.framework.runtime_cache import RuntimeCache, RuntimeClusters, SingleCluster
from kymatui.operator.kymas.kyma_context import KymaContext
from kymatui.operator.kymas.kyma_reconciler import KymaController
from kymatui.operator.kymas.mandatory_modules import MandatoryInstallation, MandatoryRemoval
from kymatui.operator.manifests.controller import ManifestController, ManifestReconciler
from kymatui.operator.manifests.module_pass import ModuleContext
from kymatui.operator.manifests.resource_rendering import ModuleRenderer
from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.controllers.controller_manager import ControllerManager
from kymatui.sandbox.registry.registry_store import RegistryStore
from kymatui.sandbox.world.lifecycle.hosted_controller import DELAY, HostedController
from kymatui.sandbox.world.lifecycle.local_cluster import MANAGER, LocalCluster
from kymatui.sandbox.world.lifecycle.manager_lease import ManagerLease
from kymatui.sandbox.world.lifecycle.registry_components import RegistryComponents
from kymatui.sandbox.world.lifecycle.runtime_changes import RuntimeChanges
from kymatui.sandbox.world.lifecycle.stored_layers import StoredLayers
from kymatui.sandbox.world.modules.module_announcement import MANIFESTS

CREATOR: Final = "resource.kyma-project.io/finalizer"
"""The field manager of default CRs."""
MAINTENANCE_POLICY: Final[dict[str, Any]] = {
    "rules": [
        {
            "match": {"region": "^(eu|europe|westeurope)"},
            "windows": [{"days": ["Sat"], "begin": "21:00:00+00:00", "end": "00:00:00+00:00"}],
        },
        {
            "match": {"plan": "^trial$"},
            "windows": [{"days": ["Mon", "Wed", "Fri"], "begin": "02:00:00+00:00", "end": "04:00:00+00:00"}],
        },
    ],
    "default": {"days": ["Sun"], "begin": "04:00:00+00:00", "end": "08:00:00+00:00"},
}
_LONGEST_WINDOW: Final = 4 * 3600.0
"""Seconds that must be left of a window: no window is long enough, so the sample world is the same on every day."""
_INTERVALS: Final = RequeueIntervals(busy=300.0, warning=300.0, error=300.0, soon=0.0)
"""Whatever changes wakes the controllers, so that nothing has to be polled."""


class LifecycleManager:
    """The running controllers on a control plane.

    `runtimes` are the existing runtimes by the names of their Kymas; other Kymas are left alone. None: the control
    plane is its own runtime.
    """

    def __init__(
        self,
        controllers: ControllerManager,
        store: RegistryStore,
        namespace: str,
        runtimes: Mapping[str, ControllerManager] | None = None,
    ) -> None:
        home = LocalCluster("kcp", controllers.context.client)
        context = _kyma_context(home, controllers, store, namespace, runtimes)
        modules = _module_context(context, controllers, store, runtimes)
        observer = self._observer = controllers.context.observer
        self._runtimes = runtimes
        self._namespace = namespace
        self._kymas = HostedController(KymaController(context, workers=1), home, observer, self._is_kyma_concerned)
        controller = ManifestController(ManifestReconciler(modules=modules), namespace, workers=1)
        self._manifests = HostedController(controller, home, observer, self._is_manifest_concerned)
        mandatory = MandatoryInstallation(context, workers=1)
        controllers.add(self._kymas)
        controllers.add(HostedController(mandatory, home, observer, self._is_kyma_concerned))
        controllers.add(HostedController(MandatoryRemoval(context), home, observer))
        controllers.add(self._manifests)
        controllers.add(ManagerLease(controllers.context.client.named(MANAGER), namespace))
        for kyma, runtime in ({"": controllers} if runtimes is None else runtimes).items():
            runtime.add(RuntimeChanges(self, kyma))

    def kyma_changed(self, kyma: str) -> None:
        """Reconcile a Kyma after a change of the one in its runtime."""
        if self._runtimes is not None:
            self._kymas.wake((self._namespace, kyma))

    def object_changed(self, change: StoreChange) -> None:
        """Reconcile the Manifest that applied an object."""
        if ANNOTATION_OWNED_BY.encode() not in change.current.data:
            return
        owner = (change.current.body()["metadata"].get("annotations") or {}).get(ANNOTATION_OWNED_BY, "")
        namespace, _, name = owner.partition("/")
        if name:
            self._manifests.wake((namespace, name), DELAY)

    def resource_changed(self, kyma: str, module: str) -> None:
        """Reconcile a module's Manifest after a change of its CRs in a runtime ("" for the only one)."""
        for stored in self._observer.store.walk(MANIFESTS, self._namespace):
            if stored.labels.get(LABEL_MODULE_NAME) == module and kyma in ("", stored.labels.get(LABEL_KYMA_NAME)):
                self._manifests.wake(stored.key, DELAY)

    def _is_kyma_concerned(self, key: Key) -> bool:
        return self._runtimes is None or key[1] in self._runtimes

    def _is_manifest_concerned(self, key: Key) -> bool:
        stored = self._observer.store.get(MANIFESTS, *key) if self._runtimes is not None else None
        return stored is None or stored.labels.get(LABEL_KYMA_NAME, "") in (self._runtimes or {})


def _module_context(
    context: KymaContext,
    controllers: ControllerManager,
    store: RegistryStore,
    runtimes: Mapping[str, ControllerManager] | None,
) -> ModuleContext:
    """Return the context of Manifests, whose controller has field managers of its own in runtimes."""
    clusters = _clusters(controllers, runtimes, applier=LIFECYCLE_APPLIER, creator=CREATOR)
    renderer = ModuleRenderer(StoredLayers(store))
    return ModuleContext(context.home, context.clock, RuntimeCache(clusters), renderer, context.intervals)


def _kyma_context(
    home: LocalCluster,
    controllers: ControllerManager,
    store: RegistryStore,
    namespace: str,
    runtimes: Mapping[str, ControllerManager] | None,
) -> KymaContext:
    templates = CatalogCache(home, namespace)
    policy = read_policy_document(MAINTENANCE_POLICY)
    assert isinstance(policy, WindowPolicy)
    return KymaContext(
        home=home,
        clock=LocalClock(controllers.context.client.clock),
        namespace=namespace,
        runtimes=RuntimeCache(_clusters(controllers, runtimes)),
        templates=templates,
        components=RegistryComponents(store),
        settings=ControllerSettings(windows=policy, least=_LONGEST_WINDOW),
        catalog=RuntimeCatalog(home, templates, width=1),
        webhook=PreparedWebhook(),
        single=runtimes is None,
        intervals=_INTERVALS,
    )


def _clusters(
    controllers: ControllerManager,
    runtimes: Mapping[str, ControllerManager] | None,
    *,
    applier: str = MANAGER,
    creator: str = MANAGER,
) -> RuntimeClusters:
    """Return the runtimes with these field managers; without any, the control plane is the only one."""

    def cluster(name: str, manager: ControllerManager) -> LocalCluster:
        return LocalCluster(name, manager.context.client, applier=applier, creator=creator)

    if runtimes is None:
        return SingleCluster(cluster("kcp", controllers))
    return LocalRuntimes({name: cluster(name, manager) for name, manager in runtimes.items()})


class LocalRuntimes:
    """Implements `RuntimeClusters` for the clusters of this process."""

    def __init__(self, clusters: Mapping[str, Cluster]) -> None:
        self._clusters = clusters

    def runtime(self, kyma: str, namespace: str, cancel: threading.Event | None = None) -> Cluster | None:
        return self._clusters.get(kyma)


class LocalClock:
    """Implements the engine's `Clock` with the sandbox's time."""

    def __init__(self, clock: SandboxClock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.now()

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        time.sleep(seconds)


class PreparedWebhook:
    """Implements `RuntimeWebhookSync` for runtimes whose watcher agent the sample world itself has created."""

    def sync_webhook(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> bool:
        return True

    def remove_webhook(self, kyma: Kyma, runtime: Cluster | None, cancel: threading.Event) -> bool:
        return False

    def forget_webhook(self, kyma: str) -> None:
        """Do nothing: nothing is kept."""
