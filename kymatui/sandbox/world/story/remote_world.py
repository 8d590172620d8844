"""A control plane with a small fleet, and the runtimes that really exist."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from kymatui.sandbox.controllers.controller_manager import ControllerManager
from kymatui.sandbox.controllers.framework.store_reader import Obj
from kymatui.sandbox.registry.registry_server import SandboxRegistry
from kymatui.sandbox.world.lifecycle.lifecycle_manager import LifecycleManager
from kymatui.sandbox.world.modules.module_announcement import KYMAS, PREFIX
from kymatui.sandbox.world.story import sample_fleet, world_population
from kymatui.sandbox.world.story.control_plane_objects import add_control_plane_objects, is_routed, route
from kymatui.sandbox.world.story.sample_situations import Story, StoryStep, tell_situations

CONTROL = sample_fleet.CONTROL
SYSTEM = world_population.SYSTEM


class RuntimeCluster(Struct, frozen=True, dict=True):
    """An existing runtime: its controllers, and the kubeconfig for the control plane's Secret."""

    controllers: ControllerManager
    kubeconfig: str


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
    for runtime in runtimes.values():
        world_population.prepare(runtime.controllers.context.client)
    story = Story(client.clock)

    def fill() -> None:
        world_population.announce(client, registry, packed, CONTROL)
        _fill_fleet(control, runtimes, others, registry)
        clusters = {name: hosted.controllers for name, hosted in runtimes.items()}
        LifecycleManager(control, registry.store, CONTROL, clusters)
        for name, entry in runtimes.items():
            _prepare_runtime(entry, name)
            world_population.create(client, KYMAS, _control_kyma(name), CONTROL)
            world_population.create(client, "secrets", sample_fleet.access_secret(name, entry.kubeconfig), CONTROL)
        contexts = ((entry.controllers.context, control.context, (CONTROL, name)) for name, entry in runtimes.items())
        tell_situations(story, *contexts)
        if overseen:
            add_control_plane_objects(
                client, CONTROL, [hosted.controllers.context.client for hosted in runtimes.values()]
            )
            story.add(
                StoryStep(
                    "gateways served", lambda: is_routed(control.context.observer), lambda: route(client, CONTROL)
                )
            )

    observers = [control.context.observer, *(f.controllers.context.observer for f in runtimes.values())]
    ready = StoryStep("CRDs established", lambda: all(world_population.are_established(o) for o in observers), fill)
    story.add(ready)
    story.begin()
    return world_population.SampleWorld(story)


def _control_kyma(name: str) -> Obj:
    """Return the control plane's Kyma, which describes the runtime; its modules are in the runtime's Kyma."""
    kyma = world_population.kyma()
    labels = {**kyma["metadata"]["labels"], "kyma-project.io/runtime-id": name}
    metadata = {**kyma["metadata"], "name": name, "namespace": CONTROL, "labels": labels}
    return {**kyma, "metadata": metadata, "spec": {"channel": kyma["spec"]["channel"]}}


def _prepare_runtime(runtime: RuntimeCluster, name: str) -> None:
    """Start the modules' operators, and create the runtime's Kyma, which lists its modules."""
    client = runtime.controllers.context.client
    kyma = world_population.kyma()
    world_population.start_operators(runtime.controllers)
    labels = {
        **kyma["metadata"]["labels"],
        "kyma-project.io/runtime-id": name,
        f"{PREFIX}/watched-by": "kyma",
        f"{PREFIX}/managed-by": "kyma",
    }
    annotations = {f"deprecated-{PREFIX}/owned-by": f"{CONTROL}/{name}"}
    metadata = {**kyma["metadata"], "labels": labels, "annotations": annotations}
    world_population.create(client, KYMAS, {**kyma, "metadata": metadata}, SYSTEM)


def _fill_fleet(
    control: ControllerManager, runtimes: Mapping[str, RuntimeCluster], others: int, registry: SandboxRegistry
) -> None:
    context = control.context
    kinds = (*sample_fleet.WRONG, *(others - len(sample_fleet.WRONG)) * ("unreachable",))
    wrongs = dict(zip(sample_fleet.runtimes(others), kinds, strict=False))
    noticed = {name: sample_fleet.NOTICED[wrong] for name, wrong in wrongs.items() if wrong in sample_fleet.NOTICED}
    store, address = context.observer.store, registry.address
    sample_fleet.fill(store, others, now=context.now, registry=address, access_errors=noticed)
    kubeconfig = next((entry.kubeconfig for entry in runtimes.values()), "")
    for name, wrong in wrongs.items():
        for secret in sample_fleet.wrong_secrets(name, wrong, kubeconfig):
            world_population.create(context.client, "secrets", secret, CONTROL)
