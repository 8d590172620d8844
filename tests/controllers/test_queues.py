"""The queue of a controller: once each, one hand at a time, later after a failure."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.errors import CancelledError, KymatuiError, ServerError
from kymatui.operator.framework import work_queue
from kymatui.operator.framework.work_queue import LOW_TURN, Workers, WorkQueue


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def queue(clock: Time) -> WorkQueue[str]:
    return WorkQueue(clock=clock, chance=lambda: 0.0)


def taken(queue: WorkQueue[str]) -> list[str]:
    """All that is handed out now; each is done at once."""
    found = []
    while (key := queue.take(0)) is not None:
        found.append(key)
        queue.done(key)
    return found


def test_keys_come_in_the_order_in_which_they_were_added_and_once_each(queue: WorkQueue[str]) -> None:
    for key in ("a", "b", "a", "c", "b"):
        queue.add(key)
    assert len(queue) == 3
    assert taken(queue) == ["a", "b", "c"]


def test_what_is_added_while_it_is_worked_on_comes_again_when_that_is_done(queue: WorkQueue[str]) -> None:
    queue.add("a")
    assert queue.take(0) == "a"
    queue.add("a")
    queue.add("a")
    assert queue.take(0) is None, "it is in somebody's hand"
    queue.done("a")
    assert taken(queue) == ["a"]


def test_changes_go_before_what_is_reconciled_without_one(queue: WorkQueue[str], clock: Time) -> None:
    queue.add_after("resync", 60)
    queue.add_after("retry", 1)
    clock.now += 100
    queue.add("start", low=True)
    queue.add("both", low=True)
    queue.add("changed")
    queue.add("both")
    queue.add("both", low=True)
    assert len(queue) == 5
    assert taken(queue) == ["changed", "both", "retry", "start", "resync"]


def test_changes_without_end_leave_a_turn_for_the_others(queue: WorkQueue[str]) -> None:
    queue.add("start", low=True)
    queue.add("resync", low=True)
    found = []
    for number in range(3 * LOW_TURN):
        queue.add(f"changed-{number}")
        key = queue.take(0)
        assert key is not None
        queue.done(key)
        found.append(key)
    assert [found.index("start"), found.index("resync")] == [LOW_TURN - 1, 2 * LOW_TURN - 1]


def test_what_is_for_later_comes_later(queue: WorkQueue[str], clock: Time) -> None:
    queue.add_after("a", 10)
    assert taken(queue) == []
    clock.now += 9.9
    assert taken(queue) == []
    clock.now += 0.2
    assert taken(queue) == ["a"]


def test_the_earliest_of_several_times_counts_and_only_once(queue: WorkQueue[str], clock: Time) -> None:
    queue.add_after("a", 10)
    queue.add_after("a", 5)
    queue.add_after("a", 20)
    clock.now += 6
    assert taken(queue) == ["a"]
    clock.now += 60
    assert taken(queue) == []


def test_what_is_added_now_does_not_come_a_second_time_for_having_been_for_later(
    queue: WorkQueue[str], clock: Time
) -> None:
    queue.add_after("a", 10)
    queue.add("a")
    assert taken(queue) == ["a"]
    clock.now += 60
    assert taken(queue) == []


def test_failures_come_back_ever_later_until_it_goes_well(clock: Time) -> None:
    queue: WorkQueue[str] = WorkQueue(backoff=Backoff(1, 10), clock=clock, chance=lambda: 0.0)
    assert [queue.retry("a") for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    assert queue.retry("b") == 1, "each key has its own"
    queue.forget("a")
    assert queue.retry("a") == 1


@given(st.floats(0, 0.999))
def test_delays_are_spread_and_never_shortened(chance: float) -> None:
    clock = Time()
    queue: WorkQueue[str] = WorkQueue(clock=clock, chance=lambda: chance)
    queue.add_after("a", 100)
    clock.now += 99.999
    assert taken(queue) == []
    clock.now = 100 + 120
    assert taken(queue) == ["a"]


def test_nobody_waits_at_a_queue_that_is_closed() -> None:
    queue: WorkQueue[str] = WorkQueue()
    got: list[str | None] = []
    thread = threading.Thread(target=lambda: got.append(queue.take()))
    thread.start()
    queue.close()
    thread.join(10)
    assert got == [None]
    queue.add("a")
    assert queue.take() is None


def test_who_waits_is_woken_by_what_comes_due() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("a", 0.01)
    assert queue.take(10) == "a"


# workers


class Work:
    """Reconciles nothing, and remembers when it was asked to; fails while there is a failure left."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.seen: list[str] = []
        self.told: list[tuple[str, str, float]] = []
        self.finished = threading.Event()
        self.most_at_once: dict[str, int] = {}
        self._at_once: dict[str, int] = {}
        self._lock = threading.Lock()

    def reconcile(self, key: str, cancel: threading.Event) -> float | None:
        with self._lock:
            self._at_once[key] = self._at_once.get(key, 0) + 1
            self.most_at_once[key] = max(self.most_at_once.get(key, 0), self._at_once[key])
            self.seen.append(key)
        try:
            if self.failures:
                raise self.failures.pop(0)
            return None
        finally:
            with self._lock:
                self._at_once[key] -= 1
            if not self.failures:
                self.finished.set()

    def tell(self, key: str, error: KymatuiError, seconds: float) -> None:
        self.told.append((key, str(error), seconds))


