"""JSON patch, merge patch and strategic merge patch."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.patching.json_patch import PatchFailedError, apply_json_patch, apply_merge_patch
from kymatui.sandbox.patching.strategic_merge_patch import apply_strategic_patch
from kymatui.schemas.types.builtin_schemas import builtin_schema

Obj = dict[str, Any]
POD = ("", "v1", "Pod")


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/a/-", "value": 3}, {"a": [1, 2, 3]}),
        ({"op": "add", "path": "/a/0", "value": 0}, {"a": [0, 1, 2]}),
        ({"op": "add", "path": "/a/-1", "value": 9}, {"a": [1, 2, 9]}),
        ({"op": "add", "path": "/b~1c", "value": 1}, {"a": [1, 2], "b/c": 1}),
        ({"op": "remove", "path": "/a/1"}, {"a": [1]}),
        ({"op": "replace", "path": "/a", "value": {}}, {"a": {}}),
        ({"op": "replace", "path": "/new", "value": 1}, {"a": [1, 2], "new": 1}),
        ({"op": "move", "from": "/a", "path": "/b"}, {"b": [1, 2]}),
        ({"op": "copy", "from": "/a/0", "path": "/b"}, {"a": [1, 2], "b": 1}),
        ({"op": "test", "path": "/a", "value": [1, 2]}, {"a": [1, 2]}),
        ({"op": "test", "path": "/none", "value": None}, {"a": [1, 2]}),
        ({"op": "replace", "path": "", "value": {"x": 1}}, {"x": 1}),
    ],
)
def test_json_patch(operation: Obj, result: Obj) -> None:
    assert apply_json_patch({"a": [1, 2]}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/none"},
        {"op": "add", "path": "/none/x", "value": 1},
        {"op": "add", "path": "/a/9", "value": 1},
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "test", "path": "/a/0", "value": True},
        {"op": "move", "from": "/none", "path": "/b"},
        {"op": "spin", "path": "/a"},
        {"op": "add"},
    ],
)
def test_a_json_patch_that_does_not_apply(operation: Obj) -> None:
    document = {"a": [1, 2]}
    with pytest.raises(PatchFailedError) as caught:
        apply_json_patch(document, [operation])
    assert caught.value.status == 422
    assert document == {"a": [1, 2]}


def test_a_patch_that_nests_too_deeply_is_refused() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(PatchFailedError, match="nests too deeply"):
        apply_json_patch({}, [{"op": "add", "path": "/a", "value": deep}])


def test_copies_that_double_the_object_are_refused() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 40
    with pytest.raises(PatchFailedError, match="the accumulated size increase of copy is"):
        apply_json_patch({"a": ["x" * 100]}, doubling)


def test_merge_patch() -> None:
    assert apply_merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": {"e": None}}}) == {"a": {"c": 2, "d": {}}}


def pod(*containers: Obj, **spec: Any) -> Obj:
    return {"spec": {"containers": list(containers), **spec}}


A, B = {"name": "a", "image": "1"}, {"name": "b", "image": "1"}


@pytest.mark.parametrize(
    ("live", "patch", "result"),
    [
        (pod(A, B), pod({"name": "b", "image": "2"}), pod(A, {"name": "b", "image": "2"})),
        (pod(A), pod(B), pod(B, A)),
        (pod(A, B), pod({"name": "a", "$patch": "delete"}), pod(B)),
        (pod(A, B), pod({"$patch": "replace"}, {"name": "c"}), pod({"name": "c"})),
        (pod(A), {"spec": {"$patch": "replace", "nodeName": "n"}}, {"spec": {"nodeName": "n"}}),
        (pod(A, B), {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}, pod(B, A)),
        (
            pod(A, B),
            {
                "spec": {
                    "containers": [{"name": "a", "$patch": "delete"}, {"name": "c"}],
                    "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
                }
            },
            pod(B, {"name": "c"}),
        ),
        (pod(A, tolerations=[{"key": "x"}]), {"spec": {"tolerations": []}}, pod(A, tolerations=[])),
        (
            {"metadata": {"finalizers": ["a/x", "a/y"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/x"]}},
            {"metadata": {"finalizers": ["a/y"]}},
        ),
        (
            {"metadata": {"finalizers": ["a/x"]}},
            {"metadata": {"finalizers": ["a/y"]}},
            {"metadata": {"finalizers": ["a/y", "a/x"]}},
        ),
        (
            pod(volumes=[{"name": "v", "emptyDir": {}}]),
            {"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}},
            pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]),
        ),
    ],
)
def test_strategic_merge(live: Obj, patch: Obj, result: Obj) -> None:
    assert apply_strategic_patch(builtin_schema(POD), live, patch) == result


@pytest.mark.parametrize(
    ("patch", "status", "text"),
    [
        (pod({"image": "x"}), 500, "map: map[image:x] does not contain declared merge key: name"),
        ({"spec": {"$patch": "bogus"}}, 500, "unknown patch type: bogus in map: map[$patch:bogus]"),
        (pod({"name": "a", "$patch": "merge"}), 500, "merging lists cannot yet be specified in the patch"),
        ({"spec": {"$retainKeys": "x"}}, 400, "invalid patch format of retainKeys"),
    ],
)
def test_a_strategic_patch_that_does_not_fit(patch: Obj, status: int, text: str) -> None:
    with pytest.raises(PatchFailedError) as caught:
        apply_strategic_patch(builtin_schema(POD), pod(A), patch)
    assert (caught.value.status, str(caught.value)) == (status, text)
