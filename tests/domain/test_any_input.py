"""Whatever a server or a file says, the catalog is made: malformed objects are shown, and take nothing else down."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_json_schema, catalog_to_json
from kymatui.domain.catalog.channel_matrix import build_matrix
from kymatui.domain.catalog.module_inputs import CatalogOptions
from kymatui.domain.fleet.manifest_summary import ManifestSummary, read_summary
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.maintenance_windows import read_policy
from kymatui.domain.kyma.manifests import read_manifest
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.readiness import check_readiness, klm_manager_state
from kymatui.domain.modules.state_checks import evaluate_path
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from tests.domain.builders import (
    NOW,
    deployment,
    gvk,
    kyma,
    labels,
    manifest,
    meta,
    old_template,
    report,
    resource,
    stamp,
    template,
)

SCHEMA = Draft202012Validator(catalog_json_schema())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = [
    kyma([{"name": "mod"}], status=[report("mod", "1.0.0")]),
    template("mod", "1.0.0", customStateCheck=[{"jsonPath": "status.state", "value": "a", "mappedState": "Ready"}]),
    old_template("old-regular", "old", "regular", "1.0.0"),
    meta("mod", {"regular": "1.0.0", "fast": "1.1.0"}, kymaSelector={"matchLabels": {"a": "b"}}),
    manifest("mod", "1.0.0"),
    deployment("mod", "1.0.0", finalizers=["x/y"]),
    resource("mod", "Warning"),
]


def places(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Every place in a JSON value."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in entries:
        yield from places(below, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], by: object) -> Any:
    if not path:
        return by
    changed = copy.deepcopy(value)
    spot = changed
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = by
    return changed


def world(objects: list[Any]) -> Snapshot:
    """All objects in every list, so that each is also read as what it is not."""
    kinds = {gvk("mod"): tuple(objects), GroupVersionKind("", "", ""): tuple(objects)}
    return Snapshot(
        "any",
        kymas=tuple(objects),
        templates=tuple(objects),
        release_metas=tuple(objects),
        manifests=tuple(objects),
        module_resources=kinds,
        workloads=tuple(objects),
        definitions=tuple(objects),
        events=tuple(objects),
        feeds={"mods.operator.kyma-project.io": Feed(FeedState.FORBIDDEN), "deployments.apps": Feed(FeedState.STALE)},
    )


def assert_shown(snapshot: Snapshot) -> None:
    found = build_catalog(snapshot, NOW, CatalogOptions(raw_manifests={("mod", "1.0.0"): snapshot.workloads}))
    listing = json.loads(json.dumps(catalog_to_json(found)))
    assert SCHEMA.is_valid(listing), SCHEMA.iter_errors(listing)
    assert build_matrix(found).channels == found.channels
    assert all(row.reason.text for row in found.rows)
    assert len({row.name for row in found.rows}) == len(found.rows)


@given(st.lists(JSON, max_size=4))
@settings(max_examples=150, deadline=None)
def test_any_json(objects: list[Any]) -> None:
    assert_shown(world(objects))


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_real_objects_with_one_thing_broken(data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(OBJECTS) - 1))
    path = data.draw(st.sampled_from(list(places(OBJECTS[index]))))
    broken = replaced(OBJECTS[index], path, data.draw(JSON))
    objects = [*OBJECTS[:index], broken, *OBJECTS[index + 1 :]]
    assert_shown(world(objects))


@pytest.mark.parametrize("place", range(len(OBJECTS)))
def test_each_field_missing(place: int) -> None:
    for path in places(OBJECTS[place]):
        objects = [*OBJECTS[:place], replaced(OBJECTS[place], path, None), *OBJECTS[place + 1 :]]
        assert_shown(world(objects))


@given(JSON)
@settings(max_examples=150, deadline=None)
def test_readiness_of_anything(value: Any) -> None:
    for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"):
        raw = {"apiVersion": "apps/v1", "kind": kind, "metadata": value, "spec": value, "status": value}
        assert check_readiness(raw, NOW).state in State
        assert klm_manager_state([raw], [value]) in State
    assert check_readiness(value, NOW).message


@given(st.text(max_size=20), JSON)
@settings(deadline=None)
def test_any_path_into_anything(path: str, value: Any) -> None:
    seen = evaluate_path(path, value)
    assert seen.path == path
    if seen.klm_reads:
        assert seen.klm.found == seen.extended.found


@given(st.text(max_size=30) | JSON.map(json.dumps))
@settings(deadline=None)
def test_any_policy(text: str) -> None:
    assert read_policy(text) is not None


def test_a_flaw_does_not_hide_the_rest_of_an_object() -> None:
    reader = JsonReader({"a": 1, "b": "kept", "c": [1, {"d": "kept too"}]})
    assert reader.text("a", "default") == "default"
    assert reader.text("b") == "kept"
    assert [entry.text("d") for entry in reader.children("c")] == ["kept too"]
    assert [str(flaw) for flaw in reader.flaws] == [
        "a is a number, expected a string",
        "c[0] is a number, expected an object",
    ]


def test_malformed_objects_are_problems_and_the_good_rows_stand() -> None:
    broken: list[Any] = [{"kind": "ModuleTemplate", "metadata": {"name": "bad"}, "spec": 3}, "not even an object"]
    snapshot = Snapshot("any", kymas=(OBJECTS[0],), templates=(OBJECTS[1], *broken), release_metas=(OBJECTS[3],))
    found = build_catalog(snapshot, NOW)
    assert [row.name for row in found.rows] == ["mod"]
    messages = [problem.message for problem in found.problems]
    assert "ModuleTemplate bad is malformed: spec is not an object" in messages
    assert "a nameless object is malformed: the object is something else, expected an object" in messages


TOLD = ("does not match its schema", "is malformed", "customStateCheck cannot be evaluated")
WRONG: tuple[Any, ...] = ("odd", 7, True, ["odd"], {"odd": "odd"})


def json_type(value: object) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def unexplained(listing: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows but for the checks and the source of the version, which say themselves what was found."""
    own = ("checks", "installedSource")
    return [{key: value for key, value in row.items() if key not in own} for row in listing["modules"]]


