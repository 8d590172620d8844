"""lifecycle-manager of the sample world: the operator's controllers of Kymas and of mandatory modules.

It works under lifecycle-manager's name, and without a pause between two steps of one reconciliation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, WindowPolicy, read_policy_document
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.controllers.catalog.catalog_cache import CatalogCache
from kymatui.engine.controllers.catalog.runtime_catalog import RuntimeCatalog
from kymatui.engine.controllers.kyma.kyma_context import KymaContext
from kymatui.engine.controllers.kyma.kyma_controller import KymaController
from kymatui.engine.controllers.kyma.mandatory_installation import MandatoryInstallation
from kymatui.engine.controllers.kyma.mandatory_removal import MandatoryRemoval
from kymatui.engine.controllers.runtime.requeue_intervals import RequeueIntervals
from kymatui.engine.controllers.runtime.runtime_cache import RuntimeCache, SingleCluster
from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.controllers.controller_manager import ControllerManager
from kymatui.sandbox.registry.registry_store import RegistryStore
from kymatui.sandbox.world.lifecycle.hosted_controller import HostedController
from kymatui.sandbox.world.lifecycle.local_cluster import LocalCluster
from kymatui.sandbox.world.lifecycle.registry_components import RegistryComponents

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


def start_lifecycle_manager(
    controllers: ControllerManager,
    store: RegistryStore,
    namespace: str,
    runtimes: Mapping[str, ControllerManager] | None = None,
) -> HostedController:
    """Start the controllers on a control plane; return that of Kymas.

    `runtimes` are the existing runtimes by the names of their Kymas; other Kymas are left alone. Without it, the
    control plane is its own runtime.
    """
    home = LocalCluster("kcp", controllers.context.client)
    context = _context(home, controllers.context.client.clock, store, namespace, runtimes)
    observer = controllers.context.observer

    def concerns(kyma: str) -> bool:
        return runtimes is None or kyma in runtimes

    kymas = HostedController(KymaController(context, workers=1), home, observer, concerns)
    controllers.add(kymas)
    controllers.add(HostedController(MandatoryInstallation(context, workers=1), home, observer, concerns))
    controllers.add(HostedController(MandatoryRemoval(context), home, observer))
    return kymas


def _context(
    home: LocalCluster,
    clock: SandboxClock,
    store: RegistryStore,
    namespace: str,
    runtimes: Mapping[str, ControllerManager] | None,
) -> KymaContext:
    templates = CatalogCache(home, namespace)
    policy = read_policy_document(MAINTENANCE_POLICY)
    assert isinstance(policy, WindowPolicy)
    clusters = SingleCluster(home) if runtimes is None else LocalRuntimes(runtimes)
    return KymaContext(
        home=home,
        clock=LocalClock(clock),
        namespace=namespace,
        runtimes=RuntimeCache(clusters),
        templates=templates,
        components=RegistryComponents(store),
        settings=ControllerSettings(windows=policy, least=_LONGEST_WINDOW),
        catalog=RuntimeCatalog(home, templates, width=1),
        webhook=PreparedWebhook(),
        single=runtimes is None,
        intervals=_INTERVALS,
    )


class LocalRuntimes:
    """Implements `RuntimeClusters` for the clusters of this process."""

    def __init__(self, runtimes: Mapping[str, ControllerManager]) -> None:
        self._clusters = {name: LocalCluster(name, found.context.client) for name, found in runtimes.items()}

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
