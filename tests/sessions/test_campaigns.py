"""One edit over many runtimes stops at the first failure, and at a wish; what was not begun is said."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Sequence
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from kymatui.actions.batch import BatchJob, run_items
from kymatui.actions.edits import campaign
from kymatui.actions.edits.campaign import (
    Campaign,
    CampaignEdit,
    CampaignItem,
    CampaignPort,
    campaign_item,
    campaign_steps,
)
from kymatui.domain.fleet.campaigns import CampaignOutcome, CampaignPace, CampaignStep
from kymatui.domain.kyma_edit.module_edit import EditProposal, EditVerb, ModuleEdit
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal, JournalMark
from kymatui.errors import CancelledError


class Rehearsal(Campaign):
    """Edits nothing: `bad` fail, and after `stop` somebody has had enough."""

    def __init__(self, pace: CampaignPace, bad: frozenset[str] = frozenset(), stop: str = "") -> None:
        super().__init__(lambda _: contextlib.nullcontext(Mock()), Mock(), ModuleEdit(EditVerb.ENABLE, "keda"), pace)
        self._bad, self._stop = bad, stop

    def edit(self, plane: CampaignPort, leg: CampaignStep, cancel: threading.Event, journal: Journal) -> CampaignStep:
        if leg.runtime == self._stop:
            cancel.set()
        return replace(leg, outcome=CampaignOutcome.FAILED if leg.runtime in self._bad else CampaignOutcome.DONE)


class Ended:
    """Keeps the steps of a run that was stopped, and displays nothing."""

    def __init__(self) -> None:
        self.steps: list[CampaignStep] = []

    def begin(self, items: Sequence[CampaignItem]) -> None:
        """Display nothing."""

    def stop(self, items: Sequence[CampaignItem]) -> None:
        self.steps = campaign_steps(items)


def steps_of_run(
    campaign: Campaign,
    steps: Sequence[CampaignStep],
    cancel: threading.Event,
    journal: Journal = NO_JOURNAL,
    ended: Callable[[CampaignStep], None] = lambda _: None,
) -> list[CampaignStep]:
    """Run a campaign; return each runtime with its outcome, also if it was stopped."""
    renderer = Ended()
    items = [campaign_item(step) for step in steps]
    try:
        return campaign_steps(run_items(items, CampaignEdit(campaign, ended), renderer, BatchJob(cancel, journal)))
    except CancelledError:
        return renderer.steps


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
    rehearsal = Rehearsal(CampaignPace(canaries=1, at_once=2), bad, stop)
    ended = steps_of_run(rehearsal, LEGS, threading.Event(), ended=lambda leg: told.append(leg.runtime))
    assert [leg.outcome for leg in ended] == expected
    assert told[:1] == [leg.runtime for leg in ended if leg.outcome in (D, F)][:1], "the canary"
    assert sorted(told) == [leg.runtime for leg in ended if leg.outcome in (D, F)], "two at once end in any order"


def test_a_second_interrupt_waits_for_no_runtime() -> None:
    never, ended = threading.Event(), list[str]()

    class Hanging(Rehearsal):
        def edit(self, plane: CampaignPort, leg: CampaignStep, *more: object) -> CampaignStep:
            del plane, more
            if leg.runtime == "r1":
                os.kill(os.getpid(), signal.SIGINT)
            never.wait(30)
            ended.append(leg.runtime)
            return leg

    with pytest.raises(KeyboardInterrupt):
        steps_of_run(Hanging(CampaignPace(canaries=0, at_once=2)), LEGS, threading.Event())
    never.set()
    assert ended == []


@pytest.mark.parametrize(
    ("is_made", "gone", "outcome", "message"),
    [
        (False, ("Function shop/a",), N, "the Kyma is not edited; 1 object deleted: Function shop/a"),
        (False, (), N, ""),
        (True, ("Function shop/a",), CampaignOutcome.ACCEPTED, "the Kyma is edited"),
    ],
    ids=["deleted", "nothing", "edited"],
)
def test_a_cancel_reaches_what_is_deleted_before_the_edit(
    is_made: bool, gone: tuple[str, ...], outcome: CampaignOutcome, message: str
) -> None:
    plane, cancel = Mock(), threading.Event()
    proposal = Mock(gone=False, is_refused=False, is_done=False, effects=(), warnings=())
    proposal.edit.lines.return_value = ()

    def delete_until_cancelled(_: object, stop: threading.Event, *__: object) -> int:
        cancel.set()
        assert stop.is_set(), "the cancel of the campaign"
        error = CancelledError("stopped")
        error.gone = gone
        raise error

    edits = Mock()
    edits.propose.return_value = proposal
    edits.carry_out.side_effect = delete_until_cancelled
    edits.is_made.return_value = is_made
    campaign = Campaign(
        lambda _: contextlib.nullcontext(plane),
        lambda _: edits,
        ModuleEdit(EditVerb.DISABLE, "serverless"),
        CampaignPace(),
    )
    journal = Journal(None, "", lambda: 0.0)
    planned = [CampaignStep("r0", CampaignOutcome.PLANNED)]
    (ended,) = steps_of_run(campaign, planned, cancel, journal)
    assert (ended.outcome, ended.message) == (outcome, message)
    (step,) = journal.steps
    assert step.mark is (JournalMark.BEGUN if is_made else JournalMark.FAILED), "the next run starts with it"


@pytest.mark.parametrize("waits", [True, False])
def test_a_campaign_releases_what_is_installed_directly(waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = EditProposal(ModuleEdit(EditVerb.ENABLE, "keda"), Mock(is_empty=True, lines=tuple, warnings=()), known=True)
    edits = Mock(propose=lambda _: made)
    edits.follow_all.return_value = [Mock(failed="", stage=Mock(held=False, message="keda is Ready"))]
    plane = Mock(has_contexts=False, name_runtime=lambda name, _: name)
    plane.begun.return_value = frozenset()
    plane.open.return_value.target.server = "server"
    for name, found in (("awaits_handover", True), ("planned_handover", "1 object"), ("complete_handover", "released")):
        monkeypatch.setattr(campaign, name, lambda *_, found=found: found)
    run = Campaign(lambda _: contextlib.nullcontext(plane), lambda _: edits, made.toggle, CampaignPace(wait=waits))
    (leg,) = run.plan(["kcp-system/a"])
    if not waits:
        assert (leg.outcome, leg.warnings) == (CampaignOutcome.UNCHANGED, ())
        return
    assert (leg.outcome, leg.warnings) == (CampaignOutcome.UNDER_WAY, ("1 object",))
    (ended,) = steps_of_run(run, [leg], threading.Event())
    assert (ended.outcome, ended.message) == (CampaignOutcome.DONE, "released")
