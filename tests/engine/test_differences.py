"""Differences without secrets, holders of objects, and what roles grant."""

from __future__ import annotations

import pytest

from kymatui.domain.inventories import Origin, applyset_id
from kymatui.domain.ownership import Owner, OwnerKind, read_owner
from kymatui.engine.bundles.bundle import Bundle, ChartRelease
from kymatui.engine.inventory.ownership_marks import bundle_owner, with_ownership_marks
from kymatui.engine.plans.plan import diff_objects, list_grants, state_digest
from tests.engine import objects as make
from tests.engine.places import Json

RAW = Bundle("module", "n", Origin("raw", "module.yaml"))
CHART = Bundle("release", "n", Origin("helm", "chart"), release=ChartRelease({}, {}, ""))


def test_fields_are_told_with_their_values() -> None:
    before, after = make.config_map("a", "n", x="1", y="2"), make.config_map("a", "n", x="3", z="4")
    found = [(change.path, change.before, change.after) for change in diff_objects(before, after)]
    assert found == [("data.x", "1", "3"), ("data.y", "2", None), ("data.z", None, "4")]


def test_what_servers_count_is_no_change() -> None:
    before, after = make.config_map("a", "n"), make.config_map("a", "n")
    after["metadata"] |= {"resourceVersion": "9", "generation": 4, "uid": "u", "managedFields": [{}]}
    assert diff_objects(before, {**after, "status": {"x": 1}}) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"password": "aGVsbG8="}, {"password": "d29ybGQ="}),
        ({"password": "aGVsbG8="}, {}),
        ({}, {"password": "aGVsbG8="}),
        (None, {"password": "aGVsbG8="}),
    ],
)
def test_values_of_secrets_are_never_shown(before: Json | None, after: Json) -> None:
    old = None if before is None else {**make.secret("s", "n"), "data": before}
    found = diff_objects(old, {**make.secret("s", "n"), "data": after})
    assert found
    assert "aGVsbG8" not in repr(found)
    assert "d29ybGQ" not in repr(found)


def test_a_stamp_is_of_what_was_set_and_not_of_what_is_reported() -> None:
    before = {**make.deployment("d", "n"), "status": {"replicas": 1}}
    after = {**make.deployment("d", "n"), "status": {"replicas": 2}}
    after["metadata"]["resourceVersion"] = "7"
    assert state_digest(before) == state_digest(after)
    counted = {**before, "metadata": {**before["metadata"], "annotations": {"deployment.kubernetes.io/revision": "1"}}}
    assert state_digest(before) == state_digest(counted), "a controller's count came meanwhile"
    assert state_digest(before) != state_digest(make.deployment("d", "n", replicas=3))


def test_marks_are_read_back() -> None:
    for bundle in (RAW, CHART):
        assert read_owner(with_ownership_marks(make.config_map("a", "n"), bundle)) == bundle_owner(bundle)
    assert read_owner(make.config_map("a", "n")) is None


def test_a_set_has_the_id_that_kubectl_computes() -> None:
    # kubectl 1.32: sha256 of "my-parent.my-ns.Secret." in URL-safe base64
    assert applyset_id("my-parent", "my-ns", "Secret").startswith("applyset-")
    assert applyset_id("my-parent", "my-ns", "Secret").endswith("-v1")
    assert applyset_id("a", "b") != applyset_id("a", "b", "Secret")


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"operator.kyma-project.io/managed-by": "kyma"}},
        {"managedFields": [{"manager": "declarative.kyma-project.io/applier", "operation": "Apply"}]},
    ],
)
def test_what_lifecycle_manager_applies_is_its_own(metadata: Json) -> None:
    found = read_owner({"metadata": {"name": "a", **metadata}})
    assert found is not None
    assert found.kind is OwnerKind.LIFECYCLE_MANAGER


def test_helm_marks_name_the_release() -> None:
    assert bundle_owner(CHART) == Owner(OwnerKind.HELM, "n/release")


def test_grants_tell_who_may_do_what_where() -> None:
    role = make.cluster_role("manager", make.rule("secrets", "get"), make.rule("pods", "list"))
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "manager"},
        "roleRef": {"kind": "ClusterRole", "name": "manager"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "n", "name": "sa"}],
    }
    narrow = {**binding, "kind": "RoleBinding", "metadata": {"name": "edit", "namespace": "n"}}
    narrow["roleRef"] = {"kind": "ClusterRole", "name": "edit"}
    wide, local = list_grants([narrow, binding, role, make.deployment("d", "n")])
    assert (wide.role, wide.cluster_wide, wide.subjects) == ("ClusterRole manager", True, ("ServiceAccount n/sa",))
    assert wide.warnings == ("reads Secrets",)
    assert len(wide.rules) == 2
    assert (local.role, local.namespace, local.rules) == ("ClusterRole edit", "n", ())


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}], "everything in all groups"),
        (
            [make.rule("clusterroles.rbac.authorization.k8s.io", "bind", "escalate")],
            "the module can give itself more rights",
        ),
        ([{"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]}], "runs commands in pods"),
    ],
)
def test_what_is_far_reaching_is_said(rules: list[Json], words: str) -> None:
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "m"},
        "roleRef": {"kind": "ClusterRole", "name": "m"},
    }
    (grant,) = list_grants([make.cluster_role("m", *rules), binding])
    assert words in " ".join(grant.warnings)
