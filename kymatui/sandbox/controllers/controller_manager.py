"""The controller manager: starts and stops all controllers of a cluster.

controllers = ControllerManager(client, store, root_ca=pem)
controllers.start()      # from now on they follow every write
controllers.stop()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.controllers.cluster.apiservice_controller import ApiServices, ResourceQuotas
from kymatui.sandbox.controllers.cluster.garbage_collector import GarbageCollector, KindIsServed, every_kind_is_served
from kymatui.sandbox.controllers.cluster.namespace_controller import NamespaceContents, NamespaceDeletion
from kymatui.sandbox.controllers.cluster.role_aggregation import AggregatedRoles
from kymatui.sandbox.controllers.cluster.service_controller import Services
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext, ControllerPace
from kymatui.sandbox.controllers.framework.event_recorder import EventRecorder
from kymatui.sandbox.controllers.framework.store_reader import StoreReader
from kymatui.sandbox.controllers.framework.work_queue import Controller, ControllerLoop, ControllerQueue
from kymatui.sandbox.controllers.kubelet.kubelet import Kubelet
from kymatui.sandbox.controllers.kubelet.node_controller import Nodes
from kymatui.sandbox.controllers.kubelet.volume_binder import VolumeClaims, Volumes
from kymatui.sandbox.controllers.workloads.autoscaler import Autoscalers
from kymatui.sandbox.controllers.workloads.cronjob_controller import CronJobs
from kymatui.sandbox.controllers.workloads.daemonset_controller import DaemonSets
from kymatui.sandbox.controllers.workloads.deployment_controller import Deployments
from kymatui.sandbox.controllers.workloads.disruption_budgets import DisruptionBudgets
from kymatui.sandbox.controllers.workloads.job_controllers import JobController
from kymatui.sandbox.controllers.workloads.replicaset_controller import ReplicaSets
from kymatui.sandbox.controllers.workloads.statefulset_controller import StatefulSets


class ControllerManager:
    """Runs the controllers on the client's clock; `add` accepts more (simulated operators)."""

    def __init__(
        self,
        client: LocalClient,
        store: ObjectStore,
        *,
        root_ca: str = "",
        version: str = "v1.36.0",
        node: str = "sandbox-0",
        pace: ControllerPace | None = None,
        kind_is_served: KindIsServed = every_kind_is_served,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self.context = ControllerContext(
            client, StoreReader(store), EventRecorder(client), pace or ControllerPace(), node
        )
        self.loop = ControllerLoop(client.clock, is_busy)
        self._queues: dict[str, ControllerQueue] = {}
        self._root_ca = root_ca
        self._version = version
        self._kind_is_served = kind_is_served

    def start(self) -> None:
        """Start all controllers; they reconcile existing objects first."""
        for controller in self._standard():
            self.add(controller)

    def add(self, controller: Controller) -> None:
        queue = ControllerQueue(self.loop, controller, self.context.client, self.context.observer)
        self._queues[controller.name] = queue
        controller.watch(queue)

    def remove(self, name: str) -> None:
        """Stop one controller, such as a deleted simulated operator."""
        queue = self._queues.pop(name, None)
        if queue is not None:
            queue.stop()

    def stop(self) -> None:
        for queue in self._queues.values():
            queue.stop()
        self._queues.clear()
        self.loop.stop()

    def _standard(self) -> Iterable[Controller]:
        context = self.context
        yield Nodes(context, self._version)
        yield GarbageCollector(context, self._kind_is_served)
        yield NamespaceContents(context, self._root_ca)
        yield NamespaceDeletion(context)
        yield VolumeClaims(context)
        yield Volumes(context)
        yield ResourceQuotas(context)
        yield Kubelet(context)
        yield ReplicaSets(context)
        yield Deployments(context)
        yield StatefulSets(context)
        yield DaemonSets(context)
        yield JobController(context)
        yield CronJobs(context)
        yield Services(context)
        yield DisruptionBudgets(context)
        yield Autoscalers(context)
        yield AggregatedRoles(context)
        yield ApiServices(context)
