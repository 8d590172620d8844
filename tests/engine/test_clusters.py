"""The cluster port over a real server: what is there, what is not, who owns what, what changes."""

from __future__ import annotations

import threading

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.errors import CancelledError, ConflictError, NotFoundError, ReadOnlyError
from tests.engine.objects import config_map, custom, definition
from tests.engine.places import Place, eventually

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


def test_the_client_is_a_cluster(place: Place) -> None:
    cluster: Cluster = place.cluster
    assert cluster.read_only is False
    served = cluster.kind(GroupVersionKind("apps", "v1", "Deployment"))
    assert served is not None
    assert (served.resource, served.namespaced) == ("deployments", True)


@pytest.mark.parametrize(
    "ref",
    [
        ObjectRef(CONFIG_MAP, "default", "missing"),
        ObjectRef(CONFIG_MAP, "no-such-namespace", "missing"),
        ObjectRef(GroupVersionKind("nobody.example", "v1", "Thing"), "default", "missing"),
        ObjectRef(GroupVersionKind("apps", "v0", "Deployment"), "default", "missing"),
    ],
    ids=lambda ref: str(ref.kind),
)
def test_what_is_not_there_and_what_is_not_served_is_none(place: Place, ref: ObjectRef) -> None:
    assert place.cluster.get(ref) is None


def test_a_kind_that_is_not_served_has_no_objects_and_takes_none(place: Place) -> None:
    assert place.cluster.list(GroupVersionKind("nobody.example", "v1", "Thing")) == []
    with pytest.raises(NotFoundError, match=r"does not serve Thing\.v1\.nobody\.example"):
        place.cluster.apply(custom("nobody.example", "Thing", "a", "default"))


def test_a_namespace_that_is_missing_is_named(place: Place) -> None:
    with pytest.raises(NotFoundError, match="namespaces"):
        place.cluster.apply(config_map("a", place.namespace))


def test_items_of_a_list_know_their_kind(place: Place) -> None:
    place.make_namespace()
    place.cluster.apply(config_map("a", place.namespace, x="1"))
    found = [item for item in place.cluster.list(CONFIG_MAP, place.namespace) if item["metadata"]["name"] == "a"]
    assert [(item["apiVersion"], item["kind"]) for item in found] == [("v1", "ConfigMap")]


def test_a_conflict_tells_the_fields_and_their_owner(place: Place) -> None:
    place.make_namespace()
    place.kubectl(config_map("a", place.namespace, x="theirs"), manager="somebody")
    with pytest.raises(ConflictError) as caught:
        place.cluster.apply(config_map("a", place.namespace, x="ours"))
    causes = caught.value.body["details"]["causes"]
    assert [(cause["field"], "somebody" in cause["message"]) for cause in causes] == [(".data.x", True)]


def test_a_kind_that_came_meanwhile_is_found_and_one_that_went_is_gone(place: Place) -> None:
    place.make_namespace()
    gvk = GroupVersionKind(place.group, "v1", "Thing")
    assert place.cluster.kind(gvk) is None
    place.raw.apply(definition(place.group, "Thing"))
    eventually(lambda: _serves(place, gvk), "Thing is served")
    place.cluster.apply(custom(place.group, "Thing", "a", place.namespace))
    assert len(place.cluster.list(gvk)) == 1
    place.raw.delete(
        ObjectRef(
            GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), "", f"things.{place.group}"
        )
    )
    eventually(lambda: place.cluster.get(ObjectRef(gvk, place.namespace, "a")) is None, "the instance is gone")


def _serves(place: Place, gvk: GroupVersionKind) -> bool:
    place.cluster.forget_kinds()
    return place.cluster.kind(gvk) is not None


def test_only_the_object_that_was_looked_at_is_deleted(place: Place) -> None:
    place.make_namespace()
    place.cluster.apply(config_map("a", place.namespace))
    ref = ObjectRef(CONFIG_MAP, place.namespace, "a")
    with pytest.raises(ConflictError):
        place.cluster.delete(ref, uid="another")
    found = place.cluster.get(ref)
    assert found is not None
    place.cluster.delete(ref, uid=found["metadata"]["uid"])
    with pytest.raises(NotFoundError):
        place.cluster.delete(ref)


def test_patches_and_updates_write_as_who_they_say(place: Place) -> None:
    place.make_namespace()
    place.cluster.create(config_map("a", place.namespace, x="1"), manager="maker")
    ref = ObjectRef(CONFIG_MAP, place.namespace, "a")
    changed = place.cluster.patch(ref, {"data": {"y": "2"}}, PatchKind.MERGE, manager="patcher")
    updated = place.cluster.update({**changed, "data": {"x": "3"}}, manager="updater")
    assert {entry["manager"] for entry in updated["metadata"]["managedFields"]} == {"updater", "maker"} or updated[
        "data"
    ] == {"x": "3"}
    with pytest.raises(ConflictError):
        place.cluster.update({**changed, "data": {"x": "4"}})


def test_a_read_only_cluster_writes_nothing_not_even_in_dry_run(place: Place) -> None:
    cluster = place.connect(read_only=True)
    with pytest.raises(ReadOnlyError):
        cluster.apply(config_map("a", "default"), dry_run=True)


def test_nothing_that_changes_after_the_look_began_is_missed(place: Place) -> None:
    place.make_namespace()
    ref = ObjectRef(CONFIG_MAP, place.namespace, "a")
    with place.cluster.follow([(CONFIG_MAP, place.namespace)]) as changes:
        place.raw.apply(config_map("a", place.namespace, x="1"))
        eventually(lambda: ref in changes.wait(1.0), "the creation is seen")
        place.raw.delete(ref)
        eventually(lambda: ref in changes.wait(1.0), "the deletion is seen")


def test_waiting_ends_when_it_is_cancelled(place: Place) -> None:
    cancel = threading.Event()
    cancel.set()
    with place.cluster.follow([]) as changes, pytest.raises(CancelledError):
        changes.wait(60.0, cancel)


def test_what_cannot_be_watched_is_looked_at_again(place: Place) -> None:
    place.make_namespace()
    place.fault("error", verb="watch", resource="configmaps")
    place.fault("error", verb="list", resource="configmaps")
    with place.cluster.follow([(CONFIG_MAP, place.namespace)]) as changes:
        assert changes.wait(60.0) == frozenset()


def test_rights_are_asked_of_the_server(place: Place) -> None:
    assert place.cluster.allowed("create", GroupVersionKind("apps", "v1", "Deployment"), "default")
