"""What becomes of a Kyma's modules: the outcome of every refusal, and the entries of the Kyma's status."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.kyma.kyma_conditions import KymaCondition, kyma_conditions
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.modules.module_outcomes import (
    Outcome,
    WorkItem,
    accepted_status,
    outcome_of,
    refused_status,
    reported_channel,
    runtime_entry,
    status_changes,
    work_list,
)
from kymatui.domain.plans.kyma_manifest import ModuleContent, kyma_manifest, needs_mandatory_update, needs_update
from kymatui.domain.plans.manifest_body import ManifestLayer
from kymatui.domain.versions import refusals as r
from kymatui.domain.versions.refusals import Refusal
from tests.domain.builders import a_kyma, report, template

Json = dict[str, Any]
WINDOW = MaintenanceWindow(0.0, 1.0)
LAYER = ManifestLayer("http://reg.example", "kyma-project.io/module/mod", "sha256:1", True)
CONTENT = ModuleContent("kyma-project.io/module/mod", "1.0.0", LAYER, ("reg.example/mod:1.0.0",))
ITEM = WorkItem("mod", True, "CreateAndDelete")


@pytest.mark.parametrize(
    ("refusal", "new", "known"),
    [
        (None, Outcome.ACCEPTED, Outcome.ACCEPTED),
        (r.BetaOnly("mod"), Outcome.UNINSTALL, Outcome.UNINSTALL),
        (r.RestrictedToOthers("mod"), Outcome.UNINSTALL, Outcome.UNINSTALL),
        (r.WaitsForWindow("mod", "1", "2", WINDOW), Outcome.FAILED, Outcome.WAIT),
        (r.WaitsForWindow("mod", "1", "2", None), Outcome.FAILED, Outcome.KEEP_FAILED),
        (r.WindowsUnreadable("mod", "why"), Outcome.FAILED, Outcome.KEEP_FAILED),
        (r.HeldBack("mod", "b", "2", "1"), Outcome.FAILED, Outcome.KEEP_WARNED),
        (r.InvalidVersion("mod", "status", "main"), Outcome.FAILED, Outcome.KEEP_WARNED),
        (r.NoReleaseMeta("mod", "kcp-system"), Outcome.FAILED, Outcome.KEEP_WARNED),
        (r.IsMandatory("mod", "mod-1"), Outcome.FAILED, Outcome.WARNED),
        (r.NoTemplateInChannel("mod", "a", ("b",)), Outcome.FAILED, Outcome.WARNED),
        (r.ChannelMissing("mod", "a", ("b",)), Outcome.FAILED, Outcome.FAILED),
        (r.TemplateMissing("mod", "1", "mod-1", "kcp-system"), Outcome.FAILED, Outcome.FAILED),
        (r.ChannelIsNone("mod", "spec.channel"), Outcome.FAILED, Outcome.FAILED),
        (r.StatusWithoutTemplate("mod"), Outcome.FAILED, Outcome.FAILED),
    ],
)
def test_only_a_reported_module_is_kept(refusal: Refusal | None, new: Outcome, known: Outcome) -> None:
    assert outcome_of(refusal, reported=False) is new
    assert outcome_of(refusal, reported=True) is known


CURRENT = {"name": "mod", "state": "Ready", "version": "2.0.0", "channel": "fast", "template": {"x": 1}}


@pytest.mark.parametrize(
    ("outcome", "current", "expected"),
    [
        (Outcome.WAIT, CURRENT, {**CURRENT, "message": "why", "maintenance": True}),
        (Outcome.KEEP_FAILED, CURRENT, {**CURRENT, "message": "why", "state": "Error"}),
        (Outcome.KEEP_WARNED, CURRENT, {**CURRENT, "message": "why", "state": "Warning"}),
        (Outcome.FAILED, CURRENT, {"name": "mod", "channel": "regular", "message": "why", "state": "Error"}),
        (Outcome.WARNED, CURRENT, {"name": "mod", "channel": "regular", "message": "why", "state": "Warning"}),
        (Outcome.KEEP_WARNED, None, {"name": "mod", "channel": "regular", "message": "why", "state": "Error"}),
    ],
)
def test_a_refusal_keeps_the_entry_or_replaces_it(outcome: Outcome, current: Json | None, expected: Json) -> None:
    assert refused_status(outcome, "mod", "why", current, channel="regular", component="") == expected


def test_a_module_that_may_not_be_installed_names_its_component() -> None:
    found = refused_status(Outcome.UNINSTALL, "mod", "why", CURRENT, channel="", component="c")
    assert found == {"name": "mod", "fqdn": "c", "ocmComponentName": "c", "message": "why", "state": "Error"}


def test_a_channel_is_reported_once_it_is_known() -> None:
    assert reported_channel(r.NoReleaseMeta("mod", "n"), "regular") == ""
    assert reported_channel(r.ChannelMissing("mod", "fast", ()), "fast") == "fast"


def test_the_work_list_has_requests_then_what_is_being_removed() -> None:
    kyma = a_kyma(
        [{"name": "a", "managed": False}, {"name": "b", "customResourcePolicy": "Ignore"}],
        status=[report("b", "1.0.0"), report("c", "1.0.0")],
    )
    assert work_list(kyma) == (
        WorkItem("a", True, "CreateAndDelete", False),
        WorkItem("b", True, "Ignore"),
        WorkItem("c", False),
    )


# the Manifest


def kyma() -> Kyma:
    metadata = {"name": "runtime-a", "namespace": "kcp-system", "uid": "u-1"}
    found = read_kyma({"apiVersion": "v1", "kind": "Kyma", "metadata": metadata, "spec": {"channel": "regular"}})
    assert isinstance(found, Kyma)
    return found


def a_template(**spec: Any) -> ModuleTemplate:
    raw = template("mod", "1.0.0")
    raw["spec"].update(spec)
    found = read_template(raw)
    assert isinstance(found, ModuleTemplate)
    return found


def manifest(body: Json, **metadata: Any) -> Manifest:
    found = read_manifest({**body, "metadata": {**body["metadata"], **metadata}})
    assert isinstance(found, Manifest)
    return found


def body_of(item: WorkItem = ITEM, *, mandatory: bool = False, **spec: Any) -> Json:
    return kyma_manifest(kyma(), item, a_template(**spec), CONTENT, "regular", mandatory=mandatory)


def test_the_manifest_has_lifecycle_managers_name_labels_and_owner() -> None:
    body = body_of(data={"apiVersion": "e/v1", "kind": "Mod", "metadata": {"labels": {"a": "b"}}})
    metadata, spec = body["metadata"], body["spec"]
    assert metadata["name"].startswith("runtime-a-mod-")
    assert metadata["labels"]["operator.kyma-project.io/channel"] == "regular"
    assert metadata["ownerReferences"][0]["uid"] == "u-1"
    assert spec["install"]["source"] == {
        "repo": "http://reg.example",
        "name": "kyma-project.io/module/mod",
        "ref": "sha256:1",
        "type": "oci-dir",
    }
    assert spec["resource"]["metadata"] == {"labels": {"a": "b"}, "name": metadata["name"], "namespace": "kyma-system"}
    assert spec["remote"] is False
    assert spec["localizedImages"] == ["reg.example/mod:1.0.0"]


def test_a_mandatory_manifest_has_no_channel_and_a_removed_one_no_policy() -> None:
    labels = body_of(mandatory=True)["metadata"]["labels"]
    assert labels["operator.kyma-project.io/mandatory-module"] == "true"
    assert "operator.kyma-project.io/channel" not in labels
    assert "customResourcePolicy" not in body_of(WorkItem("mod", False))["spec"]


def test_state_rules_travel_with_the_default_cr() -> None:
    rules = [{"jsonPath": "status.light", "value": "green", "mappedState": "Ready"}]
    data = {"apiVersion": "e/v1", "kind": "Mod", "metadata": {"name": "x"}}
    annotation = "operator.kyma-project.io/custom-state-check"
    assert annotation in body_of(customStateCheck=rules, data=data)["metadata"]["annotations"]
    assert annotation not in body_of(customStateCheck=rules, data=None)["metadata"]["annotations"]


UNMANAGED = WorkItem("mod", True, "CreateAndDelete", managed=False)
MARK = {"annotations": {"operator.kyma-project.io/is-unmanaged": "true"}}


@pytest.mark.parametrize(
    ("item", "live", "version", "reported", "expected"),
    [
        pytest.param(ITEM, None, "1.0.0", None, True, id="absent"),
        pytest.param(UNMANAGED, None, "1.0.0", None, False, id="absent and unmanaged"),
        pytest.param(ITEM, MARK, "0.9.0", 1, False, id="already unmanaged"),
        pytest.param(UNMANAGED, {}, "1.0.0", 1, True, id="now unmanaged"),
        pytest.param(ITEM, {}, "1.0.0", 2, False, id="same"),
        pytest.param(ITEM, {}, "0.9.0", 2, True, id="another version"),
        pytest.param(ITEM, {"labels": {"operator.kyma-project.io/channel": "fast"}}, "1.0.0", 2, True, id="channel"),
        pytest.param(ITEM, {"labels": {}}, "1.0.0", 2, True, id="no channel"),
        pytest.param(ITEM, {}, "1.0.0", 1, True, id="template changed"),
        pytest.param(ITEM, {}, "1.0.0", None, False, id="not reported"),
    ],
)
def test_a_manifest_is_written_only_for_a_reason(
    item: WorkItem, live: Json | None, version: str, reported: int | None, expected: bool
) -> None:
    body = body_of(item)
    found = None
    if live is not None:
        found = manifest({**body_of(), "spec": {**body["spec"], "version": version}}, **live)
    assert needs_update(body, found, item, reported_generation=reported, template_generation=2) is expected


@given(st.booleans(), st.sampled_from(["Ignore", "CreateAndDelete"]))
def test_what_was_written_is_not_written_again(mandatory: bool, policy: str) -> None:
    body = body_of(WorkItem("mod", True, policy), mandatory=mandatory)
    live = manifest(body)
    assert not needs_mandatory_update(body, live)
    if not mandatory:
        assert not needs_update(body, live, ITEM, reported_generation=1, template_generation=1)


def test_a_mandatory_manifest_is_restored() -> None:
    body = body_of(mandatory=True)
    assert needs_mandatory_update(body, None)
    assert needs_mandatory_update(body, manifest({**body, "spec": {**body["spec"], "version": "0.1.0"}}))
    assert needs_mandatory_update(body, manifest(body, labels={}))
    assert not needs_mandatory_update(body, manifest(body, **MARK))


# the entry of an accepted module


def test_an_accepted_module_refers_to_its_objects() -> None:
    data = {"apiVersion": "e/v1", "kind": "Mod", "metadata": {"name": "x", "namespace": "n"}}
    body, raw = body_of(data=data), template("mod", "1.0.0", namespace="kcp-system")
    found = accepted_status(ITEM, body, raw, state="Ready", cluster_scoped=False)
    assert found["resource"] == {"apiVersion": "e/v1", "kind": "Mod", "metadata": {"name": "x", "namespace": "n"}}
    assert (found["state"], found["version"], found["channel"]) == ("Ready", "1.0.0", "regular")
    assert found["manifest"]["metadata"]["name"] == body["metadata"]["name"]
    scoped = accepted_status(ITEM, body, raw, state="", cluster_scoped=True)
    assert scoped["resource"]["metadata"]["namespace"] == ""
    assert scoped["state"] == ""
    for item in (WorkItem("mod", True, "Ignore"), WorkItem("mod", False)):
        assert "resource" not in accepted_status(item, body, raw, state="Ready", cluster_scoped=False)
    copied = runtime_entry(found, "kyma-system")
    assert "manifest" not in copied
    assert copied["template"]["metadata"]["namespace"] == "kyma-system"
    assert found["template"]["metadata"]["namespace"] != "kyma-system"


def test_an_unmanaged_module_has_no_references() -> None:
    found = accepted_status(
        UNMANAGED, body_of(UNMANAGED), template("mod", "1.0.0"), state="Ready", cluster_scoped=False
    )
    assert found["state"] == "Unmanaged"
    assert not found.keys() & {"manifest", "template", "resource"}


# conditions


def test_conditions_keep_the_time_of_their_last_change() -> None:
    first = kyma_conditions({KymaCondition.MODULES: None}, [], generation=1, stamp="t1")
    assert (first[0]["status"], first[0]["message"]) == ("Unknown", "modules state is unknown")
    same = kyma_conditions({KymaCondition.MODULES: None}, first, generation=2, stamp="t2")
    assert same[0]["lastTransitionTime"] == "t1"
    other = kyma_conditions({KymaCondition.MODULES: True}, first, generation=2, stamp="t2")
    assert (other[0]["status"], other[0]["lastTransitionTime"]) == ("True", "t2")
    assert (other[0]["reason"], other[0]["observedGeneration"]) == ("Ready", 2)


def test_what_the_crd_adds_to_a_status_is_no_change() -> None:
    module = {"name": "a", "state": "Ready"}
    stored = {"state": "Ready", "modules": [{**module, "maintenance": False}]}
    assert status_changes(stored, {"state": "Ready", "modules": [module]}) == {}
    assert status_changes({}, {"modules": []}) == {}
    waiting = [{**module, "maintenance": True}]
    assert status_changes(stored, {"state": "Ready", "modules": waiting}) == {"modules": waiting}
    assert status_changes({**stored, "modules": waiting}, {"modules": [module]}) == {"modules": [module]}
    assert status_changes(stored, {"state": "Ready", "modules": []}) == {"modules": []}
