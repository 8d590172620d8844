"""What changed between two looks at a cluster."""

from __future__ import annotations

from typing import Any

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.change_history import ChangeHistory, ModuleChange
from kymatui.domain.catalog.module_events import events_about, module_objects
from kymatui.domain.snapshot.object_index import index_objects
from kymatui.domain.snapshot.snapshots import Feed, FeedState, ReadCache, Snapshot, namespaced_feed
from tests.domain import builders as b

LIVE = {"kymas.operator.kyma-project.io": Feed(FeedState.LIVE)}
SYNCING = {"kymas.operator.kyma-project.io": Feed(FeedState.SYNCING)}


def snapshot(state: str = "Ready", version: str = "1.0.0", *, feeds: Any = LIVE, **more: Any) -> Snapshot:
    facts: dict[str, Any] = {
        "kymas": (b.kyma([{"name": "keda"}], status=[b.report("keda", version, state)]),),
        "release_metas": (b.meta("keda", {"regular": version}),),
        "templates": (b.template("keda", version),),
        "module_resources": {b.gvk("keda"): (b.resource("keda", state),)},
        "workloads": (b.deployment("keda", version),),
        "feeds": feeds,
    }
    return Snapshot("test", **{**facts, **more})


def looks(*snapshots: Snapshot, kept: int = 100) -> ChangeHistory:
    history = ChangeHistory(kept)
    for number, found in enumerate(snapshots):
        history.see(build_catalog(found, b.NOW), found, index_objects(found, ReadCache()), b.NOW + number)
    return history


def told(history: ChangeHistory, what: str) -> list[tuple[str, str, float]]:
    return [(one.before, one.after, one.at - b.NOW) for one in history.of("keda") if one.what == what]


def test_the_first_look_is_no_change() -> None:
    assert looks(snapshot()).changes == ()


def test_a_state_that_changes_is_told_with_the_time() -> None:
    assert told(looks(snapshot(), snapshot("Warning")), "state") == [("Ready", "Warning", 1)]


def test_versions_and_drift_are_told() -> None:
    history = looks(snapshot(), snapshot(version="1.1.0"))
    assert told(history, "installed") == [("1.0.0", "1.1.0", 1)]
    assert told(history, "desired") == [("1.0.0", "1.1.0", 1)]


def test_conditions_are_told_with_the_time_that_the_cluster_gives() -> None:
    broken = (b.deployment("keda", "1.0.0", ready=False),)
    history = looks(snapshot(), snapshot(workloads=broken))
    found = next(one for one in history.changes if one.what == "condition Available")
    assert (found.before, found.after) == ("True (R)", "False (R)")
    assert found.about == "Deployment kyma-system/keda-manager"
    assert found.since == b.NOW - 3600


def test_the_newest_come_first() -> None:
    history = looks(snapshot(), snapshot("Warning"), snapshot("Error"))
    assert [after for _, after, _ in told(history, "state")] == ["Error", "Warning"]


def test_nothing_is_told_while_the_first_lists_are_under_way() -> None:
    history = looks(snapshot("Warning", feeds=SYNCING), snapshot("Error", feeds=SYNCING), snapshot())
    assert history.changes == ()


def test_what_is_followed_for_a_screen_does_not_hold_back_the_rest() -> None:
    feeds = {**LIVE, namespaced_feed("events", "kyma-system"): Feed(FeedState.SYNCING)}
    assert told(looks(snapshot(feeds=feeds), snapshot("Error")), "state") == [("Ready", "Error", 1)]


def test_modules_that_come_and_go_are_told() -> None:
    empty = snapshot(kymas=(), release_metas=(), templates=(), module_resources={}, workloads=())
    history = looks(empty, snapshot(), empty)
    assert [(one.before, one.after) for one in history.of("keda")] == [("in the catalog", ""), ("", "in the catalog")]


def test_a_look_without_a_change_adds_nothing() -> None:
    assert looks(snapshot(), snapshot(), snapshot()).changes == ()


def test_no_more_is_kept_than_asked_for() -> None:
    history = looks(*(snapshot("Ready" if n % 2 else "Error") for n in range(50)), kept=10)
    assert len(history.changes) == 10
    assert isinstance(history.changes[0], ModuleChange)
    assert history.changes[0].at == b.NOW + 49


def test_what_the_cluster_recorded_before_the_first_look_is_part_of_the_history() -> None:
    """A restart of kymatui forgets nothing that objects and Events still tell."""
    hand = {
        "manager": "kubectl-edit",
        "operation": "Update",
        "time": b.stamp(120),
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }
    resource = b.resource("keda", deletionTimestamp=b.stamp(60), finalizers=["a.b/c"], managedFields=[hand])
    found = snapshot(module_resources={b.gvk("keda"): (resource,)})
    history = looks(found, snapshot("Error", module_resources={b.gvk("keda"): (resource,)}))
    recorded = {(one.what, one.after): one.at - b.NOW for one in history.of("keda") if one.at < b.NOW}
    assert recorded["written by kubectl-edit", "spec"] == -120
    assert recorded["deletion", "requested"] == -60
    assert recorded["condition Available", "True (R)"] == -3600
    times = [one.at for one in history.of("keda")]
    assert times == sorted(times, reverse=True)
    assert {one.at for one in history.changes} == {b.NOW + 1}, "what is announced began with kymatui"
    assert set(history.known) >= set(history.changes)


def test_events_from_before_the_first_look_are_part_of_the_history() -> None:
    event = {
        "metadata": {"uid": "e-1"},
        "involvedObject": {"kind": "Deployment", "namespace": "kyma-system", "name": "keda-manager"},
        "type": "Warning",
        "reason": "FailedCreate",
        "message": "quota exceeded",
        "lastTimestamp": b.stamp(30),
    }
    found = snapshot(events=(event,))
    row = build_catalog(found, b.NOW).rows[0]
    events = events_about(found, module_objects(row))
    (change,) = (one for one in looks(found).of("keda", events) if one.what == "event FailedCreate")
    assert (change.after, change.at, change.about) == (
        "quota exceeded",
        b.NOW - 30,
        "Deployment kyma-system/keda-manager",
    )
