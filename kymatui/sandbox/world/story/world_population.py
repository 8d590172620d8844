"""Population of a cluster and a registry with the sample world.

    world = populate(controllers, registry)      # returns at once; the situations develop within seconds
    world.story.done

The simulated operators keep running.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kymatui.crds import read_crds
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.controller_manager import ControllerManager
from kymatui.sandbox.controllers.framework.status_conditions import find_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader
from kymatui.sandbox.registry.registry_server import SandboxRegistry
from kymatui.sandbox.world.lifecycle.kind_index import DEFINITIONS
from kymatui.sandbox.world.lifecycle.lifecycle_manager import LifecycleManager
from kymatui.sandbox.world.lifecycle.module_operator import ModuleOperator
from kymatui.sandbox.world.modules.module_announcement import (
    API_VERSION,
    KYMAS,
    PREFIX,
    RELEASES,
    TEMPLATES,
    release_meta,
    templates,
)
from kymatui.sandbox.world.modules.module_packages import PackedModule, pack
from kymatui.sandbox.world.modules.sample_module import ModuleStyle
from kymatui.sandbox.world.modules.sample_modules import MODULES
from kymatui.sandbox.world.story.sample_situations import DEFAULT, Story, StoryStep, tell_situations

SYSTEM = "kyma-system"
PACKED = Mapping[str, Mapping[str, PackedModule]]


class SampleWorld(Struct, frozen=True, dict=True):
    """The result of `populate`: the running story, and a way to stop it."""

    story: Story

    def stop(self) -> None:
        self.story.stop()


def create(client: LocalClient, resource: str, obj: Mapping[str, Any], namespace: str = "") -> None:
    """Create an object unless it exists."""
    try:
        client.create(resource, obj, namespace=namespace)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise


def pack_all(registry: SandboxRegistry) -> PACKED:
    """Pack every version of every module into the registry."""
    return {
        module.name: {version: pack(registry.store, module, version, registry.address) for version in module.versions}
        for module in MODULES
    }


def announce(client: LocalClient, registry: SandboxRegistry, packed: PACKED, namespace: str = SYSTEM) -> None:
    """Create the templates and release metas of modules in `namespace`, of community modules in default."""
    for module in MODULES:
        home = "default" if module.style is ModuleStyle.COMMUNITY else namespace
        meta = release_meta(module, home)
        if meta is not None:
            create(client, RELEASES, meta, home)
        for template in templates(module, home, packed[module.name], registry.url):
            create(client, TEMPLATES, template, home)


def prepare(client: LocalClient, *, namespaces: tuple[str, ...] = (SYSTEM,)) -> None:
    """Create Kyma's CRDs and namespaces."""
    for definition in read_crds():
        create(client, DEFINITIONS, definition)
    for name in namespaces:
        labels = {f"{PREFIX}/managed-by": "kyma", "istio-injection": "enabled"} if name == SYSTEM else {}
        create(client, "namespaces", {"metadata": {"name": name, "labels": labels}})


def start_operators(controllers: ControllerManager) -> None:
    """Start one simulated operator per module; it is idle while no manager runs."""
    for module in MODULES:
        controllers.add(ModuleOperator(controllers.context, module))


def populate(controllers: ControllerManager, registry: SandboxRegistry) -> SampleWorld:
    """Populate one cluster as control plane and runtime, with the Kyma `kyma-system/default`."""
    client = controllers.context.client
    observer = controllers.context.observer
    packed = pack_all(registry)
    prepare(client)
    story = Story(client.clock)

    def fill() -> None:
        announce(client, registry, packed)
        start_operators(controllers)
        LifecycleManager(controllers, registry.store, SYSTEM)
        create(client, KYMAS, kyma(), SYSTEM)
        create(client, "watchers.operator.kyma-project.io", watcher(), SYSTEM)
        tell_situations(story, (controllers.context, controllers.context, DEFAULT))

    story.add(StoryStep("CRDs established", lambda: are_established(observer), fill))
    story.begin()
    return SampleWorld(story)


def are_established(observer: StoreReader) -> bool:
    """Return whether Kyma's CRDs are served."""
    return all(is_established(observer, crd["metadata"]["name"]) for crd in read_crds())


def is_established(observer: StoreReader, definition: str) -> bool:
    """Return whether the resources of a CRD are served."""
    crd = observer.get(DEFINITIONS, ("", definition)) or {}
    established = find_condition((crd.get("status") or {}).get("conditions"), "Established")
    return established is not None and established["status"] == "True"


def kyma() -> Obj:
    """Return the Kyma of the sample world in its initial state."""
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
