"""Plans and checks where nothing may be written, dry runs included."""

from __future__ import annotations

import pytest

from kymatui.domain.objects import read_ref
from kymatui.engine import Options, check, install
from kymatui.engine.checking import Finding
from kymatui.engine.guessing import guess
from kymatui.engine.plans import Action
from kymatui.errors import ReadOnlyError
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
    assert guess(live, body) == after


def test_a_check_in_read_only_mode_finds_drift_and_writes_nothing(place: Place) -> None:
    what = bundle(place, make.config_map("a", x="1"), make.deployment("d"), make.config_map("gone"))
    install(what, place.cluster, options=Options(limits=LIMITS))
    place.kubectl(make.config_map("a", place.namespace, x="theirs"))
    place.raw.delete(read_ref(make.config_map("gone", place.namespace)))
    reader = place.connect(read_only=True)
    report = check(what, reader)
    assert {(drift.ref.name, drift.finding) for drift in report.drifts} == {
        ("a", Finding.CHANGED),
        ("gone", Finding.MISSING),
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
