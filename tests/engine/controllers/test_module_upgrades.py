"""What a module's Manifest records of its objects from one version to the next, and what is deleted with it."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.errors import ServerError
from tests.engine.controllers.module_worlds import ModuleWorld, config

OLD, NEW = config("old"), config("new")


@pytest.fixture
def world() -> ModuleWorld:
    return ModuleWorld()


def test_the_objects_of_an_upgrade_that_is_ready_at_once_are_recorded_and_deleted_later(world: ModuleWorld) -> None:
    world.put("1.0.0", OLD)
    world.settle()
    world.put("1.1.0", OLD, NEW)
    world.settle()
    assert (world.state(), sorted(world.synced())) == ("Ready", ["new", "old"])
    world.delete()
    assert not world.exists(OLD)
    assert not world.exists(NEW)


def test_what_an_earlier_operator_did_not_record_is_recorded_without_another_version(world: ModuleWorld) -> None:
    world.put("1.0.0", OLD, NEW)
    world.settle()
    entry = [one for one in world.manifest()["status"]["synced"] if one["name"] == "old"]
    world.write_status(synced=entry)
    world.settle()
    assert (world.state(), sorted(world.synced())) == ("Ready", ["new", "old"])


def test_a_record_that_was_not_written_is_written_by_the_next_pass(world: ModuleWorld) -> None:
    world.put("1.0.0", OLD)
    world.settle()
    world.put("1.1.0", OLD, NEW)
    world.home.patch_errors = 1
    with pytest.raises(ServerError):
        world.reconcile()
    assert world.exists(NEW)
    world.settle()
    assert sorted(world.synced()) == ["new", "old"]


def test_an_unchanged_module_is_not_written_again(world: ModuleWorld) -> None:
    world.put("1.0.0", OLD, NEW)
    world.settle()
    before = world.manifest()
    world.resync()
    assert world.manifest() == before
    assert world.runtime.get(read_ref(OLD)) is not None
