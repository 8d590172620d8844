"""The delays of retries: doubled up to a limit, and spread at random."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.kubernetes.backoff import Backoff


def test_a_delay_doubles_with_each_failure_up_to_the_longest() -> None:
    backoff = Backoff(0.5, 30.0)
    assert [backoff.delay(failures) for failures in (0, 1, 2, 5, 6, 10_000)] == [0.5, 1.0, 2.0, 16.0, 30.0, 30.0]


@pytest.mark.parametrize(
    ("low", "high", "chance", "expected"),
    [(0.5, 1.0, 0.0, 2.0), (0.5, 1.0, 1.0, 4.0), (1.0, 1.5, 0.0, 4.0), (1.0, 1.5, 0.5, 5.0)],
)
def test_the_random_number_moves_a_delay_between_its_bounds(
    low: float, high: float, chance: float, expected: float
) -> None:
    assert Backoff(1.0, 60.0, low, high).delay(2, lambda: chance) == expected


@given(st.integers(0, 100))
def test_a_spread_delay_stays_between_its_bounds(failures: int) -> None:
    plain, spread = Backoff(0.1, 5.0), Backoff(0.1, 5.0, 1.0, 1.25)
    assert plain.delay(failures) <= spread.delay(failures) <= 1.25 * plain.delay(failures)
