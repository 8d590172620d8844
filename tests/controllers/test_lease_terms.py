"""The term of a shard: writes only while it is certainly held, and an end that waits for them."""

from __future__ import annotations

import threading

import pytest

from kymatui.errors import CancelledError
from kymatui.operator.sharding.lease_term import LeaseTerm
from kymatui.operator.sharding.shard_holder import LeaseObserver, LeaseRecord


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def term(clock: Time) -> LeaseTerm:
    return LeaseTerm(3, 100.0, 9.0, clock)


def test_writes_begin_in_two_thirds_of_the_duration_and_end_before_it_is_over(term: LeaseTerm, clock: Time) -> None:
    for at, left in ((100.0, 8.1), (105.9, 2.2)):
        clock.now = at
        with term.writing() as seconds:
            assert seconds == pytest.approx(left)
    clock.now = 106.0
    with pytest.raises(CancelledError, match="no longer holds shard 3"), term.writing():
        pass


def test_a_renewal_counts_from_before_its_request_and_never_backwards(term: LeaseTerm, clock: Time) -> None:
    clock.now = 105.0
    term.renew(103.0)
    term.renew(101.0)
    held = []
    for clock.now in (108.9, 109.0):
        held.append(term.is_held)
    assert held == [True, False]
    assert not term.renew(109.0), "what was refused meanwhile is not tried again under this term"
    assert term.expires == 112.0


def test_an_ended_term_stays_ended(term: LeaseTerm, clock: Time) -> None:
    term.end()
    assert not term.renew(104.0)
    assert not term.is_held
    assert term.cancelled.is_set()


def test_the_end_waits_for_writes_that_are_under_way(term: LeaseTerm, clock: Time) -> None:
    done: list[bool] = []
    with term.writing():
        term.end()
        thread = threading.Thread(target=lambda: done.append(term.wait_written()))
        thread.start()
        thread.join(0.2)
        assert done == []
    thread.join(10)
    assert done == [True]


def test_a_write_without_an_end_keeps_the_lease_from_being_released(term: LeaseTerm, clock: Time) -> None:
    with term.writing():
        term.end()
        clock.now = 109.0
        assert not term.wait_written()


def record(version: str, holder: str = "a") -> LeaseRecord:
    return LeaseRecord("kymatui.operator-1", holder, version, 10.0, 0)


def test_a_lease_expires_by_how_long_it_was_observed_unchanged_whatever_its_times_are() -> None:
    observer = LeaseObserver(10.0)
    observer.observe([record("1")], 100.0)
    observer.observe([record("1")], 109.0)
    assert not observer.is_expired("kymatui.operator-1", 109.9)
    assert observer.is_expired("kymatui.operator-1", 110.0)
    observer.observe([record("2")], 110.0)
    assert not observer.is_expired("kymatui.operator-1", 119.9)
    assert observer.is_new("kymatui.operator-1")
    observer.observe([record("2")], 112.0)
    assert not observer.is_new("kymatui.operator-1")
