"""One edit over many runtimes stops at the first failure, and at a wish; what was not begun is said."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from unittest.mock import Mock

import pytest

from kymatui.actions.edits.campaign import Campaign, CampaignBook, CampaignPort
from kymatui.domain.fleet.campaigns import CampaignOutcome, CampaignPace, CampaignStep
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit


class Rehearsal(Campaign):
    """Edits nothing: `bad` fail, and after `stop` somebody has had enough."""

    def __init__(self, pace: CampaignPace, bad: frozenset[str] = frozenset(), stop: str = "") -> None:
        super().__init__(lambda _: contextlib.nullcontext(Mock()), ModuleEdit(EditVerb.ENABLE, "keda"), pace)
        self._bad, self._stop = bad, stop

    def _edited(
        self, plane: CampaignPort, leg: CampaignStep, cancel: threading.Event, book: CampaignBook
    ) -> CampaignStep:
        if leg.runtime == self._stop:
            cancel.set()
        return replace(leg, outcome=CampaignOutcome.FAILED if leg.runtime in self._bad else CampaignOutcome.DONE)


LEGS = [
    CampaignStep("z", CampaignOutcome.REFUSED),
    *(CampaignStep(f"r{number}", CampaignOutcome.PLANNED) for number in range(6)),
]
D, F, N, R = CampaignOutcome.DONE, CampaignOutcome.FAILED, CampaignOutcome.NOT_BEGUN, CampaignOutcome.REFUSED


@pytest.mark.parametrize(
    ("bad", "stop", "expected"),
    [
        (frozenset(), "", [R, D, D, D, D, D, D]),
        (frozenset({"r0"}), "", [R, F, N, N, N, N, N]),  # the canary
        (frozenset({"r2"}), "", [R, D, D, F, N, N, N]),  # what goes at the same time comes to its end
        (frozenset({"r5"}), "", [R, D, D, D, D, D, F]),
        (frozenset(), "r0", [R, D, N, N, N, N, N]),
    ],
)
def test_nothing_is_begun_after_a_failure(bad: frozenset[str], stop: str, expected: list[CampaignOutcome]) -> None:
    told: list[str] = []
    campaign = Rehearsal(CampaignPace(canaries=1, at_once=2), bad, stop)
    ended = campaign.carry_out(LEGS, lambda leg: told.append(leg.runtime), threading.Event())
    assert [leg.outcome for leg in ended] == expected
    assert told[:1] == [leg.runtime for leg in ended if leg.outcome in (D, F)][:1], "the canary"
    assert sorted(told) == [leg.runtime for leg in ended if leg.outcome in (D, F)], "two at once end in any order"
