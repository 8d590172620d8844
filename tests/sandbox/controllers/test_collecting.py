"""The garbage collector, and namespaces from their first object to their last."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.apimachinery.statuses import StatusError
from tests.sandbox.living import Living, Obj

MAPS = "configmaps"


def make(living: Living, name: str, *owners: Obj, namespace: str = "default", **metadata: Any) -> Obj:
    references = [_reference(owner) for owner in owners]
    about = {"name": name, "ownerReferences": references, **metadata} if references else {"name": name, **metadata}
    return living.create(MAPS, {"metadata": about}, namespace)


def _reference(owner: Obj, *, block: bool = True) -> Obj:
    about = owner["metadata"]
    return {
        "apiVersion": owner.get("apiVersion", "v1"),
        "kind": owner.get("kind", "ConfigMap"),
        "name": about["name"],
        "uid": about["uid"],
        "blockOwnerDeletion": block,
    }


def here(living: Living) -> list[str]:
    return [n for n in living.names(MAPS) if n != "kube-root-ca.crt"]


def family(living: Living) -> None:
    parent = make(living, "parent")
    child = make(living, "child", parent)
    make(living, "grandchild", child)


@pytest.mark.parametrize(
    ("policy", "left"), [("Background", []), ("Foreground", []), ("Orphan", ["child", "grandchild"])]
)
def test_what_becomes_of_dependents(living: Living, policy: str, left: list[str]) -> None:
    family(living)
    living.client.delete(MAPS, "parent", namespace="default", propagation=policy)
    living.advance(1)
    assert here(living) == left


def test_orphans_lose_the_reference(living: Living) -> None:
    family(living)
    living.client.delete(MAPS, "parent", namespace="default", propagation="Orphan")
    living.advance(1)
    assert "ownerReferences" not in living.get(MAPS, "child")["metadata"]


def test_in_the_foreground_the_owner_waits_for_dependents_that_block(living: Living) -> None:
    parent = make(living, "parent")
    make(living, "child", parent, finalizers=["example.com/hold"])
    living.client.delete(MAPS, "parent", namespace="default", propagation="Foreground")
    living.advance(1)
    assert here(living) == ["child", "parent"]
    assert living.get(MAPS, "parent")["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert living.get(MAPS, "child")["metadata"]["deletionTimestamp"]
    living.client.patch(MAPS, "child", {"metadata": {"finalizers": None}}, namespace="default")
    living.advance(1)
    assert here(living) == []


def test_in_the_foreground_a_dependent_that_does_not_block_is_not_waited_for(living: Living) -> None:
    parent = make(living, "parent")
    about = {"name": "child", "finalizers": ["example.com/hold"], "ownerReferences": [_reference(parent, block=False)]}
    living.create(MAPS, {"metadata": about})
    living.client.delete(MAPS, "parent", namespace="default", propagation="Foreground")
    living.advance(1)
    assert here(living) == ["child"]


def test_one_owner_is_enough_to_stay_and_the_lost_one_is_forgotten(living: Living) -> None:
    one, two = make(living, "one"), make(living, "two")
    make(living, "child", one, two)
    living.client.delete(MAPS, "one", namespace="default", propagation="Background")
    living.advance(1)
    assert here(living) == ["child", "two"]
    [reference] = living.get(MAPS, "child")["metadata"]["ownerReferences"]
    assert reference["name"] == "two"


def test_an_owner_that_never_was_is_an_absent_owner(living: Living) -> None:
    ghost = {"metadata": {"name": "ghost", "uid": "11111111-1111-1111-1111-111111111111"}}
    make(living, "child", ghost)
    living.advance(1)
    assert here(living) == []


def test_an_owner_of_the_same_name_but_another_uid_is_absent(living: Living) -> None:
    make(living, "owner")
    make(living, "child", {"metadata": {"name": "owner", "uid": "11111111-1111-1111-1111-111111111111"}})
    living.advance(1)
    assert here(living) == ["owner"]


def test_an_owner_in_another_namespace_is_absent(living: Living) -> None:
    living.create("namespaces", {"metadata": {"name": "other"}}, "")
    owner = make(living, "owner", namespace="other")
    make(living, "child", owner)
    living.advance(1)
    assert here(living) == []


def test_a_cluster_scoped_object_with_a_namespaced_owner_stays_and_an_event_says_so(living: Living) -> None:
    owner = make(living, "owner")
    role = {"metadata": {"name": "r", "ownerReferences": [_reference(owner)]}, "rules": []}
    living.create("clusterroles.rbac.authorization.k8s.io", role, "")
    living.advance(1)
    assert living.client.find("clusterroles.rbac.authorization.k8s.io", "r") is not None


def test_two_that_own_each_other_go_when_one_is_deleted(living: Living) -> None:
    one = make(living, "one")
    two = make(living, "two", one)
    patch = {"metadata": {"ownerReferences": [_reference(two)]}}
    living.client.patch(MAPS, "one", patch, namespace="default")
    living.client.delete(MAPS, "one", namespace="default", propagation="Foreground")
    living.advance(2)
    assert here(living) == []


# -- namespaces


def test_a_namespace_has_its_account_and_the_authority_and_gets_them_back(living: Living) -> None:
    living.create("namespaces", {"metadata": {"name": "shop"}}, "")
    living.advance(0.2)
    assert living.names("serviceaccounts", "shop") == ["default"]
    assert living.get(MAPS, "kube-root-ca.crt", "shop")["data"] == {"ca.crt": "a certificate"}
    living.client.delete("serviceaccounts", "default", namespace="shop")
    living.client.delete(MAPS, "kube-root-ca.crt", namespace="shop")
    living.advance(0.5)
    assert living.names("serviceaccounts", "shop") == ["default"]
    assert living.names(MAPS, "shop") == ["kube-root-ca.crt"]


def test_a_deleted_namespace_goes_with_all_it_has(living: Living) -> None:
    living.create("namespaces", {"metadata": {"name": "shop"}}, "")
    make(living, "a", namespace="shop")
    living.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}, "shop")
    living.advance(2)
    living.client.delete("namespaces", "shop")
    assert living.status("namespaces", "shop", "")["phase"] == "Terminating"
    with pytest.raises(StatusError, match="because it is being terminated"):
        make(living, "late", namespace="shop")
    living.advance(3)
    assert living.client.find("namespaces", "shop") is None
    assert living.names(MAPS, "shop") == []


def test_a_namespace_that_cannot_go_says_what_remains_and_why(living: Living) -> None:
    living.create("namespaces", {"metadata": {"name": "shop"}}, "")
    make(living, "held", namespace="shop", finalizers=["example.com/hold"])
    living.advance(1)
    living.client.delete("namespaces", "shop")
    living.advance(2)
    conditions = {c["type"]: c for c in living.status("namespaces", "shop", "")["conditions"]}
    told = {k: (c["status"], c["reason"], c["message"]) for k, c in conditions.items()}
    assert told == {
        "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
        ),
    }
    living.client.patch(MAPS, "held", {"metadata": {"finalizers": None}}, namespace="shop")
    living.advance(1)
    assert living.client.find("namespaces", "shop") is None


def test_roles_are_aggregated(living: Living) -> None:
    roles = "clusterroles.rbac.authorization.k8s.io"
    rule = {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}]}
    living.create(roles, {"metadata": {"name": "all"}, "aggregationRule": rule, "rules": []}, "")
    part = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    living.create(roles, {"metadata": {"name": "part", "labels": {"to": "all"}}, "rules": [part]}, "")
    living.advance(0.5)
    assert living.get(roles, "all", "")["rules"] == [part]
    living.client.delete(roles, "part")
    living.advance(0.5)
    assert not living.get(roles, "all", "").get("rules")
