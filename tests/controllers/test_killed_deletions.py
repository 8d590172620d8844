"""The operator is killed after each write of an upgrade or a deletion: nothing kept or shared is lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from kymatui.domain.kubernetes.object_meta import read_ref
from tests.controllers.module_worlds import REF, Faulty, Json, ModuleWorld, config
from tests.controllers.test_module_upgrades import (
    SHOP,
    THINGS,
    a_thing,
    crd,
    in_shop,
    install_things,
    release_with_things,
)

OLD, NEW, EMPTY = config("old"), config("new"), crd("Empty")
KEPT = in_shop("kept", **{"helm.sh/resource-policy": "keep"})
PROTECTED: tuple[Json, ...] = (KEPT, in_shop("theirs"), SHOP, THINGS, a_thing("theirs"))
GOES = (OLD, in_shop("ours"), EMPTY)


class Killed(BaseException):
    """The end of the operator's process."""


class Lifespan:
    """The number of writes after which the operator is killed; 0 for never."""

    def __init__(self) -> None:
        self.left = 0

    def limit(self, cluster: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("apply", "create", "patch", "update", "delete"):
            monkeypatch.setattr(cluster, name, self._counted(getattr(cluster, name)))

    def _counted(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            found = write(*given, **named)
            self.left -= 1
            if not self.left:
                raise Killed
            return found

        return counted


def begin(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleWorld, Lifespan]:
    world = ModuleWorld()
    world.put("0.9.0", SHOP)
    world.settle()
    install_things(world, EMPTY, SHOP, KEPT, in_shop("ours"))
    for body in (in_shop("theirs"), a_thing("theirs"), release_with_things()):
        world.runtime.create(body)
    lifespan = Lifespan()
    for cluster in (world.home, world.runtime):
        lifespan.limit(cluster, monkeypatch)
    return world, lifespan


def upgrade(world: ModuleWorld) -> None:
    world.put("1.1.0", NEW)
    world.settle()


def delete(world: ModuleWorld) -> None:
    if world.home.get(REF) is not None:
        world.delete()


@pytest.mark.parametrize("verb", [upgrade, delete])
def test_what_is_kept_and_shared_outlives_a_killed_operator(
    verb: Callable[[ModuleWorld], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in itertools.count(1):
        with monkeypatch.context() as patched:
            world, lifespan = begin(patched)
            lifespan.left = number
            is_killed = False
            try:
                verb(world)
            except Killed:
                is_killed = True
            lifespan.left = 0
            assert all(map(world.exists, PROTECTED)), number
            world.restart()
            verb(world)
        assert [read_ref(body).name for body in PROTECTED if not world.exists(body)] == [], number
        assert [read_ref(body).name for body in GOES if world.exists(body)] == [], number
        if not is_killed:
            break
    assert number > 5
