"""A control plane with a small fleet, and the runtimes that really exist."""

from __future__ import annotations

from collections.abc import Mapping

from kymatui.first_use import dataclass
from kymatui.sandbox.apimachinery.object_store import Key, StoreChange
from kymatui.sandbox.controllers.controller_manager import ControllerManager
from kymatui.sandbox.controllers.framework.store_reader import Obj
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue
from kymatui.sandbox.registry.registry_server import SandboxRegistry
from kymatui.sandbox.world.lifecycle.hosted_controller import HostedController, changes_status_only
from kymatui.sandbox.world.lifecycle.kind_index import KindIndex
from kymatui.sandbox.world.lifecycle.lifecycle_manager import start_lifecycle_manager
from kymatui.sandbox.world.lifecycle.manifest_controller import SimulatedManifestController
from kymatui.sandbox.world.lifecycle.manifest_installer import Installer
from kymatui.sandbox.world.modules.module_announcement import KYMAS, PREFIX
from kymatui.sandbox.world.story import sample_fleet, world_population
from kymatui.sandbox.world.story.control_plane_objects import add_control_plane_objects, is_routed, route
from kymatui.sandbox.world.story.sample_situations import tell_situations
from kymatui.sandbox.world.story.story_steps import Story, StoryStep

CONTROL = sample_fleet.CONTROL
SYSTEM = world_population.SYSTEM


@dataclass(frozen=True)
class RuntimeCluster:
    """An existing runtime: its controllers, and the kubeconfig for the control plane's Secret."""

    controllers: ControllerManager
    kubeconfig: str


class _Echo:
    """Forwards changes of a runtime's Kyma and workloads to the control plane's controllers."""

    def __init__(self, name: str, kymas: HostedController, manifests: SimulatedManifestController) -> None:
        self.name = f"echo/{name}"
        self._kyma = (CONTROL, name)
        self._kymas = kymas
        self._manifests = manifests

    def watch(self, queue: ControllerQueue) -> None:
        queue.on_change(KYMAS, self._kyma_changed)
        for resource in ("deployments.apps", "statefulsets.apps"):
            queue.on_change(resource, self._manifests.workload_changed)

    def _kyma_changed(self, change: StoreChange) -> None:
        if not changes_status_only(change):
            self._kymas.wake(self._kyma)

    def reconcile(self, key: Key) -> float | None:
        return None


def populate_remote(
    control: ControllerManager,
    runtimes: Mapping[str, RuntimeCluster],
    registry: SandboxRegistry,
    *,
    others: int = 12,
    overseen: bool = False,
) -> world_population.SampleWorld:
    """Populate a control plane and its runtimes (by Kyma name); `others` more Kymas have no cluster.

    Those show each kind of broken access once; the addresses of the others refuse connections. With `overseen`, the
    control plane has maintenance windows and Watchers.
    """
    client = control.context.client
    packed = world_population.pack_all(registry)
    world_population.prepare(client, namespaces=(CONTROL,))
    for found in runtimes.values():
        world_population.prepare(found.controllers.context.client)
    story = Story(client.clock)
    installers = {name: _installer(found) for name, found in runtimes.items()}

    def fill() -> None:
        world_population.announce(client, registry, packed, CONTROL)
        _fill_fleet(control, runtimes, others, registry)
        kymas, manifests = _lifecycle(control, runtimes, installers, registry)
        for name, found in runtimes.items():
            _prepare_runtime(found, name)
            found.controllers.add(_Echo(name, kymas, manifests))
            world_population.create(client, KYMAS, _control_kyma(name), CONTROL)
            world_population.create(client, "secrets", sample_fleet.access_secret(name, found.kubeconfig), CONTROL)
            tell_situations(story, found.controllers.context, installers[name], (control.context, (CONTROL, name)))
        if overseen:
            add_control_plane_objects(
                client, CONTROL, [found.controllers.context.client for found in runtimes.values()]
            )
            story.add(
                StoryStep(
                    "gateways served",
                    lambda: is_routed(control.context.observer),
                    lambda: route(client, CONTROL),
                )
            )

    observers = [control.context.observer, *(f.controllers.context.observer for f in runtimes.values())]
    ready = StoryStep("CRDs established", lambda: all(world_population.are_established(o) for o in observers), fill)
    story.add(ready)
    story.begin()
    return world_population.SampleWorld(story, packed)


def _installer(found: RuntimeCluster) -> Installer:
    return Installer(found.controllers.context, KindIndex(found.controllers.context.observer.store))


def _lifecycle(
    control: ControllerManager,
    runtimes: Mapping[str, RuntimeCluster],
    installers: Mapping[str, Installer],
    registry: SandboxRegistry,
) -> tuple[HostedController, SimulatedManifestController]:
    def target(manifest: Obj) -> Installer | None:
        return installers.get((manifest["metadata"].get("labels") or {}).get(f"{PREFIX}/kyma-name", ""))

    def concerns(kyma: str) -> bool:
        return kyma in runtimes

    clusters = {name: found.controllers for name, found in runtimes.items()}
    kymas = start_lifecycle_manager(control, registry.store, CONTROL, clusters)
    manifests = SimulatedManifestController(control.context, registry.store, target, concerns)
    control.add(manifests)
    return kymas, manifests


def _control_kyma(name: str) -> Obj:
    """Return the control plane's Kyma, which describes the runtime; its modules are in the runtime's Kyma."""
    made = world_population.kyma()
    labels = {**made["metadata"]["labels"], "kyma-project.io/runtime-id": name}
    metadata = {**made["metadata"], "name": name, "namespace": CONTROL, "labels": labels}
    return {**made, "metadata": metadata, "spec": {"channel": made["spec"]["channel"]}}


def _prepare_runtime(found: RuntimeCluster, name: str) -> None:
    """Start the modules' operators, and create the runtime's Kyma, which lists its modules."""
    client = found.controllers.context.client
    made = world_population.kyma()
    world_population.start_operators(found.controllers)
    labels = {
        **made["metadata"]["labels"],
        "kyma-project.io/runtime-id": name,
        f"{PREFIX}/watched-by": "kyma",
        f"{PREFIX}/managed-by": "kyma",
    }
    annotations = {f"deprecated-{PREFIX}/owned-by": f"{CONTROL}/{name}"}
    metadata = {**made["metadata"], "labels": labels, "annotations": annotations}
    world_population.create(client, KYMAS, {**made, "metadata": metadata}, SYSTEM)


def _fill_fleet(
    control: ControllerManager, runtimes: Mapping[str, RuntimeCluster], others: int, registry: SandboxRegistry
) -> None:
    context = control.context
    kinds = (*sample_fleet.WRONG, *(others - len(sample_fleet.WRONG)) * ("unreachable",))
    wrongs = dict(zip(sample_fleet.runtimes(others), kinds, strict=False))
    noticed = {name: sample_fleet.NOTICED[wrong] for name, wrong in wrongs.items() if wrong in sample_fleet.NOTICED}
    store, address = context.observer.store, registry.address
    sample_fleet.fill(store, others, now=context.now, registry=address, access_errors=noticed)
    kubeconfig = next((found.kubeconfig for found in runtimes.values()), "")
    for name, wrong in wrongs.items():
        for secret in sample_fleet.wrong_secrets(name, wrong, kubeconfig):
            world_population.create(context.client, "secrets", secret, CONTROL)
