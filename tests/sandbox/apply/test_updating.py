"""Server-side apply and managed fields: who owns what after which write."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.sandbox.apply.server_side_apply import apply_object
from kymatui.sandbox.apply.update_tracking import ApplyConflictError, ApplyFailedError, EndpointTracking, track_update
from kymatui.schemas.objects.structural_schemas import crd_schema
from kymatui.schemas.types.builtin_schemas import builtin_schema
from kymatui.schemas.values.field_sets import from_fields, show_path, to_fields

Obj = dict[str, Any]
CONFIG = ("", "v1", "ConfigMap")
TRACKING = EndpointTracking("v1", lambda version: builtin_schema(CONFIG) if version == "v1" else None)


def config(**data: str) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "data": data}


def owners(obj: Obj) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def test_a_create_owns_what_it_sets_but_never_name_and_namespace() -> None:
    obj = config(a="1")
    track_update(TRACKING, None, obj, "curl", 0)
    assert owners(obj) == {"curl": {"f:data": {".": {}, "f:a": {}}}}
    assert obj["metadata"]["managedFields"][0]["time"] == "1970-01-01T00:00:00Z"


def test_an_update_takes_what_it_changes_and_nobody_keeps_what_it_removes() -> None:
    live = apply_object(TRACKING, None, config(a="1", b="2"), "m", 0)
    changed = copy.deepcopy(live)
    changed["data"] = {"a": "9"}
    track_update(TRACKING, live, changed, "edit", 1)
    assert owners(changed) == {"edit": {"f:data": {"f:a": {}}}}


def test_a_field_that_is_not_applied_any_more_goes() -> None:
    live = apply_object(TRACKING, None, config(a="1", b="2"), "m", 0)
    after = apply_object(TRACKING, live, config(a="1"), "m", 1)
    assert after["data"] == {"a": "1"}
    assert owners(after) == {"m": {"f:data": {"f:a": {}}}}


def test_a_field_that_two_apply_stays_with_the_other() -> None:
    live = apply_object(TRACKING, None, config(a="1"), "one", 0)
    live = apply_object(TRACKING, live, config(a="1"), "two", 0)
    after = apply_object(TRACKING, live, config(), "one", 1)
    assert after["data"] == {"a": "1"}
    assert owners(after)["two"] == {"f:data": {"f:a": {}}}


def test_a_conflict_names_manager_version_and_path() -> None:
    live = config(a="1", b="1")
    track_update(TRACKING, None, live, "x", 0)
    with pytest.raises(ApplyConflictError) as caught:
        apply_object(TRACKING, live, config(a="2"), "m", 1)
    assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "x" using v1: .data.a'
    assert caught.value.causes == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "x" using v1', "field": ".data.a"}
    ]


def test_conflicts_are_listed_by_manager() -> None:
    live = apply_object(TRACKING, None, config(a="1", b="1"), "x", 0)
    with pytest.raises(ApplyConflictError) as caught:
        apply_object(TRACKING, live, config(a="2", b="2"), "m", 1)
    assert str(caught.value) == 'Apply failed with 2 conflicts: conflicts with "x":\n- .data.a\n- .data.b'


def test_force_takes_the_field() -> None:
    live = apply_object(TRACKING, None, config(a="1"), "x", 0)
    after = apply_object(TRACKING, live, config(a="2"), "m", 1, force=True)
    assert after["data"] == {"a": "2"}
    assert owners(after) == {"m": {"f:data": {"f:a": {}}}}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"foo": 1}, ".foo: field not declared in schema"),
        ({"data": {"a": 1}}, ".data.a: expected string, got &value.valueUnstructured{Value:1}"),
        ({"data": [1]}, ".data: expected map, got &{[1]}"),
    ],
)
def test_what_does_not_fit_is_told_with_its_path(body: Obj, problem: str) -> None:
    with pytest.raises(ApplyFailedError) as caught:
        apply_object(TRACKING, None, {"apiVersion": "v1", "kind": "ConfigMap", **body}, "m", 0)
    assert str(caught.value) == f"failed to create typed patch object (/; /v1, Kind=ConfigMap): {problem}"


def test_reset_fields_are_never_owned() -> None:
    tracking = EndpointTracking("v1", TRACKING.schema, reset=frozenset([("f:data",)]))
    obj = config(a="1")
    track_update(tracking, None, obj, "m", 0)
    assert "managedFields" not in obj["metadata"]


LISTS = crd_schema(
    {
        "type": "object",
        "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}},
            },
            "whole": {"type": "array", "items": {"type": "string"}},
        },
    }
)
CUSTOM = EndpointTracking("t/v1", lambda version: LISTS)


def thing(**fields: Any) -> Obj:
    return {"apiVersion": "t/v1", "kind": "T", "metadata": {"name": "x"}, **fields}


def test_lists_are_owned_by_item_by_value_or_as_a_whole() -> None:
    obj = apply_object(CUSTOM, None, thing(set=["a"], map=[{"k": "x", "v": 1}], whole=["q"]), "m", 0)
    assert owners(obj) == {
        "m": {"f:map": {'k:{"k":"x"}': {".": {}, "f:k": {}, "f:v": {}}}, "f:set": {'v:"a"': {}}, "f:whole": {}}
    }


def test_two_appliers_share_a_list() -> None:
    live = apply_object(CUSTOM, None, thing(set=["a"], map=[{"k": "x", "v": 1}]), "one", 0)
    live = apply_object(CUSTOM, live, thing(set=["b"], map=[{"k": "y"}]), "two", 0)
    assert (live["set"], live["map"]) == (["a", "b"], [{"k": "x", "v": 1}, {"k": "y"}])
    after = apply_object(CUSTOM, live, thing(), "one", 1)
    assert (after["set"], after["map"]) == (["b"], [{"k": "y"}])


def test_a_duplicate_key_is_refused() -> None:
    with pytest.raises(ApplyFailedError, match=r'\.map: duplicate entries for key \[k="x"\]'):
        apply_object(CUSTOM, None, thing(map=[{"k": "x"}, {"k": "x"}]), "m", 0)


def test_only_so_many_updaters_are_told_apart() -> None:
    live: Obj | None = None
    for number in range(13):
        obj = config(**{f"k{n}": "v" for n in range(number + 1)})
        if live is not None:
            obj["metadata"]["managedFields"] = live["metadata"]["managedFields"]
        track_update(TRACKING, live, obj, f"m{number:02}", number)
        live = obj
    assert live is not None
    found = owners(live)
    assert len(found) == 10
    assert "ancient-changes" in found


def test_the_annotation_of_kubectl_lets_it_take_its_own_fields() -> None:
    applied = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"n"},"data":{"a":"1"}}'
    live = config(a="1")
    live["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    track_update(TRACKING, None, live, "kubectl-client-side-apply", 0)
    with pytest.raises(ApplyConflictError):
        apply_object(TRACKING, live, config(a="2"), "other", 1)
    after = apply_object(TRACKING, live, config(a="2"), "kubectl", 1)
    assert after["data"] == {"a": "2"}


PATHS = st.frozensets(
    st.lists(st.sampled_from(["f:a", "f:b", 'k:{"n":"x"}', 'v:"y"', "i:0"]), min_size=1, max_size=4).map(tuple)
)


@given(PATHS)
def test_fields_v1_and_back(paths: frozenset[tuple[str, ...]]) -> None:
    assert from_fields(to_fields(paths)) == paths


def test_paths_as_conflicts_show_them() -> None:
    assert show_path(("f:spec", 'k:{"containerPort":80,"protocol":"TCP"}', "f:x")) == (
        '.spec[containerPort=80,protocol="TCP"].x'
    )
