"""What stands before requests: a rate as client-go has it, a circuit, and the time of a reconciliation."""

from __future__ import annotations

import threading
import time

import pytest

from kymatui.adapters.kube.transport.request_guard import RateGuard
from kymatui.engine.cluster.circuit_breaker import CircuitState, CircuitTerms
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.request_scope import RequestRate, RequestScope, TokenBucket, current_scope, request_scope
from kymatui.errors import CancelledError, ForbiddenError, ServerError, UnreachableError
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS, CircuitMetrics
from kymatui.sessions.control_plane.runtime_guards import RuntimeGuard, RuntimeGuards


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_defaults_are_those_of_lifecycle_manager() -> None:
    assert RequestRate() == RequestRate(qps=300.0, burst=600)


def test_a_burst_goes_out_and_then_one_for_each_token() -> None:
    clock = Time()
    bucket = TokenBucket(RequestRate(qps=10.0, burst=3), clock)
    assert [bucket.take() for _ in range(5)] == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2])
    clock.now += 0.2
    assert bucket.take() == pytest.approx(0.1), "those who wait have taken what came"
    clock.now += 3600.0
    assert [bucket.take() for _ in range(4)] == pytest.approx([0.0, 0.0, 0.0, 0.1]), "no more than the burst is kept"


def test_waiting_for_the_rate_ends_with_a_cancellation() -> None:
    guard, cancel = RateGuard(RequestRate(qps=0.001, burst=1)), threading.Event()
    guard.admit("server", cancel)
    cancel.set()
    with pytest.raises(CancelledError):
        guard.admit("server", cancel)


def test_a_reconciliation_that_has_taken_its_time_sends_no_further_request_to_a_runtime() -> None:
    guard = RuntimeGuards().of("kcp-system/one", b"config")
    with request_scope(RequestScope(until=time.monotonic() - 1.0)):
        with pytest.raises(UnreachableError, match="runtime-a is too slow"):
            guard.admit("runtime-a", None)
        assert guard.state is CircuitState.CLOSED
    guard.admit("runtime-a", None)
    guard.answered()


def test_the_bounds_hold_in_the_threads_of_a_reconciliation() -> None:
    scope = RequestScope(until=7.0)
    with request_scope(scope):
        found = run_for_each([1, 2, 3], lambda _: current_scope(), threading.Event())
    assert found == [scope] * 3
    assert current_scope() != scope


def test_only_silence_opens_a_circuit_and_another_kubeconfig_closes_it() -> None:
    changed: list[tuple[str, CircuitState]] = []
    guards = RuntimeGuards(terms=CircuitTerms(failures=2))
    guards.changed = lambda kyma, state: changed.append((kyma, state))
    guard = guards.of("kcp-system/one", b"config")
    answers = (ForbiddenError("no"), ServerError("a defect", status=500))
    for error in (*answers, *(ServerError("metrics are away", status=503, body={"kind": "Status"}) for _ in range(3))):
        guard.admit("server", None)
        guard.failed(error, 0.1)
    assert changed == []
    for _ in range(2):
        guard.admit("server", None)
        guard.failed(ServerError("a gateway", status=503), 0.1)
    assert changed == [("kcp-system/one", CircuitState.OPEN)]
    assert guards.of("kcp-system/one", b"config") is guard
    guards.of("kcp-system/one", b"another").admit("server", None)
    assert changed[1:] == [("kcp-system/one", CircuitState.CLOSED)]


def test_a_kyma_without_a_runtime_has_no_open_circuit() -> None:
    registry, guards = MetricRegistry(METRICS), RuntimeGuards(terms=CircuitTerms(failures=1))
    guards.changed = CircuitMetrics(registry).changed
    guard = guards.of("kcp-system/one", b"config")
    guard.admit("server", None)
    guard.failed(UnreachableError("no answer"), 0.1)
    assert 'kymatui_runtime_circuit_state{kyma_name="one",state="open"} 1' in registry.text()
    assert 'kymatui_runtime_circuit_state{kyma_name="one",state="half_open"} 0' in registry.text()
    guards.drop("kcp-system/one")
    assert "kymatui_runtime_circuit_state{" not in registry.text()


def test_a_late_answer_about_a_dropped_runtime_opens_no_circuit() -> None:
    """Another controller may still have a request under way when its Kyma is gone."""
    changed: list[CircuitState] = []
    guards = RuntimeGuards(terms=CircuitTerms(failures=1))
    guards.changed = lambda kyma, state: changed.append(state)
    guard = guards.of("kcp-system/one", b"config")
    guard.admit("server", None)
    guards.drop("kcp-system/one")
    guard.failed(UnreachableError("no answer"), 0.1)
    assert changed == []


def test_a_process_that_no_longer_leads_reports_no_circuit() -> None:
    registry, guards = MetricRegistry(METRICS), RuntimeGuards(terms=CircuitTerms(failures=1))
    guards.changed = CircuitMetrics(registry).changed

    def fail(name: str) -> RuntimeGuard:
        guard = guards.of(f"kcp-system/{name}", b"config")
        guard.admit("server", None)
        guard.failed(UnreachableError("no answer"), 0.1)
        return guard

    for leading in (True, False, True):
        if leading:
            guards.begin(lambda ref: False)
        fail("one" if leading else "late")
        assert ('{kyma_name="one",state="open"} 1' in registry.text()) is leading
        assert "late" not in registry.text()
        guards.end()
        assert "kymatui_runtime_circuit_state{" not in registry.text()
