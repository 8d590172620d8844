"""What runs beside the controllers: from the Lease on until its end, and it wakes the controllers of a kind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import ConfigurationError, DefectError, KymatuiError, UnreachableError
from kymatui.operator.framework.controller import (
    GroupReports,
    KindWatch,
    ReconcileOutcome,
    Reconciliation,
    RequeueIntervals,
    Wake,
)
from kymatui.operator.framework.controller_group import ControllerGroup
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS, WORKQUEUE_DEPTH
from tests.engine.places import Place, eventually

CONFIG = GroupVersionKind("", "v1", "ConfigMap")


class Recorder:
    """A controller of ConfigMaps that fails for one name."""

    name, workers, resync = "recorder", 1, 600.0
    intervals = RequeueIntervals()

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self.seen: list[str] = []

    def watches(self) -> Sequence[KindWatch]:
        return (KindWatch(CONFIG, namespace=self._namespace),)

    def begin(self, wake: Wake) -> None: ...

    def end(self) -> None: ...

    def leave(self, ref: ObjectRef) -> None: ...

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        self.seen.append(ref.name)
        if ref.name == "bad":
            raise UnreachableError("no answer")
        if ref.name == "defect":
            raise ZeroDivisionError("an unexpected error")
        return None


class Service:
    """A service that remembers how to wake."""

    def __init__(self, error: str = "") -> None:
        self.wake: Callable[[ObjectRef], bool] | None = None
        self.error = error
        self.ended = False

    def begin(self, wake: Callable[[ObjectRef], bool]) -> None:
        if self.error:
            raise ConfigurationError(self.error)
        self.wake = wake

    def end(self) -> None:
        self.ended = True


def test_a_service_wakes_objects_and_ends_with_the_group(place: Place) -> None:
    recorder, service, stop = Recorder(place.namespace), Service(), threading.Event()
    finished: list[Reconciliation] = []
    reports = GroupReports(lambda ref, error, seconds: None, finished=finished.append)
    group = ControllerGroup(place.cluster, SystemClock(), [recorder], reports, services=[service])
    thread = threading.Thread(target=group.run, args=(stop,))
    thread.start()
    try:

        def woken(ref: ObjectRef) -> bool:
            return service.wake is not None and service.wake(ref)

        eventually(lambda: woken(ObjectRef(CONFIG, place.namespace, "bad")), "the group leads")
        assert not woken(ObjectRef(GroupVersionKind("", "v1", "Secret"), place.namespace, "s"))
        assert woken(ObjectRef(CONFIG, place.namespace, "good"))
        eventually(lambda: {one.ref.name for one in finished} == {"bad", "good"}, "both are reconciled")
    finally:
        stop.set()
        thread.join(30)
    assert service.ended
    assert not woken(ObjectRef(CONFIG, place.namespace, "good"))
    results = {one.ref.name: one.result for one in finished}
    assert results == {"bad": ReconcileOutcome.ERROR, "good": ReconcileOutcome.SUCCESS}
    assert {one.controller for one in finished} == {"recorder"}
    assert len({one.id for one in finished}) == len(finished)


def test_a_bug_with_one_object_is_a_failure_of_it_alone(place: Place) -> None:
    recorder, service, stop = Recorder(place.namespace), Service(), threading.Event()
    failures: list[tuple[str, KymatuiError]] = []
    finished: list[Reconciliation] = []
    reports = GroupReports(lambda ref, error, seconds: failures.append((ref.name, error)), finished=finished.append)
    group = ControllerGroup(place.cluster, SystemClock(), [recorder], reports, services=[service])
    thread = threading.Thread(target=group.run, args=(stop,))
    thread.start()
    try:

        def woken(name: str) -> bool:
            return service.wake is not None and service.wake(ObjectRef(CONFIG, place.namespace, name))

        eventually(lambda: woken("defect"), "the group leads")
        assert woken("good")
        eventually(lambda: recorder.seen.count("defect") > 1, "it is tried again")
        eventually(lambda: "good" in recorder.seen, "the other one is reconciled")
    finally:
        stop.set()
        thread.join(30)
    name, error = failures[0]
    assert (name, str(error)) == ("defect", "ZeroDivisionError: an unexpected error")
    assert isinstance(error, DefectError)
    assert isinstance(error.__cause__, ZeroDivisionError)
    results = {(one.ref.name, one.result) for one in finished}
    assert results == {("defect", ReconcileOutcome.ERROR), ("good", ReconcileOutcome.SUCCESS)}


def test_objects_that_wait_for_a_worker_are_counted(place: Place) -> None:
    gate, service, stop = threading.Event(), Service(), threading.Event()

    class Blocked(Recorder):
        def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
            gate.wait(60)
            return super().reconcile(ref, cancel)

    registry = MetricRegistry(METRICS)
    recorder = Blocked(place.namespace)
    reports = GroupReports(lambda ref, error, seconds: None)
    group = ControllerGroup(place.cluster, SystemClock(), [recorder], reports, services=[service])
    registry.read_from(WORKQUEUE_DEPTH, lambda: {(name, name): float(n) for name, n in group.waiting().items()})
    assert "workqueue_depth" not in registry.text()
    thread = threading.Thread(target=group.run, args=(stop,))
    thread.start()
    try:
        refs = [ObjectRef(CONFIG, place.namespace, f"c{number}") for number in range(3)]
        eventually(lambda: service.wake is not None and all(service.wake(ref) for ref in refs), "the group leads")
        line = 'workqueue_depth{controller="recorder",name="recorder"} 2'
        eventually(lambda: line in registry.text(), "one is reconciled, two wait")
        gate.set()
        eventually(lambda: line[:-1] + "0" in registry.text(), "none waits")
    finally:
        gate.set()
        stop.set()
        thread.join(30)


def test_a_service_that_cannot_start_ends_the_group(place: Place) -> None:
    service = Service("cannot listen on :1")
    group = ControllerGroup(
        place.cluster,
        SystemClock(),
        [Recorder(place.namespace)],
        GroupReports(lambda ref, error, seconds: None),
        services=[service],
    )
    with pytest.raises(ConfigurationError, match="cannot listen"):
        group.run(threading.Event())
    assert service.ended
