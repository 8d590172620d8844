"""Fills a cluster and a registry with the sample world, and starts what keeps it moving.

world = populate(controllers, registry)      # returns at once; the situations come about within seconds
world.story.done
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kymatui.sandbox.apiserver.local import LocalClient
from kymatui.sandbox.apiserver.statuses import StatusError
from kymatui.sandbox.controllers.conditions import find
from kymatui.sandbox.controllers.observing import Obj, Observer
from kymatui.sandbox.controllers.starting import Controllers
from kymatui.sandbox.registry.server import Registry
from kymatui.sandbox.world.announcing import API_VERSION, PREFIX, RELEASES, TEMPLATES, release_meta, templates
from kymatui.sandbox.world.definitions import kyma_definitions
from kymatui.sandbox.world.installing import Installer
from kymatui.sandbox.world.kinds import DEFINITIONS, Kinds
from kymatui.sandbox.world.kymas import RESOURCE as KYMAS
from kymatui.sandbox.world.kymas import Kymas
from kymatui.sandbox.world.manifests import Manifests
from kymatui.sandbox.world.modules import Module, Style
from kymatui.sandbox.world.operators import ModuleOperator
from kymatui.sandbox.world.packing import Packed, pack
from kymatui.sandbox.world.sample import MODULES
from kymatui.sandbox.world.situations import tell
from kymatui.sandbox.world.telling import Step, Story

SYSTEM = "kyma-system"
PACKED = Mapping[str, Mapping[str, Packed]]


@dataclass(frozen=True)
class World:
    """What `populate` made: the story that is being told, and how to stop it."""

    story: Story
    packed: PACKED

    def stop(self) -> None:
        self.story.stop()


def create(client: LocalClient, resource: str, obj: Mapping[str, Any], namespace: str = "") -> None:
    """Creates an object where it is not there yet."""
    try:
        client.create(resource, obj, namespace=namespace)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise


def pack_all(registry: Registry, modules: tuple[Module, ...] = MODULES) -> PACKED:
    """Every version of every module into the registry."""
    return {
        module.name: {version: pack(registry.store, module, version, registry.address) for version in module.versions}
        for module in modules
    }


def announce(client: LocalClient, registry: Registry, packed: PACKED, namespace: str = SYSTEM) -> None:
    """Templates and release metas of the managed modules, as the catalog of `namespace`; community ones in default."""
    for module in MODULES:
        place = "default" if module.style is Style.COMMUNITY else namespace
        meta = release_meta(module, place)
        if meta is not None:
            create(client, RELEASES, meta, place)
        for template in templates(module, place, packed[module.name], registry.url):
            create(client, TEMPLATES, template, place)


def prepare(client: LocalClient, *, namespaces: tuple[str, ...] = (SYSTEM,)) -> None:
    """The definitions of Kyma, and its namespaces."""
    for definition in kyma_definitions():
        create(client, DEFINITIONS, definition)
    for name in namespaces:
        labels = {f"{PREFIX}/managed-by": "kyma", "istio-injection": "enabled"} if name == SYSTEM else {}
        create(client, "namespaces", {"metadata": {"name": name, "labels": labels}})


def start_operators(controllers: Controllers) -> None:
    """One simulated operator a module; they do nothing while no manager runs."""
    for module in MODULES:
        controllers.add(ModuleOperator(controllers.context, module))


def populate(controllers: Controllers, registry: Registry) -> World:
    """One cluster that is control plane and runtime at once, with the Kyma `kyma-system/default`."""
    client = controllers.context.client
    observer = controllers.context.observer
    packed = pack_all(registry)
    prepare(client)
    story = Story(client.clock)
    installer = Installer(controllers.context, Kinds(observer.store))

    def fill() -> None:
        announce(client, registry, packed)
        start_operators(controllers)
        controllers.add(Kymas(controllers.context, registry.store, registry.address))
        controllers.add(Manifests(controllers.context, registry.store, lambda _: installer))
        create(client, KYMAS, kyma(), SYSTEM)
        create(client, "watchers.operator.kyma-project.io", watcher(), SYSTEM)
        tell(story, controllers.context, installer)

    story.add(Step("the definitions are established", lambda: are_established(observer), fill))
    story.begin()
    return World(story, packed)


def are_established(observer: Observer) -> bool:
    """Whether the definitions of Kyma are served."""
    return all(is_established(observer, wanted["metadata"]["name"]) for wanted in kyma_definitions())


def is_established(observer: Observer, definition: str) -> bool:
    """Whether the resources of a definition (by its name) are served."""
    found = observer.get(DEFINITIONS, ("", definition)) or {}
    established = find((found.get("status") or {}).get("conditions"), "Established")
    return established is not None and established["status"] == "True"


def kyma() -> Obj:
    """The Kyma of the sample, before anything went its own way."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Kyma",
        "metadata": {
            "name": "default",
            "namespace": SYSTEM,
            "labels": {
                f"{PREFIX}/managed-by": "lifecycle-manager",
                f"{PREFIX}/beta": "true",
                "kyma-project.io/runtime-id": "3d1f0c6e-5a52-4f0e-9a53-0c6f4f2f9b11",
                "kyma-project.io/global-account-id": "a7e1c9f2-0000-4000-8000-000000000001",
                "kyma-project.io/broker-plan-name": "aws",
                "kyma-project.io/region": "eu-central-1",
                "kyma-project.io/platform-region": "cf-eu10",
            },
        },
        "spec": {
            "channel": "regular",
            "modules": [
                {"name": "serverless"},
                {"name": "istio"},
                {"name": "keda"},
                {"name": "telemetry", "channel": "fast"},
                {"name": "btp-operator"},
                {"name": "api-gateway"},
                {"name": "nats"},
                {"name": "eventing"},
                {"name": "application-connector"},
                {"name": "cluster-ip"},
                {"name": "cloud-manager"},
                {"name": "transparent-proxy", "customResourcePolicy": "Ignore"},
            ],
        },
    }


def watcher() -> Obj:
    return {
        "apiVersion": API_VERSION,
        "kind": "Watcher",
        "metadata": {"name": "watcher", "namespace": SYSTEM, "labels": {f"{PREFIX}/managed-by": "lifecycle-manager"}},
        "spec": {
            "manager": "lifecycle-manager",
            "labelsToWatch": {f"{PREFIX}/watched-by": "kyma"},
            "resourceToWatch": {"group": PREFIX, "version": "*", "resource": "kymas"},
            "field": "spec",
            "serviceInfo": {"name": "lifecycle-manager-events", "namespace": SYSTEM, "port": 8082},
            "gateway": {"selector": {"matchLabels": {f"{PREFIX}/watcher-gateway": "default"}}},
        },
    }
