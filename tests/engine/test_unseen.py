"""What is created after a plan was displayed is named and left, by every way that deletes."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import yaml
from msgspec.structs import replace

from kymatui.adapters.files.backups import BackupFile
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.inventories import InventoryState
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.apply import applier
from kymatui.engine.cluster.ports import Object, PatchKind, Write, WriteVerb
from kymatui.engine.deletion import module_deletion, uninstall_plan
from kymatui.engine.deletion.managed_deletion import DeletionConsent
from kymatui.engine.deletion.module_deletion import DeletionOutcome
from kymatui.engine.deletion.uninstall_plan import UninstallPlan
from kymatui.engine.inventory.release_store import read_inventory
from kymatui.engine.jobs.run import Progress, SystemClock, begin
from kymatui.engine.plans.plan import Intent
from kymatui.errors import PartlyDoneError, RefusedError
from tests.engine import objects as make
from tests.engine.charts import chart, hook
from tests.engine.installing import LIMITS, apply, bundle, install, plan
from tests.engine.places import Json, Place, eventually

NAMESPACE = GroupVersionKind("", "v1", "Namespace")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
LATER = "created after the plan was displayed"


def module(place: Place) -> tuple[Json, ...]:
    return (make.definition(place.group, "Thing"), make.config_map("settings"), make.deployment("manager"))


def displayed(place: Place) -> UninstallPlan:
    found = uninstall_plan.plan_uninstall("module", place.namespace, place.cluster, SystemClock())
    assert found is not None
    return found


def delete(
    place: Place,
    found: UninstallPlan,
    backup: BackupFile | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> DeletionOutcome:
    with begin(place.cluster, limits=LIMITS, backup=backup, progress=progress) as run:
        return module_deletion.uninstall_module(found, run, DeletionConsent(found.accepted, cascade=True))


def thing(place: Place, name: str) -> Json:
    return make.custom(place.group, "Thing", name, place.namespace)


def has_thing(place: Place, name: str) -> bool:
    return place.get(f"{place.group}/v1", "Thing", name) is not None


def recreate(place: Place, ref: ObjectRef) -> str:
    """Deletes an object and creates it again as it was; the uid of the new one."""
    live = place.raw.get(ref)
    assert live is not None
    place.raw.delete(ref)
    kept = {key: value for key, value in live["metadata"].items() if key in ("name", "namespace", "labels")}
    made = place.raw.create({**{key: value for key, value in live.items() if key != "status"}, "metadata": kept})
    return str(made["metadata"]["uid"])


def test_an_object_created_after_the_plan_refuses_the_deletion(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(thing(place, "seen"))
    found = displayed(place)
    place.kubectl(thing(place, "late"))
    with pytest.raises(RefusedError, match=rf"Thing .*/late, {LATER}"):
        delete(place, found)
    assert has_thing(place, "seen")
    assert has_thing(place, "late")
    inventory = read_inventory(place.cluster, SystemClock(), "module", place.namespace)
    assert inventory is not None
    assert inventory.state is InventoryState.INSTALLED


def test_an_object_created_again_under_its_name_is_another_one(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(thing(place, "seen"))
    found = displayed(place)
    recreate(place, ObjectRef(GroupVersionKind(place.group, "v1", "Thing"), place.namespace, "seen"))
    with pytest.raises(RefusedError, match=rf"Thing .*/seen, {LATER}"):
        delete(place, found)
    assert has_thing(place, "seen")


def test_an_object_created_while_others_are_deleted_stops_the_deletion_before_the_manager(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(thing(place, "seen"))
    found = displayed(place)

    def meddle(progress: Progress) -> None:
        if progress.message.startswith("deleting Thing") and not has_thing(place, "late"):
            place.kubectl(thing(place, "late"))

    with pytest.raises(PartlyDoneError, match=rf"Thing .*/late, {LATER}.*1 object deleted"):
        delete(place, found, progress=meddle)
    assert has_thing(place, "late")
    assert place.get("apps/v1", "Deployment", "manager") is not None


def test_a_part_of_the_module_that_was_created_again_is_left_with_its_namespace(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    found = displayed(place)
    uid = recreate(place, ObjectRef(CONFIG_MAP, place.namespace, "settings"))
    ended = delete(place, found)
    live = place.get("v1", "ConfigMap", "settings")
    assert live is not None
    assert live["metadata"]["uid"] == uid
    assert [(step.ref.name, step.reason.split(":")[0]) for step in ended.kept] == [
        ("settings", "it was created after the plan was displayed"),
        (place.namespace, "it contains other objects"),
    ]
    assert place.get("apps/v1", "Deployment", "manager") is None


def test_what_changed_after_the_plan_is_deleted_and_the_backup_holds_its_last_state(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(thing(place, "seen"))
    found = displayed(place)
    path = place.folder / "kept.yaml"
    backup = BackupFile(path, place.cluster, ("module",))
    backup.write([one.ref for one in found.remaining.instances] + [step.ref for step in found.deletions])
    edited = thing(place, "seen")
    edited["spec"] = {"edited": "later"}
    place.kubectl(edited)
    data = make.config_map("settings", place.namespace, later="yes")
    place.kubectl(data)
    delete(place, found, backup)
    saved = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(path.read_text())}
    assert saved["Thing", "seen"]["spec"] == {"edited": "later"}
    assert saved["ConfigMap", "settings"]["data"]["later"] == "yes"
    assert place.raw.get(ObjectRef(NAMESPACE, "", place.namespace)) is None


def test_a_pruned_definition_stays_for_an_instance_created_after_the_plan(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(thing(place, "seen"))
    small = bundle(place, make.config_map("settings"))
    planned = plan(place, Intent(small, prune_definitions=True))
    place.kubectl(thing(place, "late"))
    with pytest.raises(PartlyDoneError, match=rf"not deleted: CustomResourceDefinition .*Thing .*/late, {LATER}"):
        apply(place, planned)
    assert has_thing(place, "seen")
    assert has_thing(place, "late")
    assert place.get("apps/v1", "Deployment", "manager") is None
    apply(place, plan(place, Intent(small, prune_definitions=True)))
    assert not has_thing(place, "late")


def test_a_pruned_definition_stays_for_an_instance_created_while_the_others_are_saved(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(thing(place, "seen"))

    class Meddling(BackupFile):
        """Somebody creates an object once all was saved beforehand, and the CRD is saved again."""

        is_saved = False

        @property
        def message(self) -> str:
            self.is_saved = True
            return super().message

        def holds(self, uid: str, resource_version: str) -> bool:
            if self.is_saved and not has_thing(place, "late"):
                place.kubectl(thing(place, "late"))
            return super().holds(uid, resource_version)

    backup = Meddling(place.folder / "saved.yaml", place.cluster, ("module",))
    place.raw.delete(ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), place.namespace, "manager"))
    planned = plan(place, Intent(bundle(place, make.config_map("settings")), prune_definitions=True))
    with (
        pytest.raises(PartlyDoneError, match=rf"Thing .*/late, {LATER}"),
        begin(place.cluster, limits=LIMITS, backup=backup) as run,
    ):
        applier.apply(planned, run)
    assert has_thing(place, "seen")
    assert has_thing(place, "late")


def test_a_pruned_namespace_stays_for_what_was_created_in_it_after_the_plan(place: Place) -> None:
    space = f"{place.name}-more"
    install(place, bundle(place, make.config_map("settings"), make.namespace(space)))
    small = bundle(place, make.config_map("settings"))
    planned = plan(place, Intent(small, prune_namespaces=True))
    place.kubectl(make.config_map("late", space))
    kept = rf"not deleted: Namespace {space} contains ConfigMap {space}/late, {LATER}"
    with pytest.raises(PartlyDoneError, match=kept):
        apply(place, planned)
    assert place.get("v1", "ConfigMap", "late", space) is not None
    apply(place, plan(place, Intent(small, prune_namespaces=True)))
    assert place.get("v1", "ConfigMap", "late", space) is None


def test_a_pruned_definition_of_a_charts_crds_is_deleted(place: Place) -> None:
    crd = make.definition(place.group, "Thing")
    install(place, chart(place, make.config_map("a"), crds=(crd,)))
    place.kubectl(thing(place, "seen"))
    outcome = apply(place, plan(place, Intent(chart(place, make.config_map("a")), prune_definitions=True)))
    assert [ref.name for ref in outcome.deleted] == [f"things.{place.group}"]
    assert place.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"things.{place.group}", "") is None


class RecreatingCluster(KubeCluster):
    """Another client creates the object again, right before the request that deletes it."""

    def __init__(self, place: Place) -> None:
        super().__init__(place.cluster.client)
        self._place, self._done = place, False

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        if (write.verb, write.ref.name, self._done) == (WriteVerb.DELETE, "old", False):
            self._done = True
            recreate(self._place, write.ref)
        return super().write(write, cancel=cancel)


def test_a_pruned_object_created_again_at_the_last_moment_is_left_and_stays_in_the_inventory(place: Place) -> None:
    install(place, bundle(place, make.config_map("settings"), make.config_map("old")))
    planned = plan(place, bundle(place, make.config_map("settings")))
    with pytest.raises(PartlyDoneError, match=r"not deleted: ConfigMap .*/old, created again after"):
        apply(place, planned, cluster=RecreatingCluster(place))
    inventory = read_inventory(place.cluster, SystemClock(), "module", place.namespace)
    assert inventory is not None
    assert inventory.holds(ObjectRef(CONFIG_MAP, place.namespace, "old"))


class RelabellingCluster(KubeCluster):
    """Another client changes an object's owner right before the request that deletes it."""

    def __init__(self, place: Place, owner: str | None) -> None:
        super().__init__(place.cluster.client)
        self._place, self._owner, self.tries = place, owner, 0

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        if (write.verb, write.ref.name) == (WriteVerb.DELETE, "settings"):
            self.tries += 1
            if self.tries == 1:
                labels = {"applyset.kubernetes.io/part-of": self._owner} if self._owner != "" else {"seen": "yes"}
                self._place.raw.patch(write.ref, {"metadata": {"labels": labels}}, PatchKind.MERGE)
        return super().write(write, cancel=cancel)


