"""One edit over many runtimes: the order, and what is counted."""

from __future__ import annotations

import pytest

from kymatui.domain.fleet.campaigns import CampaignOutcome, CampaignStep, count_outcomes, remaining_hint, waves


def legs(number: int) -> list[CampaignStep]:
    return [CampaignStep(f"r{index}", CampaignOutcome.PLANNED) for index in range(number)]


@pytest.mark.parametrize(
    ("number", "canaries", "at_once", "sizes"),
    [
        (0, 1, 4, []),
        (1, 1, 4, [1]),
        (7, 1, 4, [1, 4, 2]),
        (7, 3, 2, [1, 1, 1, 2, 2]),
        (3, 0, 8, [3]),
        (2, 5, 1, [1, 1]),
    ],
)
def test_canaries_come_first_and_then_so_many_at_once(
    number: int, canaries: int, at_once: int, sizes: list[int]
) -> None:
    found = waves(legs(number), canaries, at_once)
    assert [len(wave) for wave in found] == sizes
    assert [leg for wave in found for leg in wave] == legs(number)


def test_only_what_is_planned_is_carried_out() -> None:
    mixed = [*legs(2), CampaignStep("a", CampaignOutcome.REFUSED), CampaignStep("b", CampaignOutcome.UNCHANGED)]
    assert [leg.runtime for wave in waves(mixed, 1, 4) for leg in wave] == ["r0", "r1"]
    assert count_outcomes(mixed) == {
        CampaignOutcome.PLANNED: 2,
        CampaignOutcome.UNCHANGED: 1,
        CampaignOutcome.REFUSED: 1,
    }


_AGAIN = "run the command again to continue; completed runtimes are skipped"
_LOST, _DONE = CampaignOutcome.UNREACHABLE, CampaignOutcome.DONE


@pytest.mark.parametrize(
    ("outcomes", "hint"),
    [
        ([_DONE, CampaignOutcome.UNCHANGED], ""),
        ([_DONE, CampaignOutcome.STAYS], ""),
        ([_DONE, _LOST], "1 unreachable runtime is left; `kymatui audit --remote` says why"),
        ([CampaignOutcome.STAYS, _LOST, _LOST], "2 unreachable runtimes are left; `kymatui audit --remote` says why"),
        ([_DONE, _LOST, CampaignOutcome.NOT_BEGUN], _AGAIN),
        ([CampaignOutcome.FAILED], _AGAIN),
        ([CampaignOutcome.REFUSED, _LOST], "fix this and run the command again; completed runtimes are skipped"),
    ],
)
def test_a_repeated_command_is_advised_only_where_it_can_continue(outcomes: list[CampaignOutcome], hint: str) -> None:
    steps = [CampaignStep(f"kcp/r{number}", outcome) for number, outcome in enumerate(outcomes)]
    assert remaining_hint(steps) == hint
