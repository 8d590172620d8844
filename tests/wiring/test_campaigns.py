"""One edit over many runtimes stops at the first failure, and at a wish; what was not begun is said."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest.mock import Mock, create_autospec

import pytest

from kymatui.domain.campaigns import Leg, Outcome
from kymatui.domain.toggling import Toggle, Verb
from kymatui.wiring.campaign_books import CampaignBook
from kymatui.wiring.campaigns import Campaign, Pace
from kymatui.wiring.control_planes import ControlPlane
from kymatui.wiring.options import SessionOptions
from kymatui.wiring.remote import RemoteOptions


class Rehearsal(Campaign):
    """Edits nothing: `bad` fail, and after `stop` somebody has had enough."""

    def __init__(self, pace: Pace, bad: frozenset[str] = frozenset(), stop: str = "") -> None:
        super().__init__(RemoteOptions(SessionOptions()), Toggle(Verb.ENABLE, "keda"), pace)
        self._bad, self._stop = bad, stop

    @contextlib.contextmanager
    def _listed(self, runtimes: Sequence[str]) -> Iterator[ControlPlane]:
        plane = create_autospec(ControlPlane, instance=True)
        plane.home = Mock()
        yield plane

    @contextlib.contextmanager
    def _written(self, context: str) -> Iterator[CampaignBook]:
        yield create_autospec(CampaignBook, instance=True)

    def _edited(self, plane: ControlPlane, leg: Leg, cancel: threading.Event, book: CampaignBook) -> Leg:
        if leg.runtime == self._stop:
            cancel.set()
        return replace(leg, outcome=Outcome.FAILED if leg.runtime in self._bad else Outcome.DONE)


LEGS = [Leg("z", Outcome.REFUSED), *(Leg(f"r{number}", Outcome.PLANNED) for number in range(6))]
D, F, N, R = Outcome.DONE, Outcome.FAILED, Outcome.NOT_BEGUN, Outcome.REFUSED


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
def test_nothing_is_begun_after_a_failure(bad: frozenset[str], stop: str, expected: list[Outcome]) -> None:
    told: list[str] = []
    campaign = Rehearsal(Pace(canaries=1, at_once=2), bad, stop)
    ended = campaign.carry_out(LEGS, lambda leg: told.append(leg.runtime), threading.Event())
    assert [leg.outcome for leg in ended] == expected
    assert told == [leg.runtime for leg in ended if leg.outcome in (D, F)]
