"""The Manifest controller against a real server: installed, kept, upgraded, let go, taken away; and what goes wrong."""

from __future__ import annotations

import json
import threading

import pytest
import yaml
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import FINALIZER, ORPHAN_SECONDS, Manifest, read_manifest
from kymatui.domain.kyma.states import State
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import ConfigurationError, RefusedError
from kymatui.operator.framework.controller import GONE
from kymatui.operator.manifests.controller import ManifestReconciler
from kymatui.operator.manifests.manifest_pass import ManifestChangedError
from kymatui.operator.manifests.standalone_pass import StandalonePass
from tests.controllers.desks import MANIFEST, Desk
from tests.engine.objects import config_map, definition, deployment, job
from tests.engine.places import Json, eventually


def marked(body: Json | None) -> tuple[str, str]:
    assert body is not None
    metadata = body["metadata"]
    return metadata["labels"]["app.kubernetes.io/component"], metadata["annotations"]["kymatui.io/manifest"]


def test_a_manifest_is_installed_and_says_so(desk: Desk) -> None:
    space = desk.place.namespace
    desk.put(desk.layers.push(config_map("a", space, x="1"), deployment("web", space)))
    status = desk.settle()
    assert {item["type"]: item["status"] for item in status["conditions"]} == {
        "Resources": "True",
        "Installation": "True",
    }
    assert {(item["kind"], item["name"]) for item in status["synced"]} == {("ConfigMap", "a"), ("Deployment", "web")}
    assert marked(desk.config("a")) == (desk.ref.name, f"{space}/{desk.ref.name}")
    found = desk.manifest()
    assert found is not None
    assert found["metadata"]["finalizers"] == [FINALIZER]


def test_an_archive_of_a_layer_is_read_too(desk: Desk) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace), archive=True), kind="oci-dir")
    desk.settle()
    assert desk.config("a") is not None


def test_a_turn_without_news_writes_nothing(desk: Desk) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)))
    desk.settle()
    before = desk.manifest(), desk.config("a")
    assert desk.turn() is None, "nothing but a change, or the slow look at everything, calls for a turn"
    assert (desk.manifest(), desk.config("a")) == before


def test_what_somebody_deleted_comes_back(desk: Desk) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace, x="1")))
    desk.settle()
    desk.place.raw.delete(ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), desk.place.namespace, "a"))
    desk.turn()
    assert desk.config("a") is not None


def test_an_upgrade_prunes_what_the_new_layer_has_not(desk: Desk) -> None:
    space = desk.place.namespace
    desk.put(desk.layers.push(config_map("old", space), config_map("both", space, v="1")))
    desk.settle()
    desk.put(desk.layers.push(config_map("new", space), config_map("both", space, v="2")))
    desk.turn()
    assert desk.config("old") is None
    assert (desk.config("both") or {})["data"] == {"v": "2"}
    assert {item["name"] for item in desk.status()["synced"]} == {"new", "both"}


def test_22_a_layer_that_is_not_what_its_digest_says_deletes_nothing(desk: Desk) -> None:
    space = desk.place.namespace
    digest = desk.layers.push(config_map("a", space), config_map("b", space))
    desk.put(digest)
    desk.settle()
    desk.layers.content[digest] = yaml.safe_dump(config_map("a", space)).encode()
    desk.turn()
    assert desk.status()["state"] == "Error"
    assert f"{digest} arrived as sha256:" in desk.status()["lastOperation"]["operation"]
    assert desk.config("b") is not None


def test_a_layer_that_cannot_be_pulled_is_an_error_and_leaves_what_is_there(desk: Desk) -> None:
    digest = desk.layers.push(config_map("a", desk.place.namespace))
    desk.put(digest)
    desk.settle()
    desk.put("sha256:" + "0" * 64)
    desk.turn()
    assert desk.status()["state"] == "Error"
    assert "is not there" in desk.status()["lastOperation"]["operation"]
    assert desk.config("a") is not None
    desk.put(digest)
    desk.settle()


def test_a_workload_that_is_not_ready_is_waited_for_and_one_that_is_stuck_is_an_error(desk: Desk) -> None:
    space = desk.place.namespace
    patient, impatient = (
        deployment("web", space, image="registry.example/broken:1.0.0", progressDeadlineSeconds=seconds)
        for seconds in (600, 1)
    )
    desk.put(desk.layers.push(patient))
    desk.turn()
    assert desk.status()["state"] == "Processing"
    desk.put(desk.layers.push(impatient))
    desk.settle("Error")
    assert "Deployment" in desk.status()["lastOperation"]["operation"]


