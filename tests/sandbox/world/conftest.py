"""The sample world, as it is when its story has been told."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kymatui.sandbox.registry.registry_server import SandboxRegistry
from kymatui.sandbox.world.modules.module_announcement import KYMAS
from kymatui.sandbox.world.story.world_population import SampleWorld, populate
from tests.sandbox.living import Living, Obj

SYSTEM = "kyma-system"


@dataclass
class Sample:
    living: Living
    registry: SandboxRegistry
    world: SampleWorld

    def kyma(self) -> Obj:
        return self.living.get(KYMAS, "default", SYSTEM)

    def module(self, name: str) -> Obj:
        """The module's entry in the Kyma's status, {} where there is none."""
        modules = self.kyma()["status"]["modules"]
        found: Obj = next((m for m in modules if m["name"] == name), {})
        return found

    def edit(self, name: str, **fields: object) -> None:
        """Changes a module's entry in the spec; no fields: takes it out; `enabled=True`: puts it in."""
        entries = self.kyma()["spec"]["modules"]
        left = [e for e in entries if e["name"] != name]
        if fields:
            fields.pop("enabled", None)
            known = next((e for e in entries if e["name"] == name), {"name": name})
            left.append({k: v for k, v in {**known, **fields}.items() if v is not None})
        self.living.client.patch(KYMAS, "default", {"spec": {"modules": left}}, namespace=SYSTEM)


@pytest.fixture(scope="session")
def sample() -> Sample:
    """One for all tests, for telling costs more than looking; whoever changes it does so in a copy (`separate`)."""
    living = Living()
    registry = SandboxRegistry(port=5000)
    world = populate(living.controllers, registry)
    living.advance(18)
    assert world.story.done, world.story.waiting_for
    return Sample(living, registry, world)
