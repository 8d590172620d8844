"""Two clusters: a control plane with a small fleet, and the runtimes that are really there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kymatui.sandbox.apiserver.local import LocalClient
from kymatui.sandbox.controllers.observing import Obj, Observer
from kymatui.sandbox.controllers.reconciling import Queue
from kymatui.sandbox.controllers.starting import Controllers
from kymatui.sandbox.registry.server import Registry
from kymatui.sandbox.storage import Key
from kymatui.sandbox.world import fleet, populating
from kymatui.sandbox.world.announcing import PREFIX
from kymatui.sandbox.world.installing import Installer
from kymatui.sandbox.world.kinds import Kinds
from kymatui.sandbox.world.kymas import RESOURCE as KYMAS
from kymatui.sandbox.world.kymas import Kymas
from kymatui.sandbox.world.manifests import Manifests
from kymatui.sandbox.world.overseeing import is_routed, oversee, route
from kymatui.sandbox.world.situations import tell
from kymatui.sandbox.world.synchronizing import CatalogSync, limits_of, synchronize
from kymatui.sandbox.world.telling import Step, Story

CONTROL = fleet.CONTROL
SYSTEM = populating.SYSTEM


@dataclass(frozen=True)
class RuntimeCluster:
    """A runtime that is there: its controllers, and the kubeconfig that the control plane's Secret gets."""

    controllers: Controllers
    kubeconfig: str


class _Echo:
    """Tells the control plane's controllers of changes in a runtime: its Kyma, and its workloads."""

    def __init__(self, name: str, kymas: Kymas, manifests: Manifests) -> None:
        self.name = f"echo/{name}"
        self._kymas = kymas
        self._manifests = manifests

    def watch(self, queue: Queue) -> None:
        queue.on_change(KYMAS, self._kymas.runtime_changed)
        for resource in ("deployments.apps", "statefulsets.apps"):
            queue.on_change(resource, self._manifests.workload_changed)

    def reconcile(self, key: Key) -> float | None:
        return None


def populate_remote(
    control: Controllers,
    runtimes: Mapping[str, RuntimeCluster],
    registry: Registry,
    *,
    others: int = 12,
    overseen: bool = False,
) -> populating.World:
    """Fills a control plane and its runtimes (by Kyma name); `others` more Kymas are there on paper only.

    Of those, each way in which access can be wrong is there once; where the rest should be, nothing listens. With
    `overseen` it has maintenance windows and Watchers, too.
    """
    client = control.context.client
    packed = populating.pack_all(registry)
    populating.prepare(client, namespaces=(CONTROL,))
    for found in runtimes.values():
        populating.prepare(found.controllers.context.client)
    story = Story(client.clock)
    installers = {name: _installer(found) for name, found in runtimes.items()}

    def fill() -> None:
        populating.announce(client, registry, packed, CONTROL)
        _fill_fleet(control, runtimes, others, registry)
        kymas, manifests = _lifecycle(control, runtimes, installers, registry)
        for name, found in runtimes.items():
            _prepare_runtime(control, found, name)
            found.controllers.add(_Echo(name, kymas, manifests))
            populating.create(client, KYMAS, _control_kyma(name), CONTROL)
            populating.create(client, "secrets", fleet.access_secret(name, found.kubeconfig), CONTROL)
            tell(story, found.controllers.context, installers[name], (control.context, (CONTROL, name)))
        if overseen:
            oversee(client, CONTROL, [found.controllers.context.client for found in runtimes.values()])
            story.add(
                Step(
                    "the gateways are served",
                    lambda: is_routed(control.context.observer),
                    lambda: route(client, CONTROL),
                )
            )

    observers = [control.context.observer, *(f.controllers.context.observer for f in runtimes.values())]
    ready = Step("the definitions are established", lambda: all(populating.are_established(o) for o in observers), fill)
    story.add(ready)
    story.begin()
    return populating.World(story, packed)


def _installer(found: RuntimeCluster) -> Installer:
    return Installer(found.controllers.context, Kinds(found.controllers.context.observer.store))


def _lifecycle(
    control: Controllers,
    runtimes: Mapping[str, RuntimeCluster],
    installers: Mapping[str, Installer],
    registry: Registry,
) -> tuple[Kymas, Manifests]:
    def runtime(kyma: Obj) -> tuple[LocalClient, Observer] | None:
        found = runtimes.get(kyma["metadata"]["name"])
        return (found.controllers.context.client, found.controllers.context.observer) if found else None

    def target(manifest: Obj) -> Installer | None:
        return installers.get((manifest["metadata"].get("labels") or {}).get(f"{PREFIX}/kyma-name", ""))

    def concerns(kyma: str) -> bool:
        return kyma in runtimes

    kymas = Kymas(control.context, registry.store, registry.address, runtime, concerns)
    manifests = Manifests(control.context, registry.store, target, concerns)
    control.add(kymas)
    control.add(manifests)
    clients = {name: found.controllers.context.client for name, found in runtimes.items()}
    control.add(CatalogSync(control.context.observer, clients))
    return kymas, manifests


def _control_kyma(name: str) -> Obj:
    """The control plane's Kyma knows the runtime's data; its modules stand in the runtime."""
    made = populating.kyma()
    labels = {**made["metadata"]["labels"], "kyma-project.io/runtime-id": name}
    metadata = {**made["metadata"], "name": name, "namespace": CONTROL, "labels": labels}
    return {**made, "metadata": metadata, "spec": {"channel": made["spec"]["channel"]}}


def _prepare_runtime(control: Controllers, found: RuntimeCluster, name: str) -> None:
    """What a runtime has from its control plane: the catalog, and its Kyma."""
    client = found.controllers.context.client
    made = populating.kyma()
    synchronize(control.context.observer, CONTROL, client, limits_of(made))
    populating.start_operators(found.controllers)
    labels = {
        **made["metadata"]["labels"],
        "kyma-project.io/runtime-id": name,
        f"{PREFIX}/watched-by": "kyma",
        f"{PREFIX}/managed-by": "kyma",
    }
    annotations = {f"deprecated-{PREFIX}/owned-by": f"{CONTROL}/{name}"}
    metadata = {**made["metadata"], "labels": labels, "annotations": annotations}
    populating.create(client, KYMAS, {**made, "metadata": metadata}, SYSTEM)


def _fill_fleet(control: Controllers, runtimes: Mapping[str, RuntimeCluster], others: int, registry: Registry) -> None:
    context = control.context
    fleet.fill(context.observer.store, others, now=context.now, registry=registry.address)
    kubeconfig = next((found.kubeconfig for found in runtimes.values()), "")
    for number, name in enumerate(fleet.runtimes(others)):
        wrong = fleet.WRONG[number] if number < len(fleet.WRONG) else "unreachable"
        for secret in fleet.wrong_secrets(name, wrong, kubeconfig):
            populating.create(context.client, "secrets", secret, CONTROL)