def test_the_default_resource_is_created_once_and_then_left_alone(desk: Desk) -> None:
    space, group = desk.place.namespace, desk.place.group
    resource = {
        "apiVersion": f"{group}/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": space},
        "spec": {"a": 1},
    }
    desk.put(desk.layers.push(definition(group, "Widget")), resource=resource)
    desk.settle()
    assert desk.condition("ModuleCR")["status"] == "True"
    desk.place.raw.forget_kinds()
    widget = ObjectRef(GroupVersionKind(group, "v1", "Widget"), space, "w")
    desk.place.raw.patch(widget, {"spec": {"a": 2}}, PatchKind.MERGE)
    desk.turn()
    assert (desk.place.raw.get(widget) or {})["spec"] == {"a": 2}
    desk.place.raw.delete(widget)
    desk.turn()
    assert desk.place.raw.get(widget) is None, "42: what its owner deleted stays deleted"


def test_with_the_policy_ignore_no_resource_is_created(desk: Desk) -> None:
    space, group = desk.place.namespace, desk.place.group
    resource = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": space}}
    digest = desk.layers.push(definition(group, "Widget"))
    desk.put(digest, resource=resource, customResourcePolicy="Ignore")
    desk.settle()
    assert desk.place.raw.get(ObjectRef(GroupVersionKind(group, "v1", "Widget"), space, "w")) is None


def test_a_manifest_that_is_deleted_takes_everything_with_it(desk: Desk) -> None:
    space = desk.place.namespace
    desk.put(desk.layers.push(config_map("a", space), job("j", space)))
    desk.turn()
    desk.delete()
    eventually(lambda: desk.turn() is None and desk.manifest() is None, "it is gone")
    assert desk.config("a") is None
    assert desk.place.get("batch/v1", "Job", "j") is None


def test_69_a_manifest_whose_layer_is_gone_leaves_nothing_behind(desk: Desk) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)))
    desk.settle()
    desk.layers.content.clear()
    desk.put("sha256:" + "0" * 64)
    desk.delete()
    eventually(lambda: desk.turn() is None and desk.manifest() is None, "it is gone")
    assert desk.config("a") is None


def test_a_manager_stays_until_what_users_made_is_gone(desk: Desk) -> None:
    space, group = desk.place.namespace, desk.place.group
    desk.put(desk.layers.push(definition(group, "Widget"), config_map("manager", space)))
    desk.settle()
    widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "theirs", "namespace": space}}
    desk.place.raw.forget_kinds()
    desk.place.raw.apply(widget, manager="user")
    desk.delete()
    assert desk.turn() is not None
    assert desk.status()["state"] == "Deleting"
    assert "Widget" in desk.status()["lastOperation"]["operation"]
    assert desk.config("manager") is not None
    desk.place.raw.delete(ObjectRef(GroupVersionKind(group, "v1", "Widget"), space, "theirs"))
    eventually(lambda: desk.turn() is None and desk.manifest() is None, "it is gone")
    assert desk.config("manager") is None


def test_a_manifest_that_is_let_go_leaves_everything(desk: Desk) -> None:
    space = desk.place.namespace
    desk.put(desk.layers.push(config_map("a", space)))
    desk.settle()
    desk.put(
        desk.layers.push(config_map("a", space)),
        metadata={"annotations": {"operator.kyma-project.io/is-unmanaged": "true"}},
    )
    desk.turn()
    eventually(lambda: desk.manifest() is None, "the Manifest is gone")
    left = desk.config("a")
    assert left is not None
    assert "kymatui.io/manifest" not in left["metadata"].get("annotations", {})
    assert "applyset.kubernetes.io/part-of" not in left["metadata"].get("labels", {})


def test_a_released_manifest_that_is_deleted_at_once_leaves_its_objects(desk: Desk) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)))
    desk.settle()
    annotations = {"operator.kyma-project.io/is-unmanaged": "true"}
    desk.place.raw.patch(desk.ref, {"metadata": {"annotations": annotations}}, PatchKind.MERGE)
    desk.delete()
    eventually(lambda: desk.turn() in (None, GONE) and desk.manifest() is None, "the Manifest is gone")
    assert desk.config("a") is not None


def test_a_change_during_a_reconciliation_is_not_overwritten(desk: Desk) -> None:
    signed = {
        "type": "Signed",
        "status": "True",
        "reason": "Verified",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)))
    desk.settle()
    found = read_manifest(desk.manifest() or {})
    assert isinstance(found, Manifest)
    conditions = [*desk.status()["conditions"], signed]
    desk.place.raw.patch(desk.ref, {"status": {"conditions": conditions}}, PatchKind.MERGE, subresource="status")
    reconciliation = StandalonePass(desk.context, found, threading.Event())
    reconciliation.status.set_state(State.WARNING, "not what it was")
    with pytest.raises(ManifestChangedError):
        reconciliation.write_status()
    assert desk.condition("Signed") == signed
    desk.settle()


