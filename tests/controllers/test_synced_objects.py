"""What a Manifest's status lists is deleted only where it bears the Manifest's mark: others may write a status."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, read_ref
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY
from kymatui.engine.cluster.ports import PatchKind
from kymatui.operator.manifests.resource_pruning import OBJECT_KEPT
from tests.controllers.module_worlds import REF, Json, ModuleWorld, config

OLD, NEW = config("old"), config("new")
MARK = f"{REF.namespace}/{REF.name}"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "admins"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
}


@pytest.fixture
def world() -> ModuleWorld:
    found = ModuleWorld()
    found.put("1.0.0", OLD)
    found.settle()
    return found


def marked(body: Json, manifest: str) -> Json:
    """The object as another Manifest's, or somebody's who wrote the mark of one."""
    annotations = {ANNOTATION_OWNED_BY: manifest} if manifest else {}
    metadata = {**body["metadata"], "annotations": annotations, "labels": {LABEL_MANAGED_BY: "kyma"}}
    return {**body, "metadata": metadata}


def forge(world: ModuleWorld, *bodies: Json) -> None:
    """Write a status that lists further objects as applied."""
    status = world.manifest()["status"]
    world.write_status(synced=[*status["synced"], *map(entry, bodies)])


def entry(body: Json) -> Json:
    ref = read_ref(body)
    place = {"name": ref.name, "namespace": ref.namespace}
    return {"group": ref.kind.group, "version": ref.kind.version, "kind": ref.kind.kind, **place}


def kept(world: ModuleWorld) -> list[str]:
    return [event.message for event in world.events if event.reason == OBJECT_KEPT]


VICTIMS = [
    pytest.param(config("victim"), id="no mark"),
    pytest.param(marked(config("victim"), f"{REF.namespace}/other"), id="of another Manifest"),
    pytest.param(marked(config("victim"), f"shop/{REF.name}"), id="of a Manifest of the same name"),
    pytest.param(NAMESPACE, id="a namespace"),
    pytest.param(BINDING, id="a role binding"),
]


@pytest.mark.parametrize("victim", VICTIMS)
def test_the_deletion_of_a_module_deletes_nothing_that_only_its_status_names(world: ModuleWorld, victim: Json) -> None:
    world.runtime.create(victim)
    forge(world, victim)
    world.delete()
    assert not world.exists(OLD)
    assert world.exists(victim)
    (message,) = kept(world)
    assert str(read_ref(victim)) in message


@pytest.mark.parametrize("victim", VICTIMS)
def test_an_upgrade_deletes_no_object_that_only_the_status_names(world: ModuleWorld, victim: Json) -> None:
    world.runtime.create(victim)
    forge(world, victim)
    world.put("1.1.0", NEW)
    world.settle()
    assert not world.exists(OLD)
    assert world.exists(victim)
    assert (world.state(), world.synced()) == ("Ready", ["new"])
    (message,) = kept(world)
    assert str(read_ref(victim)) in message


def test_the_release_of_a_module_takes_the_label_off_no_object_of_another(world: ModuleWorld) -> None:
    victim = marked(config("victim"), f"{REF.namespace}/other")
    world.runtime.create(victim)
    forge(world, victim)
    annotations = {"operator.kyma-project.io/is-unmanaged": "true"}
    world.home.patch(REF, {"metadata": {"annotations": annotations}}, PatchKind.MERGE)
    for _ in range(5):
        if world.home.get(REF) is not None:
            world.reconcile()
    assert world.home.get(REF) is None
    labels: Any = [(world.runtime.get(read_ref(body)) or {})["metadata"].get("labels") for body in (victim, OLD)]
    assert [LABEL_MANAGED_BY in (found or {}) for found in labels] == [True, False]


def test_an_object_that_another_client_deleted_and_created_again_stays(world: ModuleWorld) -> None:
    world.runtime.delete(read_ref(OLD))
    world.runtime.create(OLD)
    world.home.delete(REF)
    world.delete()
    assert world.exists(OLD)
