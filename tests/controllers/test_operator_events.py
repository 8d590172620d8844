"""The operator's Events: counted, combined, limited, written beside the reconciliations, and of which changes."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.states import State
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import ConfigurationError, ConflictError, NotFoundError, ServerError
from kymatui.operator.framework.controller import ReconcileOutcome, Reconciliation
from kymatui.operator.kymas.kyma_status import KymaStatusDraft, status_events
from kymatui.operator.monitoring.event_correlation import (
    BURST,
    COMBINED,
    LONGEST_MESSAGE,
    REFILL_SECONDS,
    REMEMBERED,
    SIMILAR,
    SIMILAR_SECONDS,
    CountedEvent,
    EventCorrelator,
    EventSubject,
    EventType,
    ObjectEvent,
)
from kymatui.operator.monitoring.event_writer import EVENT, EventWriter
from tests.domain import builders
from tests.engine.objects import config_map
from tests.engine.places import Place, eventually

CONFIG = GroupVersionKind("", "v1", "ConfigMap")
NOW = 1_800_000_000.0
SUBJECT = EventSubject(ObjectRef(CONFIG, "n", "a"), "u-1")


def event(message: str = "m", reason: str = "R", kind: EventType = EventType.NORMAL) -> ObjectEvent:
    return ObjectEvent(kind, reason, message)


class Recorded:
    """A correlator whose events are all written."""

    def __init__(self) -> None:
        self.correlator = EventCorrelator()

    def at(self, seconds: float, one: ObjectEvent, subject: EventSubject = SUBJECT) -> CountedEvent | None:
        found = self.correlator.correlate(subject, one, NOW + seconds)
        if found is not None:
            self.correlator.written(found)
        return found


def test_a_repeated_event_is_counted_under_one_name() -> None:
    recorded = Recorded()
    first, second = recorded.at(0, event()), recorded.at(5, event())
    assert first is not None
    assert second is not None
    assert (first.count, first.stored, second.count, second.stored) == (1, False, 2, True)
    assert first.name == second.name
    assert second.first == NOW
    others = [
        recorded.at(6, event("other")),
        recorded.at(6, event(reason="S")),
        recorded.at(6, event(kind=EventType.WARNING)),
        recorded.at(6, event(), EventSubject(SUBJECT.ref, "u-2")),
    ]
    assert [one.count for one in others if one is not None] == [1, 1, 1, 1]


def test_an_event_that_was_not_written_is_not_counted() -> None:
    correlator = EventCorrelator()
    for _ in range(2):
        found = correlator.correlate(SUBJECT, event(), NOW)
        assert found is not None
        assert (found.count, found.stored) == (1, False)


def test_a_flood_of_one_object_is_limited_and_others_are_not() -> None:
    recorded = Recorded()
    assert sum(recorded.at(0, event()) is not None for _ in range(40)) == BURST
    assert recorded.at(REFILL_SECONDS - 1, event()) is None
    later = recorded.at(REFILL_SECONDS + 1, event())
    assert later is not None
    assert later.count == BURST + 1
    assert recorded.at(0, event(), EventSubject(ObjectRef(CONFIG, "n", "b"), "u-3")) is not None


def test_many_messages_of_one_reason_are_combined_for_a_while() -> None:
    recorded = Recorded()
    found = [recorded.at(number, event(f"m{number}")) for number in range(SIMILAR + 3)]
    messages = [one.event.message for one in found if one is not None]
    assert messages[: SIMILAR - 1] == [f"m{number}" for number in range(SIMILAR - 1)]
    assert messages[SIMILAR - 1 :] == [f"{COMBINED}m{number}" for number in range(SIMILAR - 1, SIMILAR + 3)]
    assert [one.count for one in found if one is not None][SIMILAR - 1 :] == [1, 2, 3, 4]
    late = recorded.at(SIMILAR + 3 + SIMILAR_SECONDS, event("late"))
    assert late is not None
    assert late.event.message == "late"


def test_memory_is_bounded() -> None:
    recorded = Recorded()
    for number in range(REMEMBERED + 10):
        recorded.at(0, event(), EventSubject(ObjectRef(CONFIG, "n", f"c{number}"), "u"))
    for memory in (recorded.correlator._buckets, recorded.correlator._similar, recorded.correlator._written):
        assert len(memory._values) == REMEMBERED


def test_long_messages_are_kept_short() -> None:
    correlator = EventCorrelator()
    tracemalloc.start()
    try:
        for number in range(30):
            found = correlator.correlate(SUBJECT, event(f"{number}" + "x" * 400_000), NOW + number)
            if found is not None:
                correlator.written(found)
        assert tracemalloc.get_traced_memory()[0] < 1 << 20
    finally:
        tracemalloc.stop()
    assert event("x" * 2000).message == "x" * (LONGEST_MESSAGE - 1) + "…"


def test_each_module_of_an_unreachable_runtime_has_a_short_message() -> None:
    kyma = read_kyma(builders.kyma(name="one", namespace="kcp-system"))
    assert isinstance(kyma, Kyma)
    draft = KymaStatusDraft(kyma, NOW, webhook=False)
    draft.put_module({"name": "keda"})
    draft.fail_modules("x" * 400_000)
    assert len(draft.modules[0]["message"]) == 1024


def status(state: str, *modules: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    entries = [{"name": name, "version": version, "state": at, **more} for name, version, at in modules]
    return {"state": state, "lastOperation": {"operation": f"is {state}"}, "modules": entries}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, status("Processing"), []),
        (status("Ready"), status("Processing"), ["Normal Processing is Processing"]),
        (status("Processing"), status("Error"), ["Warning Error is Error"]),
        (status("Ready"), status("Ready", ("a", "1.0.0", "")), ["Normal ModuleInstall module a 1.0.0"]),
        (
            status("Ready", ("a", "1.0.0", "Ready")),
            status("Ready", ("a", "1.1.0", "Processing")),
            ["Normal ModuleUpgrade module a 1.0.0 → 1.1.0"],
        ),
        (
            status("Ready", ("a", "1.0.0", "Processing")),
            status("Ready", ("a", "1.0.0", "Ready")),
            ["Normal ModuleReady module a 1.0.0 is Ready"],
        ),
        (
            status("Ready", ("a", "1.0.0", "Ready")),
            status("Ready", ("a", "1.0.0", "Warning"), message="no downgrade"),
            ["Warning ModuleWarning module a 1.0.0: no downgrade"],
        ),
        (
            status("Ready", ("a", "1.0.0", "Ready"), message="w"),
            status("Ready", ("a", "1.0.0", "Ready"), message="w", maintenance=True),
            ["Normal ModuleAwaitsMaintenanceWindow module a: w"],
        ),
        (
            status("Ready", ("a", "1.0.0", "Deleting"), manifest={"kind": "Manifest"}),
            status("Ready"),
            ["Normal ModuleDeleted module a 1.0.0 is deleted"],
        ),
        (status("Ready", ("a", "1.0.0", "Error")), status("Ready"), []),
        (
            status("Processing"),
            status("Processing", ("a", "1.0.0", "Ready"), ("b", "2.0.0", "Ready"), ("c", "3.0.0", "")),
            [
                "Normal ModuleInstall modules a 1.0.0, b 2.0.0, c 3.0.0",
                "Normal ModuleReady modules a 1.0.0, b 2.0.0 are Ready",
            ],
        ),
        (
            status("Processing", ("a", "1.0.0", "Processing"), ("b", "2.0.0", "Error")),
            status("Ready", ("a", "1.0.0", "Ready"), ("b", "2.0.0", "Ready")),
            ["Normal ModuleReady module b 2.0.0 is Ready", "Normal Ready is Ready"],
        ),
        (status("Ready", ("a", "1.0.0", "Ready")), status("Ready", ("a", "1.0.0", "Ready")), []),
    ],
)
def test_a_change_of_the_status_has_its_events(
    before: dict[str, Any], after: dict[str, Any], expected: list[str]
) -> None:
    found = [f"{one.type} {one.reason} {one.message}" for one in status_events(before, after, failed=False)]
    assert found == expected


def test_many_modules_are_several_events_of_which_none_is_cut() -> None:
    modules = [(f"a-module-with-a-long-name-{number:03}", "1.0.0", "") for number in range(45)]
    found = [one.message for one in status_events({}, status("Processing", *modules), failed=False)]
    assert len(found) == 3
    assert all(sum(name in one for one in found) == 1 for name, _, _ in modules)


def test_the_error_of_a_failed_reconciliation_is_recorded_once() -> None:
    assert list(status_events(status("Ready"), status("Error"), failed=True)) == []


@contextmanager
def writing(place: Place) -> Iterator[EventWriter]:
    writer = EventWriter(place.cluster, SystemClock(), "me")
    writer.begin(lambda ref: False)
    try:
        yield writer
    finally:
        writer.end()


def events(place: Place) -> dict[str, dict[str, Any]]:
    found = place.raw.list(EVENT, place.namespace)
    return {f"{one['reason']}: {one['message']}": one for one in found if one["involvedObject"]["kind"] == "ConfigMap"}


def failure(place: Place, name: str, error: Exception) -> Reconciliation:
    ref = ObjectRef(CONFIG, place.namespace, name)
    return Reconciliation("c", ref, ReconcileOutcome.ERROR, 0.0, "id", error)  # type: ignore[arg-type]


def test_events_are_written_counted_and_written_again_after_their_deletion(place: Place) -> None:
    place.make_namespace()
    about = place.kubectl(config_map("a", place.namespace))
    with writing(place) as writer:
        writer.record(about, event("one"))
        writer.record(about, event("one"))
        eventually(lambda: events(place).get("R: one", {}).get("count") == 2, "it is counted")
        found = events(place)["R: one"]
        assert found["involvedObject"]["uid"] == about["metadata"]["uid"]
        assert found["source"]["component"] == found["reportingComponent"] == "kymatui-operator"
        assert found["type"] == "Normal"
        place.raw.delete(ObjectRef(EVENT, place.namespace, found["metadata"]["name"]))
        writer.record(about, event("one"))
        eventually(lambda: events(place).get("R: one", {}).get("count") == 3, "it is written again")
        writer.record(about, event("x" * 5000))
        eventually(lambda: any(len(one) > 1000 for one in events(place)), "a long one is cut")


def test_a_long_error_that_has_an_event_already_is_recorded_once(place: Place) -> None:
    place.make_namespace()
    about = place.kubectl(config_map("a", place.namespace))
    error = ServerError("x" * 5000)
    with writing(place) as writer:
        writer.record(about, event(str(error)))
        writer.finished(failure(place, "a", error))
        writer.record(about, event("last"))
        eventually(lambda: "R: last" in events(place), "the last one is written")
    assert len(events(place)) == 2


def test_failures_are_recorded_but_no_conflicts_and_nothing_of_deleted_objects(place: Place) -> None:
    place.make_namespace()
    place.kubectl(config_map("a", place.namespace))
    with writing(place) as writer:
        writer.finished(failure(place, "gone", ConfigurationError("of a deleted object")))
        writer.finished(failure(place, "a", ConflictError("changed meanwhile")))
        writer.finished(failure(place, "a", ConfigurationError("no access")))
        eventually(lambda: "ReconcileFailed: no access" in events(place), "it is written")
    assert list(events(place)) == ["ReconcileFailed: no access"]
    assert events(place)["ReconcileFailed: no access"]["type"] == "Warning"


def test_a_failure_with_a_reason_of_its_own_is_recorded_once(place: Place) -> None:
    place.make_namespace()
    about = place.kubectl(config_map("a", place.namespace))
    own = ObjectEvent(EventType.WARNING, "StatusSynchronization", "no answer")
    with writing(place) as writer:
        for _ in range(2):
            writer.record(about, own)
            writer.finished(failure(place, "a", ServerError("no answer")))
        writer.finished(failure(place, "a", ServerError("another")))
        eventually(lambda: "ReconcileFailed: another" in events(place), "all are written")
    assert {name: one["count"] for name, one in events(place).items()} == {
        "StatusSynchronization: no answer": 2,
        "ReconcileFailed: another": 1,
    }


def test_a_status_that_cannot_be_written_has_lifecycle_managers_reason(place: Place) -> None:
    found = read_kyma({**builders.kyma(), "metadata": {"name": "gone", "namespace": place.namespace}})
    assert isinstance(found, Kyma)
    recorded: list[ObjectEvent] = []
    draft = KymaStatusDraft(found, NOW, webhook=False, events=lambda about, event: recorded.append(event))
    draft.set_state(State.READY, "kyma is ready")
    with pytest.raises(NotFoundError):
        draft.write(place.cluster)
    assert [one.reason for one in recorded] == ["PatchStatus"]


def test_an_answer_that_is_lost_makes_no_second_event(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kymatui.operator.monitoring.event_writer._PAUSE", 0.05)
    place.make_namespace()
    about = place.kubectl(config_map("a", place.namespace))
    place.fault("lose", verb="create", resource="events", count=1)
    with writing(place) as writer:
        writer.record(about, event("one"))
        writer.record(about, event("two"))
        eventually(lambda: "R: two" in events(place), "both are written")
    assert sorted(events(place)) == ["R: one", "R: two"]


def test_a_server_that_hangs_holds_no_reconciliation_and_no_end(place: Place) -> None:
    place.make_namespace()
    about = place.kubectl(config_map("a", place.namespace))
    place.fault("hang", verb="create", resource="events", count=1)
    with writing(place) as writer:

        def record_many() -> None:
            for number in range(3000):
                writer.record(about, event(str(number)))

        recorded = threading.Thread(target=record_many)
        recorded.start()
        recorded.join(10)
        assert not recorded.is_alive()


def test_without_the_lease_nothing_is_recorded(place: Place) -> None:
    place.make_namespace()
    about = place.kubectl(config_map("a", place.namespace))
    writer = EventWriter(place.cluster, SystemClock(), "me")
    writer.record(about, event("early"))
    writer.begin(lambda ref: False)
    writer.record(about, event("now"))
    eventually(lambda: "R: now" in events(place), "it is written")
    writer.end()
    writer.record(about, event("late"))
    writer.begin(lambda ref: False)
    writer.record(about, event("again"))
    eventually(lambda: "R: again" in events(place), "it is written")
    writer.end()
    assert sorted(events(place)) == ["R: again", "R: now"]
