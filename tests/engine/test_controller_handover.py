"""lifecycle-manager and the operator one after the other: what one wrote and the other has not any more goes."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import field_managers, read_ref
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.ownership import LIFECYCLE_APPLIER
from kymatui.engine.cluster.ports import OPERATOR_CREATOR, OPERATOR_FIELD_MANAGER, PatchKind
from kymatui.engine.dryrun.field_takeover import LIFECYCLE_MANAGER, apply_owned, hand_fields_over, handed_entries
from tests.engine import objects as make
from tests.engine.places import Json, Place

CANCEL = threading.Event()
OPERATOR = "operator.kyma-project.io/v1beta2"
APPLIED = {"group": "", "version": "v1", "kind": "ConfigMap", "namespace": "kyma-system", "name": "a"}


@pytest.fixture
def config(place: Place) -> Json:
    place.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}})
    body = make.config_map("a", kept="1", dropped="1")
    return {**body, "metadata": {**body["metadata"], "namespace": place.namespace}}


def without(body: Json, name: str) -> Json:
    return {**body, "data": {key: value for key, value in body["data"].items() if key != name}}


def data(place: Place) -> Any:
    live = place.get("v1", "ConfigMap", "a")
    assert live is not None
    return live["data"]


def test_a_field_that_a_version_of_the_operator_drops_goes_though_lifecycle_manager_applied_it(
    place: Place, config: Json
) -> None:
    place.cluster.apply(config, manager=LIFECYCLE_APPLIER)
    answer = apply_owned(place.cluster, without(config, "dropped"), CANCEL)
    assert answer["data"] == data(place) == {"kept": "1"}
    assert set(field_managers(answer)) == {OPERATOR_FIELD_MANAGER}


@pytest.mark.parametrize("gone_back", [False, True])
def test_a_field_that_a_version_of_lifecycle_manager_drops_goes_once_it_was_handed_over(
    place: Place, config: Json, gone_back: bool
) -> None:
    if gone_back:
        place.cluster.apply(config, manager=LIFECYCLE_APPLIER)
    live = apply_owned(place.cluster, config, CANCEL)
    ref = read_ref(live)
    assert hand_fields_over(place.cluster, ref, Actor.KLM)
    assert not hand_fields_over(place.cluster, ref, Actor.KLM), "there is nothing left to hand over"
    after = place.cluster.apply(without(config, "dropped"), manager=LIFECYCLE_APPLIER, force=True)
    assert after["data"] == {"kept": "1"}
    assert set(field_managers(after)) == {LIFECYCLE_APPLIER}


def test_what_others_wrote_stays_theirs(place: Place, config: Json) -> None:
    ref = read_ref(place.cluster.apply(config, manager=LIFECYCLE_APPLIER))
    place.cluster.patch(ref, {"data": {"own": "1"}}, PatchKind.MERGE, manager="kubectl-edit")
    after = apply_owned(place.cluster, without(config, "dropped"), CANCEL)
    assert after["data"] == {"kept": "1", "own": "1"}
    assert set(field_managers(after)) == {OPERATOR_FIELD_MANAGER, "kubectl-edit"}


def manifest(place: Place) -> Json:
    """A Manifest that the operator made and reported, with one applied object."""
    for body in read_crds():
        place.cluster.apply(body, force=True)
    place.cluster.forget_kinds()
    place.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}})
    metadata = {"name": "keda", "namespace": place.namespace, "finalizers": ["declarative.kyma-project.io/finalizer"]}
    source = {"repo": "http://reg.example", "name": "keda", "ref": "sha256:1", "type": "oci-ref"}
    spec = {"remote": True, "version": "1.0.0", "install": {"name": "raw", "source": source}}
    body = {"apiVersion": OPERATOR, "kind": "Manifest", "metadata": metadata, "spec": spec}
    live = place.cluster.apply(body, manager=OPERATOR_CREATOR)
    status = {"status": {"state": "Ready", "synced": [APPLIED]}}
    place.cluster.patch(read_ref(live), status, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, subresource="status")
    return body


def test_lifecycle_manager_ends_the_list_of_applied_objects_once_a_manifest_was_handed_over(place: Place) -> None:
    body = manifest(place)
    ref = read_ref(body)
    place.cluster.patch(ref, {"metadata": {"labels": {"a": "1"}}}, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER)
    assert hand_fields_over(place.cluster, ref, Actor.KLM, home=True)
    live = place.get(OPERATOR, "Manifest", "keda")
    assert live is not None
    entries = {
        (entry["manager"], entry["operation"], entry.get("subresource", ""))
        for entry in live["metadata"]["managedFields"]
    }
    assert entries == {
        (LIFECYCLE_APPLIER, "Apply", ""),
        (LIFECYCLE_APPLIER, "Apply", "status"),
        (LIFECYCLE_MANAGER, "Update", ""),
    }
    assert hand_fields_over(place.cluster, ref, Actor.OPERATOR, home=True)
    assert set(field_managers(place.get(OPERATOR, "Manifest", "keda") or {})) == {
        OPERATOR_CREATOR,
        OPERATOR_FIELD_MANAGER,
    }


def entry(manager: str, operation: str, **fields: Any) -> Json:
    return {"manager": manager, "operation": operation, "apiVersion": OPERATOR, "fieldsV1": fields}


def test_the_spec_of_a_runtimes_kyma_is_never_what_lifecycle_manager_applied() -> None:
    """Its apply has labels alone: it would remove the modules."""
    written = entry(OPERATOR_FIELD_MANAGER, "Update", **{"f:metadata": {"f:labels": {}}, "f:spec": {"f:modules": {}}})
    raw = {
        "apiVersion": OPERATOR,
        "kind": "Kyma",
        "metadata": {"name": "default", "namespace": "kyma-system", "managedFields": [written]},
    }
    assert handed_entries(raw, Actor.KLM) == [
        entry("kyma-sync-context", "Apply", **{"f:metadata": {"f:labels": {}}}),
        entry(LIFECYCLE_MANAGER, "Update", **{"f:spec": {"f:modules": {}}}),
    ]
