"""What an audit finds in the objects that modules consist of, and in rights: each rule finds it, or does not."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.domain.audit.findings import AuditFinding, Inspection, InstallationRecord, InventoryOwner
from kymatui.domain.audit.report import audit
from kymatui.domain.kubernetes.managed_fields import field_writers, format_path, owned_value
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.privileges import find_privileges
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.rights import MissingPermission
from kymatui.domain.snapshot.snapshots import Snapshot
from tests.domain.builders import (
    NOW,
    Json,
    community_template,
    deployment,
    gvk,
    kyma,
    meta,
    resource,
    snapshot,
    stamp,
    template,
)

RECORD = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "kyma-system", "kymatui.mod")
LEAF: Json = {"f:spec": {"f:replicas": {}}}
IMAGE: Json = {
    "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"manager"}': {".": {}, "f:image": {}}}}}}
}


def wrote(manager: str, fields: Json, *, operation: str = "Update", ago: float = 3600, part: str = "") -> Json:
    entry = {"manager": manager, "operation": operation, "time": stamp(ago), "fieldsV1": fields, "subresource": part}
    return {key: value for key, value in entry.items() if value}


OURS = wrote("kymatui", {"f:spec": {**LEAF["f:spec"], **IMAGE["f:spec"]}}, operation="Apply")


def workload(*entries: Json, **metadata: Any) -> Json:
    found = deployment("mod", "1.3.1")
    found["spec"]["replicas"] = 3
    found["metadata"] |= {"managedFields": list(entries), **metadata}
    return found


def role(*rules: Json, kind: str = "ClusterRole") -> Json:
    meta = {"name": "mod-role", "managedFields": [OURS]}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta, "rules": list(rules)}


def binding(name: str) -> Json:
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    meta = {"name": "mod", "managedFields": [OURS]}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": meta,
        "roleRef": ref,
    }


def rule(verbs: str, resources: str, group: str = "", *names: str) -> Json:
    found: Json = {"verbs": verbs.split(), "resources": resources.split(), "apiGroups": [group]}
    return {**found, "resourceNames": list(names)} if names else found


def inspected(*objects: Json, gone: tuple[ObjectRef, ...] = (), **more: Any) -> Inspection:
    refs = (*map(read_ref, objects), *gone)
    account = InstallationRecord(
        "mod", more.pop("by", InventoryOwner.KYMATUI), RECORD, refs, more.pop("unfinished", False)
    )
    known: dict[ObjectRef, Any] = {**{read_ref(one): one for one in objects}, **dict.fromkeys(gone)}
    return Inspection((account,), known, **{"sets": frozenset({"s"}), "releases": frozenset(), **more})


def found(inspection: Inspection, seen: Snapshot | None = None) -> list[AuditFinding]:
    return list(audit(seen or snapshot(), NOW, inspection=inspection).findings)


def rules_of(inspection: Inspection, seen: Snapshot | None = None) -> set[str]:
    return {finding.rule.id for finding in found(inspection, seen)}


GONE = ObjectRef(GroupVersionKind("", "v1", "Service"), "kyma-system", "mod")
HELD = workload(OURS)


@pytest.mark.parametrize(
    ("inspection", "rule_id", "is_found"),
    [
        pytest.param(inspected(HELD), "drift.fields", False, id="only the installer wrote"),
        pytest.param(inspected(workload(OURS, wrote("kubectl-edit", LEAF))), "drift.fields", False, id="same value"),
        pytest.param(
            inspected(workload(wrote("kymatui", IMAGE, operation="Apply"), wrote("kubectl-scale", LEAF))),
            "drift.fields",
            True,
            id="another value",
        ),
        *(
            pytest.param(
                inspected(workload(wrote("kymatui", IMAGE, operation="Apply"), entry)),
                "drift.fields",
                is_found,
                id=name,
            )
            for name, entry, is_found in (
                ("the scale part", wrote("kubectl", LEAF, part="scale"), True),
                ("the status part", wrote("kubelet", {"f:status": {"f:x": {}}}, part="status"), False),
                ("a label", wrote("kubectl-label", {"f:metadata": {"f:labels": {"f:x": {}}}}), False),
                ("the cluster's controllers", wrote("kube-controller-manager", LEAF), False),
                ("whoever came before the first apply", wrote("before-first-apply", LEAF), False),
                ("the module's own manager", wrote(deployment("mod", "1")["metadata"]["name"], LEAF), False),
                ("a certificate for a webhook", wrote("ca-injector", {"f:spec": {"f:caBundle": {}}}), False),
            )
        ),
        pytest.param(inspected(HELD, gone=(GONE,)), "drift.missing", True, id="an object is gone"),
        pytest.param(inspected(HELD), "drift.missing", False, id="all objects are there"),
        pytest.param(inspected(HELD, gone=(GONE,), unfinished=True), "drift.missing", False, id="it is being deleted"),
        pytest.param(
            inspected(HELD, {**role(), "metadata": {"name": "r", "managedFields": [wrote("kubectl", LEAF)]}}),
            "drift.foreign",
            True,
            id="created by another",
        ),
        pytest.param(inspected(HELD, role()), "drift.foreign", False, id="created by the installer"),
        pytest.param(inspected(workload()), "drift.unseen", True, id="no managedFields at all"),
        pytest.param(inspected(HELD), "drift.unseen", False, id="managedFields are there"),
        pytest.param(
            Inspection((InstallationRecord("mod", InventoryOwner.HELM, RECORD, unread="in a Secret"),)),
            "drift.unseen",
            True,
            id="release",
        ),
        pytest.param(
            inspected(gone=(GONE,), by=InventoryOwner.KEEPER), "drift.unseen", True, id="objects of another cluster"
        ),
        pytest.param(
            inspected(gone=(GONE,), by=InventoryOwner.KEEPER),
            "drift.missing",
            False,
            id="another cluster's do not miss",
        ),
        pytest.param(inspected(HELD, role(rule("*", "*", "*"))), "rights.everything", True, id="everything"),
        pytest.param(inspected(HELD, binding("cluster-admin")), "rights.everything", True, id="cluster-admin"),
        pytest.param(inspected(HELD, binding("view")), "rights.everything", False, id="a harmless role"),
        pytest.param(
            inspected(HELD, role(rule("get list", "*", "*"))), "rights.everything", False, id="access is read-only"
        ),
        *(
            pytest.param(inspected(HELD, role(one)), "rights.escalation", is_found, id=name)
            for name, one, is_found in (
                ("escalate", rule("escalate", "clusterroles", "rbac.authorization.k8s.io"), True),
                ("bind", rule("bind", "roles", "rbac.authorization.k8s.io"), True),
                ("every verb on roles", rule("*", "roles", "rbac.authorization.k8s.io"), True),
                ("impersonate", rule("impersonate", "users"), True),
                ("tokens", rule("create", "serviceaccounts/token"), True),
                (
                    "webhooks",
                    rule("create patch", "mutatingwebhookconfigurations", "admissionregistration.k8s.io"),
                    True,
                ),
                (
                    "its own webhook",
                    rule("patch", "mutatingwebhookconfigurations", "admissionregistration.k8s.io", "mod"),
                    False,
                ),
                ("roles without escalate", rule("get create", "roles", "rbac.authorization.k8s.io"), False),
            )
        ),
        *(
            pytest.param(inspected(HELD, role(one)), "rights.broad", is_found, id=name)
            for name, one, is_found in (
                ("Secrets", rule("get", "secrets"), True),
                ("Secrets by a wildcard", rule("list", "*"), True),
                ("creating Secrets only", rule("create", "secrets"), False),
                ("secrets of another group", rule("get", "secrets", "vault.example"), False),
                ("exec", rule("create", "pods/exec"), True),
                ("pods", rule("create", "pods"), False),
            )
        ),
        pytest.param(inspected(HELD), "install.unfinished", False, id="came to its end"),
        pytest.param(
            inspected(HELD, lacking=(MissingPermission("patch", "kymas.x", "kyma-system", "enabling"),)),
            "access.lacking",
            True,
        ),
        pytest.param(inspected(HELD), "access.lacking", False, id="nothing is lacking"),
        pytest.param(
            Inspection(
                (
                    InstallationRecord("mod", InventoryOwner.KYMATUI, RECORD, (GONE,)),
                    InstallationRecord("mod", InventoryOwner.HELM, GONE, (GONE,)),
                )
            ),
            "module.two-accounts",
            True,
        ),
        pytest.param(inspected(HELD), "module.two-accounts", False, id="one account"),
        pytest.param(inspected(HELD), "image.tag", True, id="a module's workload"),
    ],
)
def test_each_rule_in_its_situation_and_beside_it(inspection: Inspection, rule_id: str, is_found: bool) -> None:
    assert (rule_id in rules_of(inspection)) is is_found


def test_objects_of_another_cluster_are_one_finding_however_many_modules_have_some() -> None:
    records = tuple(
        InstallationRecord(name, InventoryOwner.KEEPER, replace(RECORD, name=name), (GONE,)) for name in ("a", "b", "c")
    )
    (note,) = [one for one in found(Inspection(records, {GONE: None})) if one.rule.id == "drift.unseen"]
    assert note.message == "the objects of 3 modules are in another cluster (a, b, c); use --remote"
    assert (note.module, note.path, note.value) == ("", "modules", "3")


def test_on_a_control_plane_an_object_of_the_same_name_makes_no_module_run_here() -> None:
    """The namespace of a module, or a CRD, may be on both sides; what else the module has is on the other."""
    record = InstallationRecord("mod", InventoryOwner.KEEPER, RECORD, (GONE, read_ref(HELD)))
    seen = snapshot(kymas=[kyma(name="one", namespace="kcp-system")])
    assert {"drift.unseen"} == {
        one.rule.id
        for one in found(Inspection((record,), {GONE: None, read_ref(HELD): HELD}), seen)
        if one.rule.id.startswith("drift.")
    }


def test_a_changed_field_is_told_with_its_writer_its_value_and_the_time() -> None:
    changed = workload(wrote("kymatui", IMAGE, operation="Apply"), wrote("kubectl-scale", LEAF, ago=60))
    (one,) = [finding for finding in found(inspected(changed)) if finding.rule.id == "drift.fields"]
    assert "kubectl-scale set spec.replicas" in one.message
    assert (one.module, one.object, one.path, one.value, one.since) == (
        "mod",
        str(read_ref(changed)),
        "spec.replicas",
        "3",
        NOW - 60,
    )


def test_of_a_secret_that_changed_no_value_is_told() -> None:
    entries = [OURS, wrote("kubectl-edit", {"f:data": {"f:password": {}}})]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "managedFields": entries}}
    (one,) = found(inspected({**secret, "data": {"password": "aHVzaA=="}}))
    assert (one.path, one.value) == ("data.password", "")


def test_many_fields_of_one_writer_are_counted() -> None:
    fields: Json = {"f:data": {f"f:k{number}": {} for number in range(30)}}
    entries = [OURS, wrote("kubectl", fields)]
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "managedFields": entries}}
    told = [finding.message for finding in found(inspected(body))]
    assert len(told) == 11
    assert any(words.endswith("set 20 more fields") for words in told)


def running(**metadata: Any) -> Snapshot:
    made = workload(OURS, **metadata)
    data = {gvk("mod"): (resource("mod"),)}
    return snapshot(templates=[community_template("mod", "1.3.1")], workloads=[made], module_resources=data)


NOTHING = Inspection(sets=frozenset({"s"}), releases=frozenset({"apps/mod"}))
PART_OF = "applyset.kubernetes.io/part-of"
HELMS = {"meta.helm.sh/release-name": "mod", "meta.helm.sh/release-namespace": "apps"}


@pytest.mark.parametrize(
    ("inspection", "seen", "rule_id", "is_found"),
    [
        pytest.param(NOTHING, running(), "module.unrecorded", True, id="in no account"),
        pytest.param(inspected(HELD), running(), "module.unrecorded", False, id="in an account"),
        pytest.param(Inspection(), running(), "module.unrecorded", False, id="accounts cannot be read"),
        pytest.param(NOTHING, running(labels={PART_OF: "t"}), "object.orphan", True, id="of a set that is gone"),
        pytest.param(NOTHING, running(labels={PART_OF: "s"}), "object.orphan", False, id="of a set that is there"),
        pytest.param(NOTHING, running(annotations=HELMS), "object.orphan", False, id="of a release that is there"),
        pytest.param(
            NOTHING,
            running(annotations={**HELMS, "meta.helm.sh/release-namespace": "b"}),
            "object.orphan",
            True,
            id="of a release that is gone",
        ),
        pytest.param(Inspection(), running(annotations=HELMS), "object.orphan", False, id="releases cannot be read"),
    ],
)
def test_what_stands_in_no_account(inspection: Inspection, seen: Snapshot, rule_id: str, is_found: bool) -> None:
    assert (rule_id in rules_of(inspection, seen)) is is_found


def linked(*addresses: str) -> Json:
    made = community_template("mod", "1.0.0")
    made["spec"]["resources"] = [{"name": "rawManifest", "link": address} for address in addresses]
    return made


@pytest.mark.parametrize(
    ("raw", "rule_id", "is_found"),
    [
        (linked("http://example.org/m.yaml"), "template.link", True),
        (linked("ftp://example.org/m.yaml"), "template.link", True),
        (linked("http://[::1"), "template.link", True),
        (linked("https://example.org/m.yaml"), "template.link", False),
        (linked("oci://example.org/m"), "template.link", False),
        (linked("http://127.0.0.1:5000/m.yaml"), "template.link", False),
        (linked(), "template.no-source", True),
        (linked("https://example.org/m.yaml"), "template.no-source", False),
        (template("mod", "1.0.0"), "template.no-source", False),
    ],
)
def test_where_a_template_says_its_module_comes_from(raw: Json, rule_id: str, is_found: bool) -> None:
    assert (rule_id in rules_of(Inspection(), snapshot(templates=[raw]))) is is_found


def test_a_template_of_a_control_plane_is_installed_by_the_component_of_its_release_meta() -> None:
    """No label marks the templates there."""
    offered = template("mod", "1.0.0", namespace="kcp-system")
    del offered["metadata"]["labels"]
    control = {"kymas": [kyma(name="r1", namespace="kcp-system")], "templates": [offered]}
    released = snapshot(**control, release_metas=[meta("mod", {"regular": "1.0.0"}, namespace="kcp-system")])
    assert "template.no-source" not in rules_of(Inspection(), released)
    assert "template.no-source" in rules_of(Inspection(), snapshot(**control))


# fields and rights, one by one


@pytest.mark.parametrize(
    ("path", "words", "value"),
    [
        (("f:spec", "f:replicas"), "spec.replicas", 3),
        (("f:m", "f:a.b/c"), "m[a.b/c]", "x"),
        (("f:l", 'k:{"name":"a"}', "f:v"), "l[a].v", 1),
        (("f:l", 'k:{"name":"b"}'), "l[b]", None),
        (("f:s", 'v:"two"'), 's["two"]', "two"),
        (("f:s", "i:0"), "s[0]", "one"),
        (("f:s", "i:9"), "s[9]", None),
        (("f:s", "k:{broken"), "s[{broken]", None),
        (("f:spec", "f:replicas", "f:deeper"), "spec.replicas.deeper", None),
    ],
)
def test_a_path_of_managed_fields_in_words_and_what_stands_there(
    path: tuple[str, ...], words: str, value: object
) -> None:
    raw = {"spec": {"replicas": 3}, "m": {"a.b/c": "x"}, "l": [{"name": "a", "v": 1}], "s": ["one", "two"]}
    assert (format_path(path), owned_value(raw, path)) == (words, value)


@pytest.mark.parametrize("entries", [None, "x", [None, "x", {}], [{"fieldsV1": "x"}], [{"fieldsV1": {"f:a": 1}}]])
def test_managed_fields_that_are_none_take_nothing_down(entries: object) -> None:
    body = copy.deepcopy(HELD)
    body["metadata"]["managedFields"] = entries
    assert isinstance(field_writers(body), tuple)
    assert isinstance(found(inspected(body)), list)


@pytest.mark.parametrize("rules", [["x"], [{"verbs": "get"}], [{"verbs": [1], "resources": None}], [{}]])
def test_rules_that_are_none_allow_nothing(rules: list[object]) -> None:
    assert list(find_privileges("ClusterRole", "r", rules)) == []
