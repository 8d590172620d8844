"""Work side by side: in order, bounded, ended by the first failure and at once by a cancellation."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.engine.cluster.concurrency import is_pool_thread, run_for_each
from kymatui.errors import CancelledError


@given(st.lists(st.integers(), max_size=40), st.integers(1, 8))
def test_results_stand_in_the_order_of_the_items(items: list[int], width: int) -> None:
    assert run_for_each(items, lambda item: item + 1, threading.Event(), width) == [item + 1 for item in items]


def test_no_more_than_the_width_work_at_a_time() -> None:
    lock, here, most = threading.Lock(), [0], [0]
    meet = threading.Barrier(3)

    def work(item: int) -> bool:
        with lock:
            here[0] += 1
            most[0] = max(most[0], here[0])
        meet.wait(10)
        with lock:
            here[0] -= 1
        return is_pool_thread()

    assert run_for_each(range(9), work, threading.Event(), 3) == [True] * 9
    assert most == [3]
    assert not is_pool_thread()


def test_the_first_failure_ends_it_and_nothing_new_is_begun() -> None:
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        raise ValueError(str(item))

    with pytest.raises(ValueError, match=r"0|1"):
        run_for_each(range(100), work, threading.Event(), 2)
    assert len(begun) <= 3


def test_what_hangs_is_left_behind_when_the_run_is_cancelled() -> None:
    cancel, never = threading.Event(), threading.Event()

    def work(item: int) -> None:
        cancel.set()
        never.wait(30)

    with pytest.raises(CancelledError):
        run_for_each(range(4), work, cancel, 2)
    never.set()


def test_a_run_that_is_cancelled_already_begins_nothing() -> None:
    cancel = threading.Event()
    cancel.set()
    for width in (1, 4):
        with pytest.raises(CancelledError):
            run_for_each([1, 2], lambda item: pytest.fail("it was begun"), cancel, width)
