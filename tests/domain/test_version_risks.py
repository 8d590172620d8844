"""What cannot be undone and what an API server refuses, between two versions of a module."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.versions.version_risks import (
    IMMUTABLE_FIELDS,
    STATEFUL_SET_MUTABLE,
    VersionRisk,
    immutable_changes,
    manifest_risks,
)
from kymatui.domain.versions.version_risks import VersionRiskKind as Kind

Json = dict[str, Any]


def versions(*names: str, fields: tuple[str, ...] = (), unserved: str = "") -> list[Json]:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {name: {"type": "string"} for name in fields}}}
    return [
        {"name": name, "served": name != unserved, "storage": name == names[-1], "schema": schema} for name in names
    ]


def crd(*names: str, scope: str = "Namespaced", fields: tuple[str, ...] = (), unserved: str = "") -> Json:
    spec = {"group": "a.io", "scope": scope, "names": {"kind": "Box", "plural": "boxes"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.a.io"},
        "spec": {**spec, "versions": versions(*names, fields=fields, unserved=unserved)},
    }


def role(*rules: tuple[str, str, list[str]], kind: str = "ClusterRole") -> Json:
    listed = [{"apiGroups": [group], "resources": [one], "verbs": verbs} for group, one, verbs in rules]
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "a"}, "rules": listed}


def binding(*subjects: str, role_name: str = "a") -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"kind": "ClusterRole", "name": role_name},
        "subjects": [{"kind": "ServiceAccount", "namespace": "ns", "name": name} for name in subjects],
    }


def risks(before: Json | None, after: Json | None) -> list[tuple[Kind, str, str]]:
    key = "Kind/name"
    found = manifest_risks({key: before} if before else {}, {key: after} if after else {})
    return [(one.kind, one.object, one.what) for one in found]


CRD = "CustomResourceDefinition boxes.a.io"


def test_a_manifest_that_stays_has_no_risk() -> None:
    for body in (crd("v1", fields=("a",)), role(("", "pods", ["get"])), binding("x")):
        assert risks(body, body) == []


def test_a_crd_that_goes_and_versions_and_fields_of_it() -> None:
    assert risks(crd("v1"), None) == [(Kind.KIND_REMOVED, CRD, "")]
    assert risks(crd("v1alpha1", "v1"), crd("v1")) == [(Kind.VERSION_REMOVED, CRD, "v1alpha1")]
    assert risks(crd("v1alpha1", "v1"), crd("v1alpha1", "v1", unserved="v1alpha1")) == [
        (Kind.VERSION_UNSERVED, CRD, "v1alpha1")
    ]
    assert risks(crd("v1", fields=("a", "b")), crd("v1", fields=("b",))) == [(Kind.FIELD_REMOVED, CRD, "v1 a")]
    assert risks(crd("v1"), crd("v1", scope="Cluster")) == [(Kind.REFUSED, CRD, "spec.scope")]
    assert risks(crd("v1"), crd("v1", "v2")) == []


def test_rights_that_grow_are_named_and_rights_that_go_are_not() -> None:
    pods, secrets = ("", "pods", ["get"]), ("", "secrets", ["get", "list"])
    found = risks(role(pods), role(pods, secrets))
    assert (Kind.RIGHT_GAINED, "ClusterRole a", "secrets: get, list") in found
    assert {kind for kind, *_ in found} == {Kind.RIGHT_GAINED}
    assert risks(role(pods, secrets), role(pods)) == []
    assert (Kind.RIGHT_GAINED, "ClusterRole a", "pods: get") in risks(None, role(pods))
    assert risks(role(("*", "*", ["*"])), role(pods)) == []


def test_a_role_with_too_many_rights_to_compare_is_named_if_its_rules_change() -> None:
    many = [("", f"r{at}", ["get", "list", "watch"]) for at in range(7000)]
    assert risks(role(*many), role(*many)) == []
    assert risks(role(*many), role(*many, ("", "more", ["get"]))) == [(Kind.RIGHT_GAINED, "ClusterRole a", "rules")]


def test_subjects_that_get_a_role_are_rights_that_grow() -> None:
    assert risks(binding("x"), binding("x", "y")) == [
        (Kind.RIGHT_GAINED, "ClusterRoleBinding b", "ClusterRole a: ServiceAccount ns/y")
    ]
    assert risks(None, binding("x"))[0][2] == "ClusterRole a: ServiceAccount ns/x"
    assert risks(binding("x", "y"), binding("x")) == []
    assert {kind for kind, *_ in risks(binding("x"), binding("x", role_name="admin"))} == {
        Kind.REFUSED,
        Kind.RIGHT_GAINED,
    }


def body(group: str, kind: str, **fields: Any) -> Json:
    return {"apiVersion": f"{group}/v1" if group else "v1", "kind": kind, "metadata": {"name": "a"}, **fields}


def with_field(made: Json, path: str, value: object) -> Json:
    head, _, rest = path.partition(".")
    inner = made.get(head)
    return {**made, head: with_field(inner if isinstance(inner, dict) else {}, rest, value) if rest else value}


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in IMMUTABLE_FIELDS.items() for path in paths])
def test_each_immutable_field_is_refused_if_it_differs(kind: tuple[str, str], path: str) -> None:
    one, two = (with_field(body(*kind), path, value) for value in ("x", "y"))
    assert immutable_changes(one, two) == (path,)
    assert immutable_changes(one, one) == ()
    assert immutable_changes({**one, "apiVersion": "other.io/v1"}, {**two, "apiVersion": "other.io/v1"}) == ()


def test_defaults_of_the_server_are_no_change() -> None:
    assert immutable_changes(body("", "Secret"), body("", "Secret", type="Opaque")) == ()
    claim = body("", "PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"]})
    assert immutable_changes(claim, with_field(claim, "spec.volumeMode", "Filesystem")) == ()
    assert immutable_changes(body("", "Service", spec={"clusterIP": "None"}), body("", "Service", spec={})) == ()


def test_a_stateful_set_may_change_few_fields() -> None:
    before = body("apps", "StatefulSet", spec={"serviceName": "a", "replicas": 1, "template": {"x": 1}})
    assert "template" in STATEFUL_SET_MUTABLE
    assert immutable_changes(before, with_field(with_field(before, "spec.replicas", 3), "spec.template", {})) == ()
    assert immutable_changes(before, with_field(before, "spec.serviceName", "b")) == ("spec.serviceName",)
    assert immutable_changes(before, with_field(before, "spec.volumeClaimTemplates", [1])) == (
        "spec.volumeClaimTemplates",
    )


def test_immutable_config_maps_and_secrets_keep_their_data_and_no_value_is_named() -> None:
    for kind in ("ConfigMap", "Secret"):
        before = body("", kind, immutable=True, data={"a": "hunter2"})
        assert immutable_changes(before, {**before, "data": {"a": "b"}}) == ("data",)
        assert immutable_changes(before, {**before, "immutable": False}) == ("immutable",)
        assert immutable_changes({**before, "immutable": False}, before) == ()
    found = manifest_risks({"Secret/a": before}, {"Secret/a": {**before, "data": {"a": "b"}}})
    assert found == (VersionRisk(Kind.REFUSED, "Secret a", "data"),)


@pytest.mark.parametrize("broken", [{}, {"spec": 7}, {"spec": []}, {"rules": 3}, {"subjects": {}}, {"roleRef": []}])
def test_malformed_objects_raise_nothing(broken: Json) -> None:
    for made in (crd("v1"), role(("", "pods", ["get"])), binding("x"), body("apps", "StatefulSet", spec={"a": 1})):
        head = {key: made[key] for key in ("apiVersion", "kind", "metadata")}
        manifest_risks({"k": made}, {"k": {**head, **broken}})
        manifest_risks({"k": {**head, **broken}}, {"k": made})