def healthy(objects: list[Any]) -> Snapshot:
    """Each object in its own list."""
    owner, first, second, release, applied, workload, custom = objects
    return Snapshot(
        "any",
        kymas=(owner,),
        templates=(first, second),
        release_metas=(release,),
        manifests=(applied,),
        module_resources={gvk("mod"): (custom,)},
        workloads=(workload,),
    )


@pytest.mark.parametrize("place", range(len(OBJECTS)), ids=[item["kind"] for item in OBJECTS])
def test_what_a_wrong_type_changes_is_told_with_its_place(place: int) -> None:
    """Either nothing of the rows depends on the field, or a problem names the object and what is wrong with it."""
    before = catalog_to_json(build_catalog(healthy(OBJECTS), NOW))
    silent = []
    for path in places(OBJECTS[place]):
        old: Any = OBJECTS[place]
        for key in path:
            old = old[key]
        for wrong in (value for value in WRONG if json_type(value) != json_type(old)):
            broken = [*OBJECTS[:place], replaced(OBJECTS[place], path, wrong), *OBJECTS[place + 1 :]]
            after = catalog_to_json(build_catalog(healthy(broken), NOW))
            told = any(word in problem["message"] for problem in after["problems"] for word in TOLD)
            if unexplained(after) != unexplained(before) and not told:
                silent.append((path, wrong))
    assert not silent


def fleet_manifest() -> dict[str, Any]:
    """A Manifest with all that a fleet reads of it."""
    found = manifest("mod", "1.0.0", "Warning", deletionTimestamp=stamp(60))
    found["metadata"]["labels"] |= labels(mandatory_module="true")
    times = [{"type": kind, "status": "True", "lastTransitionTime": stamp(ago)} for kind, ago in (("a", 9), ("b", 5))]
    found["status"] |= {"conditions": times, "lastOperation": {"operation": "waiting"}}
    return found


@pytest.mark.parametrize("path", list(places(fleet_manifest())), ids=lambda path: ".".join(map(str, path)) or "all")
@given(by=JSON)
@settings(max_examples=15, deadline=None)
def test_a_summary_says_what_the_whole_manifest_says(path: tuple[object, ...], by: object) -> None:
    raw = replaced(fleet_manifest(), path, by)
    found, whole = read_summary(raw), read_manifest(raw)
    assert (found is None) == isinstance(whole, MalformedObject)
    if found is None or isinstance(whole, MalformedObject):
        return
    times = [condition.since for condition in whole.conditions if condition.since is not None]
    assert found == ManifestSummary(
        whole.meta.namespace,
        whole.meta.name,
        whole.kyma,
        whole.module,
        whole.version,
        whole.state,
        whole.operation,
        whole.mandatory,
        whole.meta.deleting,
        whole.meta.created,
        max(times, default=None),
    )