@pytest.mark.parametrize("with_backup", [True, False])
@pytest.mark.parametrize(("owner", "stays"), [("applyset-other-v1", True), (None, True), ("", False)])
def test_an_object_taken_over_between_the_check_and_its_deletion_stays(
    place: Place, owner: str | None, stays: bool, with_backup: bool
) -> None:
    install(place, bundle(place, make.config_map("settings"), make.config_map("other")))
    found = displayed(place)
    backup = BackupFile(place.folder / "kept.yaml", place.cluster, ("module",)) if with_backup else None
    if backup is not None:
        backup.write(step.ref for step in found.deletions)
    cluster = RelabellingCluster(place, owner)
    with begin(cluster, limits=LIMITS, backup=backup) as run:
        ended = module_deletion.uninstall_module(found, run, DeletionConsent(found.accepted))
    assert (place.get("v1", "ConfigMap", "settings") is not None) is stays
    assert ("settings" in {ref.name for ref in ended.gone}) is not stays
    assert ("settings" in {step.ref.name for step in ended.kept}) is stays
    assert ended.lost == (), "nobody else deleted anything"
    assert cluster.tries == (1 if stays else 2), "what only changed is read again and deleted"


def test_a_saved_plan_of_an_older_version_deletes_what_it_observed(place: Place) -> None:
    install(place, bundle(place, make.config_map("settings"), make.config_map("old")))
    planned = plan(place, bundle(place, make.config_map("settings")))
    older = replace(planned, steps=tuple(replace(step, uid="", takes=()) for step in planned.steps))
    apply(place, older)
    assert place.get("v1", "ConfigMap", "old") is None


