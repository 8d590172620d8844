"""One edit over many runtimes stops at the first failure, and at a wish; what was not begun is said."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest.mock import Mock, create_autospec

import pytest

from kymatui.adapters.files.campaign_journal import CampaignJournal
from kymatui.adapters.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.adapters.sessions.control_plane.shared_feeds import ControlPlane
from kymatui.composition.campaign import Campaign, CampaignPace
from kymatui.domain.fleet.campaigns import CampaignOutcome, CampaignStep
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit


class Rehearsal(Campaign):
    """Edits nothing: `bad` fail, and after `stop` somebody has had enough."""

    def __init__(self, pace: CampaignPace, bad: frozenset[str] = frozenset(), stop: str = "") -> None:
        super().__init__(RemoteOptions(SessionOptions()), ModuleEdit(EditVerb.ENABLE, "keda"), pace)
        self._bad, self._stop = bad, stop

    @contextlib.contextmanager
    def _listed(self, runtimes: Sequence[str]) -> Iterator[ControlPlane]:
        plane = create_autospec(ControlPlane, instance=True)
        plane.home = Mock()
        yield plane

    @contextlib.contextmanager
    def _written(self, context: str) -> Iterator[CampaignJournal]:
        yield create_autospec(CampaignJournal, instance=True)

    def _edited(
        self, plane: ControlPlane, leg: CampaignStep, cancel: threading.Event, book: CampaignJournal
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
