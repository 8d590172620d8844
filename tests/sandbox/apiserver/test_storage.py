from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.sandbox.apimachinery.object_store import ObjectStore, StoreChange, VersionTooOldError

CM = "configmaps"


def obj(name: str, namespace: str = "a", **data: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"u-{namespace}-{name}"}, **data}


def test_a_write_sets_the_version_and_a_read_is_a_fresh_copy() -> None:
    store = ObjectStore()
    stored = store.put(CM, obj("x", data={"k": "v"}))
    assert stored.body()["metadata"]["resourceVersion"] == str(store.version)
    stored.body()["data"]["k"] = "changed"
    found = store.get(CM, "a", "x")
    assert found is not None
    assert found.body()["data"] == {"k": "v"}


def test_kind_and_api_version_are_not_stored_but_put_in_front() -> None:
    store = ObjectStore()
    stored = store.put(CM, {"kind": "ConfigMap", "apiVersion": "v1", **obj("x")})
    assert "kind" not in stored.body()


def test_lists_are_in_the_order_of_etcd_keys() -> None:
    store = ObjectStore()
    for namespace, name in (("a", "x"), ("a-b", "x"), ("a", "b"), ("b", "a")):
        store.put(CM, obj(name, namespace))
    # "a-b/x" < "a/b", because "-" stands before "/"
    assert [s.key for s in store.walk(CM)] == [("a-b", "x"), ("a", "b"), ("a", "x"), ("b", "a")]
    assert [s.key for s in store.walk(CM, "a")] == [("a", "b"), ("a", "x")]
    assert store.count(CM, "a") == 2


def test_a_page_can_be_cut_from_an_earlier_state() -> None:
    store = ObjectStore()
    for name in "abc":
        store.put(CM, obj(name))
    then = store.version
    store.remove(CM, "a", "b")
    store.put(CM, obj("bb"))
    store.put(CM, obj("c", data={"new": "1"}))
    assert [s.name for s in store.select(CM, version=then)] == ["a", "b", "c"]
    assert [s.name for s in store.select(CM, after=("a", "a"), version=then)] == ["b", "c"]
    assert all("data" not in s.body() for s in store.select(CM, version=then))
    assert [s.name for s in store.select(CM)] == ["a", "bb", "c"]


def test_the_log_tells_what_happened_after_a_version_until_it_forgets() -> None:
    store = ObjectStore(log_length=3)
    start = store.version
    store.put(CM, obj("x"))
    store.put(CM, obj("x", data={}))
    store.remove(CM, "a", "x")
    assert [(c.kind, c.current.name) for c in store.changes_after(CM, start)] == [
        ("ADDED", "x"),
        ("MODIFIED", "x"),
        ("DELETED", "x"),
    ]
    store.put(CM, obj("y"))
    with pytest.raises(VersionTooOldError):
        store.changes_after(CM, start)
    with pytest.raises(VersionTooOldError):
        store.select(CM, version=start)


def test_forgetting_expires_every_earlier_version() -> None:
    store = ObjectStore()
    store.put(CM, obj("x"))
    before = store.version
    store.put(CM, obj("y"))
    store.forget(CM)
    with pytest.raises(VersionTooOldError):
        store.changes_after(CM, before)
    assert store.changes_after(CM, store.version) == []


def test_listeners_hear_of_their_resource_or_of_all_until_they_stop() -> None:
    store = ObjectStore()
    heard: list[str] = []

    def hear(change: StoreChange) -> None:
        heard.append(f"{change.resource}/{change.kind}")

    stop = store.listen(CM, hear)
    stop_all = store.listen("*", hear)
    store.put(CM, obj("x"))
    store.put("pods", obj("p"))
    stop()
    stop_all()
    store.remove(CM, "a", "x")
    assert heard == [f"{CM}/ADDED", f"{CM}/ADDED", "pods/ADDED"]


NAMES = st.sampled_from(["a", "b", "c", "a-b", "z.y"])
STEPS = st.lists(st.tuples(st.sampled_from(["put", "remove"]), NAMES, NAMES), max_size=40)


@given(STEPS, st.integers(0, 40))
def test_any_earlier_state_can_be_read_as_it_was(steps: list[tuple[str, str, str]], at: int) -> None:
    store = ObjectStore()
    model: dict[tuple[str, str], int] = {}
    snapshot: tuple[int, dict[tuple[str, str], int]] = (store.version, {})
    for number, (what, namespace, name) in enumerate(steps):
        if number == at:
            snapshot = (store.version, dict(model))
        if what == "put":
            store.put(CM, obj(name, namespace, number=number))
            model[namespace, name] = number
        elif (namespace, name) in model:
            store.remove(CM, namespace, name)
            del model[namespace, name]
    version, expected = snapshot
    if at < len(steps):
        assert {s.key: s.body()["number"] for s in store.select(CM, version=version)} == expected
    assert {s.key: s.body()["number"] for s in store.walk(CM)} == model
