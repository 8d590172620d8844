"""What a module's Manifest records of its objects from one version to the next, and what is deleted with it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kyma.manifests import FINALIZER_MODULE_CR
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import ConfigurationError, ForbiddenError, KymatuiError, RegistryUnreachableError, ServerError
from kymatui.helm.rendering.releases import Release, Status, to_record
from kymatui.operator.manifests.manifest_marks import REQUIRED_FINALIZERS
from kymatui.operator.manifests.module_pass import CRD_KEPT
from kymatui.operator.manifests.resource_pruning import OBJECT_KEPT
from tests.controllers.module_worlds import REF, Json, ModuleWorld, config

OLD, NEW = config("old"), config("new")


@pytest.fixture
def world() -> ModuleWorld:
    return ModuleWorld()


@pytest.mark.parametrize("verb", ["upgrade", "delete"])
def test_an_object_that_a_webhook_protects_is_named_and_the_others_go(verb: str) -> None:
    world = ModuleWorld()
    held, other = config("held"), config("other")
    held["metadata"]["annotations"] = {"services.cloud.sap.com/preventDeletion": "true"}
    world.put("1.0.0", held, other)
    world.settle()
    if verb == "upgrade":
        world.put("1.1.0", config("new"))
    else:
        world.home.delete(REF)
    for _ in range(3):
        with contextlib.suppress(ConfigurationError):
            world.reconcile()
    operation = world.manifest()["status"]["lastOperation"]["operation"]
    assert "ConfigMap kyma-system/held: the webhook of the SAP BTP service operator refuses to delete it" in operation
    assert (world.state(), world.exists(held), world.exists(other)) == ("Error", True, False)
    patch = {"metadata": {"annotations": {"services.cloud.sap.com/preventDeletion": None}}}
    world.runtime.patch(read_ref(held), patch, PatchKind.MERGE)
    world.settle() if verb == "upgrade" else world.delete()
    assert not world.exists(held)


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


@pytest.mark.parametrize("finalizers", [REQUIRED_FINALIZERS, (*REQUIRED_FINALIZERS, FINALIZER_MODULE_CR)])
def test_a_manifest_stays_while_its_module_cr_exists_whatever_the_registry_does(
    world: ModuleWorld, finalizers: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed operator may have created the CR without the finalizer for it."""
    world.put("1.0.0", THINGS, OLD)
    default = a_thing("default")
    world.home.patch(REF, {"spec": {"resource": default}}, PatchKind.MERGE)
    world.settle()
    ref = read_ref(default)
    world.runtime.patch(ref, {"metadata": {"finalizers": ["example.org/held"]}}, PatchKind.MERGE)
    world.home.patch(REF, {"metadata": {"finalizers": list(finalizers)}}, PatchKind.MERGE)

    def unreachable(manifest: object) -> Sequence[Json]:
        raise RegistryUnreachableError("reg.example does not answer")

    monkeypatch.setattr(world.layers, "objects", unreachable)
    world.restart()
    world.home.delete(REF)
    for _ in range(12):
        world.reconcile()
        assert world.state() in ("Ready", "Deleting")
    assert "deletionTimestamp" in world.runtime.get(ref)["metadata"]  # type: ignore[index]
    assert world.exists(OLD), "its manager may be needed to finalize the CR"
    world.runtime.patch(ref, {"metadata": {"finalizers": []}}, PatchKind.MERGE)
    world.delete()
    assert not world.exists(OLD)


def test_an_unchanged_module_is_not_written_again(world: ModuleWorld) -> None:
    world.put("1.0.0", OLD, NEW)
    world.settle()
    before = world.manifest()
    world.resync()
    assert world.manifest() == before
    assert world.runtime.get(read_ref(OLD)) is not None


