"""What is written in a cluster of what is installed, and read again on another machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.inventories import (
    Inventory,
    InventoryItem,
    InventoryState,
    Origin,
    merge_items,
    read_document,
    write_document,
)
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.ownership import Owner, OwnerKind
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.inventory.inventory_store import ApplySetStore
from kymatui.engine.inventory.managed_resources import keep_reason
from kymatui.engine.plans.plan import Action
from kymatui.errors import ConfigurationError
from tests.engine import objects as make
from tests.engine.installing import bundle, install, plan
from tests.engine.places import Place

WORDS = st.text(st.characters(codec="utf-8"), max_size=20)
KINDS = st.builds(GroupVersionKind, WORDS, WORDS, WORDS)
REFS = st.builds(ObjectRef, KINDS, WORDS, WORDS)
ITEMS = st.lists(st.builds(InventoryItem, REFS, st.booleans(), st.booleans()), max_size=5)


@given(
    st.builds(
        Inventory,
        WORDS,
        WORDS,
        st.builds(Origin, WORDS, WORDS, WORDS, WORDS),
        state=st.sampled_from(InventoryState),
        items=ITEMS.map(tuple),
        resource=st.none() | REFS,
        associated=st.lists(KINDS, max_size=3).map(tuple),
        done=st.lists(WORDS, max_size=3).map(tuple),
    )
)
def test_what_is_written_is_read_again(inventory: Inventory) -> None:
    assert read_document(write_document(inventory), "there") == inventory


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there has no readable inventory"),
        ("{}", "of another version"),
        ('{"schema": "kymatui.io/inventory/v1"}', "there has no readable inventory"),
        ('{"schema": "kymatui.io/inventory/v9"}', "of another version of kymatui"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read_document(text, "there")


def ref(name: str, version: str = "v1") -> ObjectRef:
    return ObjectRef(GroupVersionKind("example.org", version, "Thing"), "n", name)


def test_old_and_new_stand_together_each_once() -> None:
    old = [InventoryItem(ref("a"), adopted=True), InventoryItem(ref("gone"))]
    new = [InventoryItem(ref("a", "v2")), InventoryItem(ref("b"))]
    assert merge_items(old, new) == (
        InventoryItem(ref("a", "v2"), adopted=True),
        InventoryItem(ref("b")),
        InventoryItem(ref("gone")),
    )


def test_the_parent_of_a_set_tells_what_its_members_are(place: Place) -> None:
    install(place, bundle(place, make.config_map("a"), make.cluster_role(f"{place.name}-r")))
    parent = place.get("v1", "ConfigMap", "kymatui.module")
    member = place.get("v1", "ConfigMap", "a")
    assert parent is not None
    assert member is not None
    found = parent["metadata"]
    assert found["annotations"]["applyset.kubernetes.io/tooling"] == "kymatui/v1"
    kinds = found["annotations"]["applyset.kubernetes.io/contains-group-kinds"]
    assert kinds == "ClusterRole.rbac.authorization.k8s.io,ConfigMap"
    identity = found["labels"]["applyset.kubernetes.io/id"]
    assert member["metadata"]["labels"]["applyset.kubernetes.io/part-of"] == identity


def test_another_machine_reads_what_is_installed(place: Place) -> None:
    install(place, bundle(place, make.config_map("a"), version="1.2.3"))
    found = ApplySetStore(place.connect(), "module", place.namespace).read()
    assert found is not None
    assert (found.version, found.origin.address, found.state) == ("1.2.3", "module.yaml", InventoryState.INSTALLED)
    assert (found.finished, found.first, found.made_namespace) == (True, False, True)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({"applyset.kubernetes.io/part-of": "applyset-other-v1"}, "owned by the set applyset-other-v1 now"),
        ({"applyset.kubernetes.io/part-of": None}, "its ownership labels were removed"),
    ],
)
def test_what_is_anothers_now_is_not_pruned(place: Place, labels: dict[str, str | None], reason: str) -> None:
    install(place, bundle(place, make.config_map("a"), make.config_map("old")))
    old = read_ref(make.config_map("old", place.namespace))
    place.raw.patch(old, {"metadata": {"labels": labels}}, PatchKind.MERGE, manager="somebody")
    planned = plan(place, bundle(place, make.config_map("a")))
    (step,) = planned.of(Action.KEEP)
    assert reason in step.reason
    install(place, bundle(place, make.config_map("a")))
    assert place.raw.get(old) is not None


@pytest.mark.parametrize(
    ("kind", "may_go"),
    [
        (GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), True),
        (GroupVersionKind("", "v1", "Secret"), False),
        (GroupVersionKind("", "v1", "Namespace"), False),
    ],
)
def test_only_a_crd_goes_without_an_owner_whatever_an_inventory_calls_it(
    kind: GroupVersionKind, *, may_go: bool
) -> None:
    item = InventoryItem(ObjectRef(kind, "", "x"), definition=True)
    live = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}}
    assert (keep_reason(item, live, Owner(OwnerKind.APPLYSET, "mine")) == "") is may_go
