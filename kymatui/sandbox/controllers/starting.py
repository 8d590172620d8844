"""All controllers of a cluster as one thing to start and to stop.

controllers = Controllers(client, store, root_ca=pem)
controllers.start()      # from here on they follow every write
controllers.stop()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kymatui.sandbox.apiserver.local import LocalClient
from kymatui.sandbox.controllers.apiservices import ApiServices
from kymatui.sandbox.controllers.autoscaling import Autoscalers
from kymatui.sandbox.controllers.budgets import DisruptionBudgets
from kymatui.sandbox.controllers.collecting import GarbageCollector, KindIsServed, every_kind_is_served
from kymatui.sandbox.controllers.context import Context, Pace
from kymatui.sandbox.controllers.cronjobs import CronJobs
from kymatui.sandbox.controllers.daemonsets import DaemonSets
from kymatui.sandbox.controllers.deployments import Deployments
from kymatui.sandbox.controllers.jobs import Jobs
from kymatui.sandbox.controllers.namespaces import NamespaceContents, NamespaceDeletion
from kymatui.sandbox.controllers.nodes import Nodes
from kymatui.sandbox.controllers.observing import Observer
from kymatui.sandbox.controllers.pods import Kubelet
from kymatui.sandbox.controllers.quotas import ResourceQuotas
from kymatui.sandbox.controllers.reconciling import Controller, Loop, Queue
from kymatui.sandbox.controllers.recording import Recorder
from kymatui.sandbox.controllers.replicasets import ReplicaSets
from kymatui.sandbox.controllers.roles import AggregatedRoles
from kymatui.sandbox.controllers.services import Services
from kymatui.sandbox.controllers.statefulsets import StatefulSets
from kymatui.sandbox.controllers.volumes import VolumeClaims, Volumes
from kymatui.sandbox.storage import Store


class Controllers:
    """Runs on the clock of the client; `add` takes further controllers (simulated operators)."""

    def __init__(
        self,
        client: LocalClient,
        store: Store,
        *,
        root_ca: str = "",
        version: str = "v1.36.0",
        node: str = "sandbox-0",
        pace: Pace | None = None,
        kind_is_served: KindIsServed = every_kind_is_served,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self.context = Context(client, Observer(store), Recorder(client), pace or Pace(), node)
        self.loop = Loop(client.clock, is_busy)
        self._queues: dict[str, Queue] = {}
        self._root_ca = root_ca
        self._version = version
        self._kind_is_served = kind_is_served

    def start(self) -> None:
        """Starts all; those that exist already are looked at first."""
        for controller in self._standard():
            self.add(controller)

    def add(self, controller: Controller) -> None:
        queue = Queue(self.loop, controller, self.context.client, self.context.observer)
        self._queues[controller.name] = queue
        controller.watch(queue)

    def remove(self, name: str) -> None:
        """Stops one (a simulated operator that is gone)."""
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
        yield Jobs(context)
        yield CronJobs(context)
        yield Services(context)
        yield DisruptionBudgets(context)
        yield Autoscalers(context)
        yield AggregatedRoles(context)
        yield ApiServices(context)