@pytest.mark.parametrize(("reported", "is_orphan"), [("", False), ("m", False), ("another", True)])
def test_a_manifest_is_an_orphan_where_its_kyma_reports_another_one(desk: Desk, reported: str, is_orphan: bool) -> None:
    labels = {"operator.kyma-project.io/kyma-name": "far", "operator.kyma-project.io/module-name": "keda"}
    space = desk.place.namespace
    kyma = {"apiVersion": MANIFEST.api_version, "kind": "Kyma", "spec": {"channel": "regular"}}
    desk.place.raw.apply({**kyma, "metadata": {"name": "far", "namespace": space}}, manager="test")
    metadata = {"name": desk.ref.name if reported == "m" else reported, "namespace": space}
    tracked = {"apiVersion": MANIFEST.api_version, "kind": "Manifest", "metadata": metadata}
    report = {"name": "keda", "state": "Ready", **({"manifest": tracked} if reported else {})}
    ref = ObjectRef(GroupVersionKind.of(MANIFEST.api_version, "Kyma"), space, "far")
    desk.place.raw.patch(ref, {"status": {"modules": [report]}}, PatchKind.MERGE, subresource="status")
    desk.put(desk.layers.push(config_map("a", space)), metadata={"labels": labels})
    late = SystemClock().now() + 2 * ORPHAN_SECONDS
    desk.context = replace(desk.context, clock=FixedClock(late))
    desk.reconciler = ManifestReconciler(desk.context)
    desk.turn()
    assert desk.status()["lastOperation"]["operation"].startswith("orphaned manifest detected") == is_orphan


class FixedClock(SystemClock):
    """A clock that shows one time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def now(self) -> float:
        return self._seconds


def test_a_module_of_a_kyma_is_left_to_the_operator(desk: Desk) -> None:
    labels = {"operator.kyma-project.io/kyma-name": "far", "operator.kyma-project.io/managed-by": "lifecycle-manager"}
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)), metadata={"labels": labels})
    before = desk.manifest()
    with pytest.raises(RefusedError, match="is a module of the Kyma far"):
        desk.turn()
    assert (desk.manifest(), desk.config("a")) == (before, None)


def test_54_what_cannot_be_let_go_of_because_it_is_missing_is_said(desk: Desk) -> None:
    space = desk.place.namespace
    digest = desk.layers.push(config_map("a", space))
    desk.put(digest)
    desk.settle()
    desk.place.raw.delete(ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), space, "a"))
    desk.put(digest, metadata={"annotations": {"operator.kyma-project.io/is-unmanaged": "true"}})
    desk.turn()
    assert desk.status()["state"] == "Error"
    assert "is missing" in desk.status()["lastOperation"]["operation"]


@pytest.mark.parametrize(("value", "is_skipped"), [("true", True), ("True", False)])
def test_55_a_manifest_that_is_to_be_skipped_is_left_alone(value: str, is_skipped: bool, desk: Desk) -> None:
    labels = {"operator.kyma-project.io/skip-reconciliation": value}
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)), metadata={"labels": labels})
    desk.turn()
    assert (desk.config("a") is None) == is_skipped


def test_a_manifest_of_a_lifecycle_manager_is_not_touched(desk: Desk) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)))
    desk.place.raw.patch(desk.ref, {"metadata": {"labels": {"x": "y"}}}, PatchKind.MERGE, manager="lifecycle-manager")
    before = desk.manifest()
    with pytest.raises(RefusedError, match="is managed by lifecycle-manager"):
        desk.turn()
    assert desk.manifest() == before
    assert desk.config("a") is None


def test_57_a_cluster_that_cannot_be_reached_is_an_error_with_its_reason(desk: Desk) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)))
    desk.here.error = ConfigurationError("more than one secret found")
    assert desk.turn() is not None
    assert desk.status()["state"] == "Error"
    assert desk.status()["lastOperation"]["operation"] == "the cluster cannot be reached: more than one secret found"
    desk.here.error = None
    desk.settle()


def test_a_cluster_that_is_gone_for_good_holds_no_manifest_back(desk: Desk) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)))
    desk.settle()
    desk.here.cluster = None
    desk.delete()
    assert desk.turn() is None
    assert desk.manifest() is None


def test_70_a_manifest_whose_kyma_is_gone_is_orphaned(desk: Desk) -> None:
    labels = {"operator.kyma-project.io/kyma-name": "nobody"}
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)), metadata={"labels": labels})
    desk.turn()
    assert desk.status()["state"] == "Error"
    assert desk.status()["lastOperation"]["operation"].startswith("orphaned manifest detected")
    assert desk.config("a") is None


def test_29_a_field_that_somebody_else_owns_is_not_taken(desk: Desk) -> None:
    space = desk.place.namespace
    digest = desk.layers.push(config_map("a", space, x="1"))
    desk.put(digest)
    desk.settle()
    desk.place.kubectl(config_map("a", space, x="2"))
    desk.turn()
    assert desk.status()["state"] == "Warning"
    assert "kubectl-edit" in desk.status()["lastOperation"]["operation"]
    assert (desk.config("a") or {})["data"] == {"x": "2"}


def test_the_record_of_what_is_installed_is_on_the_manifest(desk: Desk) -> None:
    desk.put(desk.layers.push(config_map("a", desk.place.namespace)))
    desk.settle()
    found = desk.manifest()
    assert found is not None
    record = json.loads(found["metadata"]["annotations"]["kymatui.io/installs"])
    assert record == [["raw-manifest", desk.ref.name, "default"]]