def test_an_object_of_a_hooks_name_that_no_hook_created_is_left(place: Place) -> None:
    hooks = (hook(make.job("before"), "pre-delete", policies=("before-hook-creation",)),)
    install(place, chart(place, make.config_map("a"), hooks=hooks))
    found = uninstall_plan.plan_uninstall("web", place.namespace, place.cluster, SystemClock())
    assert found is not None
    place.kubectl(make.job("before", place.namespace))
    with pytest.raises(PartlyDoneError, match=r"Job .*/before already exists and was not created by a hook"):
        delete(place, found)
    assert place.get("batch/v1", "Job", "before") is not None
    assert place.get("v1", "ConfigMap", "a") is not None


class LateCluster(KubeCluster):
    """Somebody creates an object at the last moment: right before the request that deletes the CRD."""

    def __init__(self, place: Place) -> None:
        super().__init__(place.cluster.client)
        self._place = place

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        if write.verb is WriteVerb.DELETE and write.ref.kind.kind == "CustomResourceDefinition" and not write.dry_run:
            self._place.kubectl(thing(self._place, "late"))
        return super().write(write, cancel=cancel)


@pytest.mark.parametrize("with_backup", [True, False])
def test_an_object_created_between_the_count_and_the_deletion_of_its_crd_is_saved_and_named(
    place: Place, with_backup: bool
) -> None:
    install(place, bundle(place, *module(place)))
    found = displayed(place)
    path = place.folder / "kept.yaml"
    backup = BackupFile(path, place.cluster, ("module",)) if with_backup else None
    said = "saved in the backup" if with_backup else "no backup was made"
    with (
        begin(LateCluster(place), limits=LIMITS, backup=backup) as run,
        pytest.raises(PartlyDoneError, match=rf"Thing .*/late was {LATER}, and deleted with its CRD; {said}"),
    ):
        module_deletion.uninstall_module(found, run, DeletionConsent(found.accepted))
    assert place.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"things.{place.group}", "") is None
    assert read_inventory(place.cluster, SystemClock(), "module", place.namespace) is None
    if with_backup:
        saved = {(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(path.read_text())}
        assert ("Thing", "late") in saved


def test_an_object_created_between_the_count_and_the_deletion_of_a_pruned_crd_is_saved_and_named(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(thing(place, "seen"))
    planned = plan(place, Intent(bundle(place, make.config_map("settings")), prune_definitions=True))
    path = place.folder / "saved.yaml"
    backup = BackupFile(path, place.cluster, ("module",))
    with (
        begin(LateCluster(place), limits=LIMITS, backup=backup) as run,
        pytest.raises(
            PartlyDoneError, match=rf"Thing \S+/late was {LATER}, and deleted with its CRD; saved in the backup"
        ),
    ):
        applier.apply(planned, run)
    saved = {(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(path.read_text())}
    assert {("Thing", "late"), ("Thing", "seen")} <= saved


def test_a_record_forgets_what_was_deleted_before_the_count(place: Place) -> None:
    install(place, bundle(place, *module(place)))
    place.kubectl(thing(place, "early"))
    kind = GroupVersionKind(place.group, "v1", "Thing")
    recording = place.cluster.record([kind])
    assert recording.wait_open(20)
    place.raw.delete(ObjectRef(kind, place.namespace, "early"))
    place.kubectl(thing(place, "late"))
    eventually(lambda: len(recording.objects()) == 2, "both are recorded")
    recording.drop_deleted()
    assert [one["metadata"]["name"] for one in recording.objects()] == ["late"]
    place.raw.delete(ObjectRef(kind, place.namespace, "late"))
    assert [one["metadata"]["name"] for one in recording.objects()] == ["late"]
    recording.close()
