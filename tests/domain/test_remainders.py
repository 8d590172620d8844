"""What is left of a module, who waits for what, and what taking an entry out of the Kyma does."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.managed_fields import applied_entry, content_writers, created_by, manager_name
from kymatui.domain.kubernetes.object_meta import field_managers
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.module_templates import associated_kinds
from tests.domain.builders import a_template, labels, manifest, template

RULE_OLD = GroupVersionKind("gateway.kyma-project.io", "v1beta1", "APIRule")
RULE_NEW = GroupVersionKind("gateway.kyma-project.io", "v2", "APIRule")
SECRET = GroupVersionKind("", "v1", "Secret")


def test_52_the_core_group_is_a_group_like_any_other() -> None:
    raw = template("mod", "1.0.0", associatedResources=[{"group": "", "version": "v1", "kind": "Secret"}])
    kinds = associated_kinds(a_template(raw))
    assert SECRET in kinds
    assert SECRET.api_version == "v1"


def test_63_the_kyma_itself_is_never_a_module_resource() -> None:
    data = {"apiVersion": "operator.kyma-project.io/v1beta2", "kind": "Kyma", "metadata": {"name": "default"}}
    assert associated_kinds(a_template(template("busola", "1.0.32", data=data))) == ()


@pytest.mark.parametrize(("value", "skipped"), [("true", True), ("True", False), ("yes", False)])
def test_55_a_manifest_is_skipped_only_by_the_exact_word(value: str, skipped: bool) -> None:
    found = read_manifest(manifest("mod", "1.0.0", labels=labels(skip_reconciliation=value)))
    assert isinstance(found, Manifest)
    assert found.skipped is skipped


def test_who_sets_status_or_finalizers_only_has_not_created_the_object() -> None:
    def entry(manager: str, second: int, fields: str, subresource: str = "") -> dict[str, object]:
        time = f"2026-01-01T00:00:0{second}Z"
        where = {"subresource": subresource} if subresource else {}
        return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": {fields: {"f:a": {}}}, **where}

    status, finalizers = entry("controller", 1, "f:status", "status"), entry("controller", 1, "f:metadata")
    later, first = entry("controller", 3, "f:spec"), entry("kubectl-create", 2, "f:spec")
    assert created_by({"metadata": {"managedFields": [status, finalizers, later, first]}}) == "kubectl-create"
    assert created_by({"metadata": {"managedFields": [status, finalizers]}}) == "controller"
    assert created_by({"metadata": {"managedFields": [status]}}) == ""
    bare = [
        {"manager": name, "time": "2026-01-01T00:00:01Z", **more}
        for name, more in (("controller", {}), ("controller", {"subresource": "status"}), ("kubectl-create", {}))
    ]
    assert created_by({"metadata": {"managedFields": bare}}) == "kubectl-create"
    old = {**finalizers, "fieldsV1": {"f:status": {"f:b": {}}, "f:metadata": {"f:c": {}}}}
    assert created_by({"metadata": {"managedFields": [old, first]}}) == "kubectl-create"
    assert manager_name("resource.kyma-project.io/finalizer") == "lifecycle-manager"
    assert manager_name("kubectl-create") == "kubectl-create"


def test_who_owns_the_content_is_no_writer_of_status_and_no_component_of_kubernetes() -> None:
    fields: dict[str, object] = {"f:spec": {"f:x": {}}}
    names = ("kubectl-client-side-apply", "kube-apiserver", "kube-controller-manager", "before-first-apply", "")
    entries = [{"manager": name, "operation": "Update", "fieldsV1": fields} for name in names]
    status = {"manager": "operator", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}}
    scale = {"manager": "autoscaler", "operation": "Update", "subresource": "scale", "fieldsV1": fields}
    raw = {"metadata": {"managedFields": [*entries, status, scale]}}
    assert content_writers(raw) == {"kubectl-client-side-apply", "autoscaler"}
    assert content_writers({}) == frozenset()


def test_field_managers_are_read_in_order_and_never_from_anything_else() -> None:
    applied = {"manager": "b", "operation": "Apply", "fieldsV1": {"f:spec": {}}}
    entries = [{"manager": "b", "operation": "Apply", "subresource": "status"}, {"manager": "a"}, 7, applied]
    raw = {"metadata": {"managedFields": entries}}
    assert list(field_managers(raw)) == ["b", "a"]
    assert applied_entry(raw, "b") is applied
    assert applied_entry(raw, "a") is None
    for broken in ({}, {"metadata": None}, {"metadata": {"managedFields": None}}):
        assert (list(field_managers(broken)), applied_entry(broken, "b")) == ([], None)
