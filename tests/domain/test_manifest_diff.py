"""What differs between the manifests of two versions, section by section."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.versions.crd_diff import CrdLosses, crd_losses
from kymatui.domain.versions.manifest_diff import HIDDEN, DiffSection, manifest_sections
from kymatui.domain.versions.rights_diff import MOST_RIGHTS
from tests.domain.builders import Json

CRD = "CustomResourceDefinition/things.acme.org"
Shown = list[tuple[str, str, object, object]]


def shown(before: dict[str, Json], after: dict[str, Json], section: DiffSection) -> Shown:
    found = manifest_sections(before, after).get(section, ())
    return [(str(one.kind), one.path, one.before, one.after) for one in found]


def role(*rules: Json, name: str = "mod") -> dict[str, Json]:
    return {f"ClusterRole/{name}": {"kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)}}


def rule(verbs: str, resources: str, groups: str = "", **more: Any) -> Json:
    return {"apiGroups": groups.split(","), "resources": resources.split(), "verbs": verbs.split(), **more}


RIGHTS: list[Any] = [
    pytest.param([rule("get list", "pods")], [rule("list get", "pods")], [], id="another order"),
    pytest.param(
        [rule("get", "pods"), rule("list", "pods")], [rule("get list", "pods")], [], id="the same in fewer rules"
    ),
    pytest.param(
        [rule("get delete", "deployments", "apps")],
        [rule("get list watch", "deployments", "apps")],
        [
            ("added", "ClusterRole/mod deployments.apps", None, "list, watch"),
            ("removed", "ClusterRole/mod deployments.apps", "delete", None),
        ],
        id="grows and shrinks",
    ),
    pytest.param(
        [rule("get", "configmaps")],
        [rule("*", "configmaps")],
        [("added", "ClusterRole/mod configmaps", None, "*")],
        id="a wildcard grows",
    ),
    pytest.param(
        [rule("*", "configmaps")],
        [rule("get", "configmaps")],
        [("removed", "ClusterRole/mod configmaps", "*", None)],
        id="what a wildcard covers is not gained",
    ),
    pytest.param(
        [rule("get", "configmaps", resourceNames=["a"])],
        [rule("get", "configmaps")],
        [("added", "ClusterRole/mod configmaps", None, "get")],
        id="from one object to all",
    ),
    pytest.param(
        [rule("get", "configmaps")],
        [rule("get", "configmaps", resourceNames=["a"])],
        [("removed", "ClusterRole/mod configmaps", "get", None)],
        id="from all to one",
    ),
    pytest.param(
        [rule("get", "*/status", "a")],
        [rule("get", "x/status", "a"), rule("get", "*/status", "a")],
        [],
        id="subresources",
    ),
    pytest.param(
        [{"nonResourceURLs": ["/metrics/*"], "verbs": ["get"]}],
        [{"nonResourceURLs": ["/metrics/*", "/metrics/x", "/healthz"], "verbs": ["get"]}],
        [("added", "ClusterRole/mod /healthz", None, "get")],
        id="paths",
    ),
    pytest.param(
        [],
        [rule("get", "secrets")],
        [
            ("added", "ClusterRole/mod secrets", None, "get"),
            ("added", "ClusterRole/mod privilege", None, "reads Secrets"),
        ],
        id="a dangerous right",
    ),
]


@pytest.mark.parametrize(("before", "after", "found"), RIGHTS)
def test_rights_that_grow_and_shrink(before: list[Json], after: list[Json], found: Shown) -> None:
    assert shown(role(*before), role(*after), DiffSection.RBAC) == found
    turned = {"added": "removed", "removed": "added"}
    back = [(turned[kind], path, now, was) for kind, path, was, now in found]
    assert sorted(shown(role(*after), role(*before), DiffSection.RBAC), key=str) == sorted(back, key=str)


def test_a_new_role_lists_its_rights() -> None:
    paths = [(kind, path) for kind, path, _, _ in shown({}, role(rule("get", "secrets")), DiffSection.RBAC)]
    assert paths == [
        ("added", "ClusterRole/mod"),
        ("added", "ClusterRole/mod secrets"),
        ("added", "ClusterRole/mod privilege"),
    ]


def test_malformed_and_endless_rules_are_compared_as_fields() -> None:
    many = " ".join(f"r{number}" for number in range(MOST_RIGHTS // 2))
    old, new = role(rule("get", "pods")), role(rule("get list watch", many))
    assert next(path for _, path, _, _ in shown(old, new, DiffSection.RBAC)) == "ClusterRole/mod.rules[0].resources[0]"
    odd = {"ClusterRole/mod": {"kind": "ClusterRole", "rules": [None, "x", {"verbs": "get"}]}}
    assert shown(odd, odd, DiffSection.RBAC) == []
    assert shown(odd, role(), DiffSection.RBAC)  # the metadata


def crd(*versions: Json, scope: str = "Namespaced") -> dict[str, Json]:
    spec = {"group": "acme.org", "scope": scope, "names": {"kind": "Thing", "plural": "things"}}
    return {
        CRD: {
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.acme.org"},
            "spec": {**spec, "versions": list(versions)},
        }
    }


def version(
    name: str, *, served: bool = True, storage: bool = True, required: tuple[str, ...] = (), **fields: Json
) -> Json:
    spec = {"type": "object", "properties": fields, "required": list(required)}
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }


TEXT = {"type": "string"}


def test_fields_and_versions_of_a_crd() -> None:
    old = crd(
        version("v1alpha1", storage=False),
        version("v1beta1", size=TEXT, gone=TEXT, items={"type": "array", "items": {"properties": {"a": TEXT}}}),
    )
    new = crd(
        version(
            "v1beta1",
            storage=False,
            served=False,
            size={"type": "integer"},
            required=("size", "new"),
            new=TEXT,
            items={"type": "array", "items": {"properties": {}}},
        ),
        version("v1", size=TEXT),
        scope="Cluster",
    )
    assert shown(old, new, DiffSection.CRDS) == [
        ("changed", f"{CRD}.spec.scope", "Namespaced", "Cluster"),
        ("removed", f"{CRD} v1alpha1", {"served": True, "storage": False}, None),
        ("changed", f"{CRD} v1beta1.served", True, False),
        ("changed", f"{CRD} v1beta1.storage", True, False),
        ("changed", f"{CRD} v1beta1 spec.size required", False, True),
        ("changed", f"{CRD} v1beta1 spec.size type", "string", "integer"),
        ("removed", f"{CRD} v1beta1 spec.gone", "string", None),
        ("removed", f"{CRD} v1beta1 spec.items[].a", "string", None),
        ("added", f"{CRD} v1beta1 spec.new", None, "string, required"),
        ("added", f"{CRD} v1", None, {"served": True, "storage": True}),
    ]
    assert crd_losses(old[CRD], new[CRD]) == CrdLosses(
        "things.acme.org",
        "acme.org",
        "Thing",
        versions=("v1alpha1",),
        unserved=("v1beta1",),
        fields=(("v1beta1", ("spec", "gone")), ("v1beta1", ("spec", "items", "[]", "a"))),
    )
    assert crd_losses(old[CRD], None).is_gone
    assert not crd_losses(new[CRD], new[CRD])


def test_descriptions_are_counted_and_other_keywords_named() -> None:
    old, new = (
        crd(version("v1", a=TEXT, b=TEXT)),
        crd(version("v1", a={**TEXT, "description": "A"}, b={**TEXT, "enum": ["x"]})),
    )
    assert shown(old, new, DiffSection.CRDS) == [
        ("added", f"{CRD} v1 spec.b enum", None, ["x"]),
        ("changed", f"{CRD} v1 descriptions of fields", None, 1),
    ]


def test_a_schema_without_end_ends() -> None:
    def nested(leaf: Json) -> Json:
        for _ in range(300):
            leaf = {"type": "object", "properties": {"x": leaf}}
        return leaf

    found = shown(
        crd(version("v1", a=nested(TEXT))), crd(version("v1", a=nested({"type": "integer"}))), DiffSection.CRDS
    )
    assert [(kind, path.endswith(".x schema")) for kind, path, _, _ in found] == [("changed", True)]


def workload(image: str, kind: str = "Deployment", **container: Any) -> dict[str, Json]:
    pods = {"spec": {"containers": [{"name": "manager", "image": image, **container}]}}
    spec = {"jobTemplate": {"spec": {"template": pods}}} if kind == "CronJob" else {"template": pods}
    return {f"{kind}/kyma-system/mod": {"kind": kind, "spec": spec}}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "CronJob"])
def test_images_are_listed_once(kind: str) -> None:
    old, new = workload("a:1", kind), workload("a:2", kind, args=["-v"])
    assert shown(old, new, DiffSection.IMAGES) == [("changed", f"{kind}/kyma-system/mod manager", "a:1", "a:2")]
    workloads = shown(old, new, DiffSection.WORKLOADS)
    assert [(kind, path.rpartition(".")[2], after) for kind, path, _, after in workloads] == [("added", "args", ["-v"])]
    assert shown(old, {}, DiffSection.IMAGES) == [("removed", f"{kind}/kyma-system/mod manager", "a:1", None)]


def test_values_of_secrets_are_never_compared_aloud() -> None:
    old, new = ({"Secret/a/b": {"kind": "Secret", "data": {"token": value}}} for value in ("c2VjcmV0", "b3RoZXI="))
    assert shown(old, new, DiffSection.OBJECTS) == [("changed", "Secret/a/b.data.token", HIDDEN, HIDDEN)]
    assert shown({}, new, DiffSection.OBJECTS) == [("added", "Secret/a/b", None, HIDDEN)]


def test_equal_manifests_have_no_sections() -> None:
    manifest = {**role(rule("get", "pods")), **crd(version("v1", a=TEXT)), **workload("a:1")}
    assert manifest_sections(manifest, manifest) == {}
