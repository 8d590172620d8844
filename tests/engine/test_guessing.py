"""Plans and checks where nothing may be written, dry runs included."""

from __future__ import annotations

import threading

import pytest

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.engine import Options, check, install
from kymatui.engine.apply.planner import ObjectDriftKind
from kymatui.engine.cluster.ports import Object, Write, WriteVerb
from kymatui.engine.dryrun.field_takeover import merge_client_side
from kymatui.engine.plans.plan import Action
from kymatui.errors import ClusterError, InvalidError, ReadOnlyError, ServerError
from tests.engine import objects as make
from tests.engine.installing import LIMITS, apply, bundle, plan
from tests.engine.places import Json, Place


@pytest.mark.parametrize(
    ("live", "body", "after"),
    [
        ({"a": 1, "b": 2}, {"a": 3}, {"a": 3, "b": 2}),
        (
            {"l": [{"name": "x", "v": 1}, {"name": "y"}]},
            {"l": [{"name": "x", "v": 2}]},
            {"l": [{"name": "x", "v": 2}, {"name": "y"}]},
        ),
        ({"l": [1, 2]}, {"l": [3]}, {"l": [3]}),
        ({"l": [{"a": 1}]}, {"l": [{"b": 1}]}, {"l": [{"b": 1}]}),
        (
            {"p": [{"containerPort": 80, "protocol": "TCP"}]},
            {"p": [{"containerPort": 80}, {"containerPort": 81}]},
            {"p": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81}]},
        ),
        ({}, {"stringData": {"a": "b"}, "x": 1}, {"x": 1}),
    ],
)
def test_named_things_are_merged_and_the_rest_is_replaced(live: Json, body: Json, after: Json) -> None:
    assert merge_client_side(live, body) == after


def test_a_check_in_read_only_mode_finds_drift_and_writes_nothing(place: Place) -> None:
    what = bundle(place, make.config_map("a", x="1"), make.deployment("d"), make.config_map("gone"))
    install(what, place.cluster, options=Options(limits=LIMITS))
    place.kubectl(make.config_map("a", place.namespace, x="theirs"))
    place.raw.delete(read_ref(make.config_map("gone", place.namespace)))
    reader = place.connect(read_only=True)
    report = check(what, reader)
    assert {(drift.ref.name, drift.finding) for drift in report.drifts} == {
        ("a", ObjectDriftKind.CHANGED),
        ("gone", ObjectDriftKind.MISSING),
    }
    assert set(reader.client.transport.counts) <= {"GET", "POST"}


def test_a_plan_in_read_only_mode_is_made_and_not_carried_out(place: Place) -> None:
    place.make_namespace()
    reader = place.connect(read_only=True)
    planned = plan(place, bundle(place, make.config_map("a")), cluster=reader)
    assert [step.action for step in planned.steps] == [Action.CREATE]
    with pytest.raises(ReadOnlyError):
        apply(place, planned, cluster=reader)
    assert place.get("v1", "ConfigMap", "a") is None


class Webhooks(KubeCluster):
    """A cluster whose webhooks answer dry runs as `failure`."""

    failure: ClusterError

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        if write.verb is WriteVerb.APPLY and write.dry_run and write.ref.kind.kind == "ConfigMap":
            raise self.failure
        return super().write(write, cancel=cancel)


def test_a_webhook_without_dry_runs_does_not_stand_in_the_way(place: Place) -> None:
    place.make_namespace()
    cluster = Webhooks(place.cluster.client)
    cluster.failure = InvalidError('admission webhook "w.example.org" does not support dry run', status=400)
    planned = plan(place, bundle(place, make.config_map("a", x="1")), cluster=cluster)
    (step,) = planned.steps
    assert (step.action, step.unchecked) == (Action.CREATE, True)
    assert "w.example.org" in step.reason
    apply(place, planned, cluster=cluster)
    newer = plan(place, bundle(place, make.config_map("a", x="2")), cluster=cluster)
    assert [change.path for change in newer.steps[0].changes] == ["data.x"]


def test_a_webhook_that_is_down_is_named(place: Place) -> None:
    place.make_namespace()
    cluster = Webhooks(place.cluster.client)
    cluster.failure = ServerError('failed calling webhook "w.example.org": no endpoints', status=500)
    (step,) = plan(place, bundle(place, make.config_map("a")), cluster=cluster).steps
    assert step.action is Action.BLOCKED
    assert "no endpoints" in step.reason