def crd(kind: str, *, served: bool = True) -> Json:
    """The CRD of a kind of a module."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": served, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    spec = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    metadata = {"name": f"{plural}.example.org"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata} | {
        "spec": spec
    }


def a_thing(name: str) -> Json:
    return {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": name, "namespace": "kyma-system"}}


THINGS = crd("Thing")


def install_things(world: ModuleWorld, *more: Json) -> None:
    world.put("1.0.0", OLD, THINGS, *more)
    with contextlib.suppress(KymatuiError):  # the kind is served a moment later
        world.settle()
    world.living.advance(1)
    world.settle()


def upgrade_without_things(world: ModuleWorld) -> None:
    world.put("1.1.0", OLD, NEW)
    world.settle()


def kept(world: ModuleWorld) -> list[str]:
    return [one.message for one in world.events if one.reason == CRD_KEPT]


def test_a_dropped_crd_with_objects_of_users_stays_until_they_are_deleted(world: ModuleWorld) -> None:
    install_things(world)
    world.runtime.create(a_thing("theirs"))
    upgrade_without_things(world)
    assert (world.state(), sorted(world.synced())) == ("Ready", ["new", "old", "things.example.org"])
    assert world.exists(a_thing("theirs"))
    (message,) = kept(world)
    assert "things.example.org" in message
    assert "1.1.0" in message
    for again in (world.resync, world.restart, world.settle):
        again()
    assert (world.state(), len(kept(world))) == ("Ready", 1)
    assert world.exists(THINGS)
    world.runtime.delete(read_ref(a_thing("theirs")))
    world.resync()
    world.resync()
    assert not world.exists(THINGS)
    assert (world.state(), sorted(world.synced())) == ("Ready", ["new", "old"])


@pytest.mark.parametrize("upgrades", [True, False])
def test_a_crd_with_objects_of_users_outlives_the_module(world: ModuleWorld, upgrades: bool) -> None:
    install_things(world)
    world.runtime.create(a_thing("theirs"))
    if upgrades:
        upgrade_without_things(world)
    world.events.clear()
    world.delete()
    assert world.home.get(REF) is None
    assert world.exists(THINGS)
    assert world.exists(a_thing("theirs"))
    assert not world.exists(OLD)
    (message,) = {one.message for one in world.events if one.reason == OBJECT_KEPT}
    assert "things.example.org stays: 1 object of its kind left: Thing kyma-system/theirs" in message


def test_an_empty_crd_goes_with_the_module(world: ModuleWorld) -> None:
    install_things(world)
    world.delete()
    assert not world.exists(THINGS)


def release_with_things() -> Json:
    manifest = f"---\n{json.dumps(THINGS)}\n"
    made: Json = to_record(Release("other", "kyma-system", 1, Status.DEPLOYED, manifest=manifest))
    return made


def other_manifest(world: ModuleWorld) -> Json:
    own = world.manifest()
    synced = {"group": "apiextensions.k8s.io", "version": "v1", "kind": THINGS["kind"], "namespace": ""}
    metadata = {"name": "other", "namespace": REF.namespace, "labels": own["metadata"]["labels"]}
    status = {"state": "Ready", "synced": [{**synced, "name": "things.example.org"}]}
    return {key: own[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": metadata, "status": status}


@pytest.mark.parametrize("verb", ["upgrade", "delete"])
@pytest.mark.parametrize("holder", ["Helm release kyma-system/other", f"Manifest {REF.namespace}/other"])
def test_a_crd_that_another_installation_has_stays(world: ModuleWorld, holder: str, verb: str) -> None:
    install_things(world)
    if holder.startswith("Helm"):
        world.runtime.create(release_with_things())
    else:
        body = other_manifest(world)
        world.home.create({key: value for key, value in body.items() if key != "status"})
        ref = replace(REF, name="other")
        world.home.patch(ref, {"status": body["status"]}, PatchKind.MERGE, subresource="status")
    if verb == "upgrade":
        upgrade_without_things(world)
    else:
        world.delete()
    assert world.exists(THINGS)
    assert any(f"{holder} has it, too" in one.message for one in world.events)


SHOP: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def in_shop(name: str, **annotations: str) -> Json:
    metadata = {"name": name, "namespace": "shop", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def put_with_shop(world: ModuleWorld, *objects: Json) -> None:
    world.put("1.0.0", OLD, SHOP)
    world.settle()
    world.put("1.0.1", OLD, SHOP, *objects)
    world.settle()


@pytest.mark.parametrize("verb", ["upgrade", "delete"])
def test_a_namespace_stays_for_what_users_have_in_it_and_goes_when_that_has_gone(world: ModuleWorld, verb: str) -> None:
    put_with_shop(world, in_shop("ours"))
    world.runtime.create(in_shop("theirs"))
    if verb == "delete":
        world.delete()
    else:
        upgrade_without_things(world)
    assert [world.exists(one) for one in (in_shop("ours"), in_shop("theirs"), SHOP)] == [False, True, True]
    assert any("Namespace shop stays: " in one.message and "theirs" in one.message for one in world.events)
    if verb == "upgrade":
        assert (world.state(), sorted(world.synced())) == ("Ready", ["new", "old", "shop"])
        world.runtime.delete(read_ref(in_shop("theirs")))
        for _ in range(3):
            world.resync()
        assert not world.exists(SHOP)
        assert (world.state(), sorted(world.synced())) == ("Ready", ["new", "old"])


@pytest.mark.parametrize("verb", ["upgrade", "delete"])
def test_an_object_that_its_annotation_keeps_stays_with_its_namespace(world: ModuleWorld, verb: str) -> None:
    keep = {"helm.sh/resource-policy": " Keep"}
    put_with_shop(world, in_shop("data", **keep), in_shop("ours"))
    if verb == "delete":
        world.delete()
    else:
        upgrade_without_things(world)
        assert (world.state(), sorted(world.synced())) == ("Ready", ["new", "old", "shop"])
    assert [world.exists(one) for one in (in_shop("data"), in_shop("ours"), SHOP)] == [True, False, True]
    assert any("ConfigMap shop/data stays: kept by its annotation" in one.message for one in world.events)


def test_a_kept_crd_that_a_later_version_has_again_is_one_of_its_objects(world: ModuleWorld) -> None:
    install_things(world)
    world.runtime.create(a_thing("theirs"))
    upgrade_without_things(world)
    world.put("1.2.0", OLD, NEW, THINGS)
    world.settle()
    assert sorted(world.synced()) == ["new", "old", "things.example.org"]
    assert len(kept(world)) == 1


def test_a_dropped_crd_goes_with_the_objects_that_the_module_itself_had(world: ModuleWorld) -> None:
    install_things(world, a_thing("ours"))
    assert world.exists(a_thing("ours"))
    upgrade_without_things(world)
    assert not world.exists(THINGS)
    assert (world.state(), sorted(world.synced()), kept(world)) == ("Ready", ["new", "old"], [])


def test_a_dropped_crd_whose_objects_cannot_be_listed_stays(world: ModuleWorld) -> None:
    install_things(world)
    world.runtime.refused["Thing"] = ForbiddenError("things is forbidden", status=403)
    upgrade_without_things(world)
    assert (world.state(), len(kept(world))) == ("Ready", 1)
    assert world.exists(THINGS)
    world.runtime.refused.clear()
    world.resync()
    assert not world.exists(THINGS)


def test_a_dropped_crd_without_a_served_version_stays(world: ModuleWorld) -> None:
    world.put("1.0.0", OLD, crd("Thing", served=False))
    world.settle()
    upgrade_without_things(world)
    assert (world.exists(THINGS), len(kept(world))) == (True, 1)


def test_the_objects_of_a_kept_crd_are_listed_once_an_interval(world: ModuleWorld) -> None:
    install_things(world)
    world.runtime.create(a_thing("theirs"))
    upgrade_without_things(world)
    world.runtime.listed.clear()
    for _ in range(3):
        world.reconcile()
    assert world.runtime.listed == []
    world.resync()
    assert world.runtime.listed == ["Thing"]


def test_another_object_that_goes_without_another_layer_is_refused_as_before(world: ModuleWorld) -> None:
    install_things(world)
    world.runtime.create(a_thing("theirs"))
    upgrade_without_things(world)
    world.layers.content["sha256:1.1.0"] = [OLD]
    world.restart()
    with pytest.raises(ConfigurationError):
        world.settle()
    assert world.state() == "Warning"
    assert world.exists(NEW)
    assert world.exists(THINGS)
