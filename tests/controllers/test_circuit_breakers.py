"""The circuit of a runtime: opens after repeated failures, probes with backoff and jitter, few probes at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.engine.cluster.circuit_breaker import CircuitBreaker, CircuitState, CircuitTerms, ProbePlaces
from kymatui.errors import ServerError, UnreachableError

TERMS = CircuitTerms(failures=3, silence=4, probes=Backoff(1, 60, 1.0, 1.5))


class Circuit:
    """A breaker with a clock that a test moves."""

    def __init__(self, places: ProbePlaces | None = None, chance: float = 0.0) -> None:
        self.now = 100.0
        self.states: list[CircuitState] = []
        self.breaker = CircuitBreaker(
            TERMS, places or ProbePlaces(1), self.states.append, clock=lambda: self.now, chance=lambda: chance
        )

    def fail(self, words: str = "refused", seconds: float = 0.1) -> bool:
        """Send a request that fails; return whether it was sent at all."""
        try:
            probe = self.breaker.admit()
        except UnreachableError:
            return False
        self.breaker.failed(UnreachableError(words), seconds, probe=probe)
        return True

    def answer(self) -> None:
        self.breaker.answered(probe=self.breaker.admit())


def test_repeated_failures_open_it_and_an_answer_between_them_does_not() -> None:
    circuit = Circuit()
    assert [circuit.fail(), circuit.fail()] == [True, True]
    circuit.answer()
    assert [circuit.fail(), circuit.fail()] == [True, True]
    assert circuit.breaker.state is CircuitState.CLOSED
    assert [circuit.fail(), circuit.fail(), circuit.fail()] == [True, False, False]
    assert circuit.states == [CircuitState.OPEN]


def test_one_long_silence_opens_it() -> None:
    circuit = Circuit()
    assert [circuit.fail(seconds=5), circuit.fail()] == [True, False]


def test_while_it_is_open_the_last_failure_is_raised_again_in_the_same_words() -> None:
    circuit = Circuit()
    circuit.fail("nothing listens at 10.0.0.1:443 (connection refused)", 5)
    with pytest.raises(UnreachableError, match=r"^nothing listens at 10.0.0.1:443 \(connection refused\)$"):
        circuit.breaker.admit()


def test_the_kind_of_the_failure_stays() -> None:
    circuit = Circuit()
    circuit.breaker.failed(ServerError("a gateway", status=502), 5, probe=circuit.breaker.admit())
    with pytest.raises(ServerError) as raised:
        circuit.breaker.admit()
    assert raised.value.status == 502


def test_one_probe_decides_and_the_pauses_double_up_to_the_longest() -> None:
    circuit = Circuit()
    circuit.fail(seconds=5)
    pauses = []
    for _ in range(9):
        began = circuit.now
        while not circuit.fail():
            circuit.now += 0.5
        pauses.append(circuit.now - began)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    circuit.now += 60
    circuit.answer()
    assert circuit.breaker.state is CircuitState.CLOSED
    assert circuit.fail(seconds=5)
    circuit.now += 1
    assert circuit.fail(), "after an answer the pauses begin at the first again"


def test_while_a_probe_is_under_way_no_other_request_is_sent() -> None:
    circuit = Circuit()
    circuit.fail(seconds=5)
    circuit.now += 1
    assert circuit.breaker.admit()
    assert circuit.breaker.state is CircuitState.HALF_OPEN
    assert not circuit.fail()


def test_all_runtimes_together_have_few_probes_under_way() -> None:
    places = ProbePlaces(2)
    circuits = [Circuit(places) for _ in range(5)]
    for one in circuits:
        one.fail(seconds=5)
        one.now += 1
    probing = []
    for one in circuits:
        try:
            probing.append(one.breaker.admit())
        except UnreachableError:
            probing.append(False)
    assert probing == [True, True, False, False, False]
    circuits[0].breaker.answered(probe=True)
    circuits[1].breaker.abandoned(probe=True)
    assert [circuits[2].breaker.admit(), circuits[3].breaker.admit()] == [True, True]
    circuits[1].now += 1
    with pytest.raises(UnreachableError):
        circuits[1].breaker.admit()


def test_requests_that_were_sent_before_it_opened_do_not_count() -> None:
    circuit = Circuit()
    early = [circuit.breaker.admit() for _ in range(10)]
    for probe in early:
        circuit.breaker.failed(UnreachableError("refused"), 0.1, probe=probe)
    circuit.now += 1
    assert circuit.fail(), "the pause is the first one"


@given(st.floats(0, 0.999))
def test_probes_are_spread_and_never_early(chance: float) -> None:
    circuit = Circuit(chance=chance)
    circuit.fail(seconds=5)
    circuit.now += 0.999
    assert not circuit.fail()
    circuit.now += 0.502
    assert circuit.fail()


def test_a_probe_that_is_abandoned_after_another_answer_leaves_the_circuit_closed() -> None:
    circuit = Circuit()
    early = circuit.breaker.admit()
    circuit.fail(seconds=5)
    circuit.now += 1
    probe = circuit.breaker.admit()
    circuit.breaker.answered(probe=early)
    circuit.breaker.abandoned(probe=probe)
    assert circuit.breaker.state is CircuitState.CLOSED
    assert not circuit.breaker.admit()