def test_a_failure_is_told_and_tried_again() -> None:
    queue: WorkQueue[str] = WorkQueue(backoff=Backoff(0.01, 120.0))
    work = Work(ServerError("busy"), ServerError("still busy"))
    workers = Workers("test", queue, work.reconcile, work.tell, workers=2)
    workers.start()
    queue.add("a")
    assert work.finished.wait(10)
    workers.stop()
    assert workers.join(10)
    assert work.told == [("a", "busy", 0.01), ("a", "still busy", 0.02)]


def test_one_key_is_in_one_hand_at_a_time() -> None:
    queue: WorkQueue[str] = WorkQueue()
    work = Work()
    workers = Workers("test", queue, work.reconcile, work.tell, workers=4)
    workers.start()
    for _ in range(500):
        queue.add("a")
        queue.add("b")
    assert work.finished.wait(10)
    workers.stop()
    assert workers.join(10)
    assert set(work.most_at_once.values()) == {1}


def test_a_defect_ends_all_and_is_not_swallowed() -> None:
    queue: WorkQueue[str] = WorkQueue()
    work = Work(ZeroDivisionError("a defect"))
    workers = Workers("test", queue, work.reconcile, work.tell)
    workers.start()
    queue.add("a")
    with pytest.raises(ZeroDivisionError):
        workers.join(10)


def test_held_workers_are_relieved_while_keys_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_queue, "SLOW", 0.1)
    queue: WorkQueue[str] = WorkQueue()
    release, done = threading.Event(), threading.Event()

    def reconcile(key: str, cancel: threading.Event) -> float | None:
        if key == "good":
            done.set()
        else:
            release.wait(30)
        return None

    workers = Workers("test", queue, reconcile, Work().tell, workers=2)
    workers.start()
    try:
        for number in range(10):
            queue.add(f"hanging-{number}")
        queue.add("good")
        deadline = time.monotonic() + 60
        while not done.wait(0.1):
            workers.relieve()
            assert time.monotonic() < deadline, "the good one waits for those that hang"
        assert not release.is_set()
    finally:
        release.set()
        workers.stop()
    assert workers.join(10)


def test_a_key_whose_reconciliation_was_cancelled_is_dropped_and_the_worker_goes_on() -> None:
    queue: WorkQueue[str] = WorkQueue()
    work = Work(CancelledError("its shard is held by another replica now"))
    workers = Workers("test", queue, work.reconcile, work.tell, workers=1)
    workers.start()
    queue.add("lost")
    queue.add("next")
    deadline = time.monotonic() + 10
    while len(work.seen) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    workers.stop()
    assert workers.join(10)
    assert (work.seen, work.told) == (["lost", "next"], [])
