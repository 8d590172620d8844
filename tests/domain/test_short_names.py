"""Short names of runtimes: no two of a fleet are ever alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.fleet.short_names import WIDEST, short_names

UUIDS = ("8229990c-4f0e-4a57-9d1b-6a2f0c1d2e3f", "1d0a77e2-4f0e-4a57-9d1b-0b7c93a8f611")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (UUIDS, ["1d0a77e2…", "8229990c…"]),
        ((*UUIDS, "8229990d-4f0e-4a57-9d1b-6a2f0c1d2e30"), ["1d0a77e2…", "8229990c…", "8229990d…"]),
        ((*UUIDS, "8229990c-4f1e-4a57-9d1b-6a2f0c1d2e30"), ["1d0a77e2…", "…0c1d2e3f", "…0c1d2e30"]),
        (("skr", "runtime-a"), []),
        (("team-platform-prod-eu10", "team-platform-prod-us10"), ["…rod-eu10", "…rod-us10"]),
        (("team-platform-1-runtime-x", "team-platform-2-runtime-x"), ["…1-runtime-x", "…2-runtime-x"]),
    ],
)
def test_the_part_that_tells_names_apart(names: tuple[str, ...], found: list[str]) -> None:
    short = short_names(names)
    assert [short[name] for name in sorted(short)] == found


@given(st.lists(st.text(alphabet="ab-", min_size=1, max_size=40), max_size=60))
def test_no_two_short_names_are_alike(names: list[str]) -> None:
    short = short_names(names)
    shown = [short.get(name, name) for name in set(names)]
    assert len(set(shown)) == len(shown)
    assert max(map(len, shown), default=0) <= WIDEST


def test_names_that_differ_in_the_middle_only_stay_apart() -> None:
    names = [f"{'a' * 20}{one:06}{'b' * 20}" for one in range(300)]
    assert len(set(short_names(names).values())) == 300
