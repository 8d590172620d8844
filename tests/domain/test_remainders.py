"""What is left of a module, who waits for what, and what taking an entry out of the Kyma does."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.manifests import Manifest, default_resource, read_manifest
from kymatui.domain.plans.managed_resources import associated_kinds, blocking_resources, managed_resources
from tests.domain.builders import SAMPLE, Json, a_template, default_data, labels, manifest, resource, stamp, template

RULE_OLD = GroupVersionKind("gateway.kyma-project.io", "v1beta1", "APIRule")
RULE_NEW = GroupVersionKind("gateway.kyma-project.io", "v2", "APIRule")
SECRET = GroupVersionKind("", "v1", "Secret")


def rule(name: str, namespace: str, uid: str) -> Json:
    metadata = {"name": name, "namespace": namespace, "uid": uid}
    return {"apiVersion": RULE_NEW.api_version, "kind": "APIRule", "metadata": metadata}


def test_48_an_object_counts_once_in_however_many_versions_it_is_served() -> None:
    rules = [rule("a", "one", "u1"), rule("b", "two", "u2")]
    (found,) = managed_resources([RULE_OLD, RULE_NEW], {RULE_OLD: rules, RULE_NEW: rules})
    assert found.objects is not None
    assert [str(item.ref) for item in found.objects] == ["APIRule one/a", "APIRule two/b"]
    assert not found.clear


def test_49_a_kind_that_is_not_served_has_no_objects() -> None:
    (found,) = managed_resources([RULE_NEW], {})
    assert found.clear


def test_49_a_kind_that_may_not_be_listed_is_unknown_and_not_clear() -> None:
    (found,) = managed_resources([RULE_NEW], {RULE_NEW: None})
    assert found.objects is None
    assert not found.clear


def test_50_a_deletion_waits_for_its_finalizers() -> None:
    held = resource("mod", "Ready", deletionTimestamp=stamp(5), finalizers=["mod/f"])
    (found,) = managed_resources(
        [GroupVersionKind(SAMPLE.group, "v1alpha1", "Mod")], {GroupVersionKind(SAMPLE.group, "v1alpha1", "Mod"): [held]}
    )
    assert found.objects is not None
    assert (found.objects[0].deleting, found.objects[0].waits_for) == (True, ("mod/f",))


def test_52_the_core_group_is_a_group_like_any_other() -> None:
    raw = template("mod", "1.0.0", associatedResources=[{"group": "", "version": "v1", "kind": "Secret"}])
    kinds = associated_kinds(a_template(raw))
    assert SECRET in kinds
    assert SECRET.api_version == "v1"


def test_63_the_kyma_itself_is_never_a_module_resource() -> None:
    data = {"apiVersion": "operator.kyma-project.io/v1beta2", "kind": "Kyma", "metadata": {"name": "default"}}
    assert associated_kinds(a_template(template("busola", "1.0.32", data=data))) == ()


DEFAULT = default_resource(default_data("mod"), "m")


@pytest.mark.parametrize(
    ("policy", "blocking"),
    [("CreateAndDelete", ["other"]), ("Ignore", ["default", "other"])],
)
def test_51_lifecycle_manager_deletes_only_the_default_resource(policy: str, blocking: list[str]) -> None:
    resources = [resource("mod"), resource("mod", name="other", namespace="shop")]
    assert [ref.name for ref in blocking_resources(resources, DEFAULT, policy)] == blocking


@pytest.mark.parametrize(("value", "skipped"), [("true", True), ("True", False), ("yes", False)])
def test_55_a_manifest_is_skipped_only_by_the_exact_word(value: str, skipped: bool) -> None:
    found = read_manifest(manifest("mod", "1.0.0", labels=labels(skip_reconciliation=value)))
    assert isinstance(found, Manifest)
    assert found.skipped is skipped
