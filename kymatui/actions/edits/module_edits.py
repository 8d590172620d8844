"""Edits of modules in a Kyma, as a verb of a batch: one patch each, then one wait for the effects of all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Verb, Work
from kymatui.actions.edits.edit_watch import StartedEdit
from kymatui.actions.edits.handover import awaits_handover, complete_handover
from kymatui.domain.gitops import GitChanges, joined_changes
from kymatui.domain.kyma_edit.label_edit import LabelProposal, Labels
from kymatui.domain.kyma_edit.module_edit import EditProposal, EditVerb, ModuleEdit
from kymatui.engine.jobs.job_progress import EDIT_WORDS, JobProgress
from kymatui.engine.jobs.run import Progress
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
    from kymatui.actions.edits.uninstall import UninstallConsent
    from kymatui.actions.plans import Uninstall
    from kymatui.domain.kyma_edit.edit_progress import EditProgress


class EditPlan(Struct, frozen=True):
    """What one edit changes.

    refusals        why it is not made, each with the option that allows it
    is_in_progress  the Kyma has it already, and its effect is not complete
    hands_over      only the release of what is installed directly is left to do
    stage           where an edit in progress stands
    """

    proposal: EditProposal
    uninstalls: tuple[Uninstall, ...] = ()
    refusals: tuple[str, ...] = ()
    is_in_progress: bool = False
    hands_over: bool = False
    stage: str = ""

    @property
    def git(self) -> GitChanges:
        return joined_changes((self.proposal, *self.uninstalls))

    @property
    def unblocks(self) -> bool:
        """Return whether it is in progress, and what blocks it is deleted."""
        return self.is_in_progress and any(uninstall.blocking for uninstall in self.uninstalls)

    @property
    def edits(self) -> bool:
        return not self.is_in_progress and not self.hands_over and not self.proposal.is_done


class EditResult(Struct, frozen=True):
    """An edit of a run; `generation` is the Kyma's after it, 0 where the Kyma had it before."""

    message: str
    generation: int = 0


EditItem = BatchItem[EditPlan, EditResult]


def plan_edits(
    edits: ClusterKymaEdits,
    toggles: Sequence[ModuleEdit],
    consent: UninstallConsent,
    timeout: float,
    *,
    waits: bool = True,
    is_resumed: bool = False,
) -> list[EditItem]:
    """Plan each edit, with what still exists of modules that it uninstalls; nothing is written."""
    return [_planned(edits, edit, consent, timeout, waits=waits, is_resumed=is_resumed) for edit in toggles]


def _planned(
    edits: ClusterKymaEdits,
    toggle: ModuleEdit,
    consent: UninstallConsent,
    timeout: float,
    *,
    waits: bool,
    is_resumed: bool,
) -> EditItem:
    proposal = edits.propose(toggle)
    in_progress = waits and _is_in_progress(edits, proposal)
    hands_over = waits and not in_progress and toggle.takes_up and proposal.is_done and awaits_handover(edits, toggle)
    stage = edits.standing(proposal).message if in_progress else ""
    if (in_progress or is_resumed) and proposal.gone:  # the Kyma does not request it: there is nothing to refuse
        proposal = replace(proposal, refusals=())
    modules = [effect.module for effect in proposal.effects if effect.uninstalls]
    if in_progress and toggle.verb is EditVerb.DISABLE and consent.cascade:
        modules = [toggle.module]
    uninstalls = () if proposal.is_refused else edits.uninstalls(modules, consent, timeout)
    uninstalled = [uninstall.refusal.with_hint for uninstall in uninstalls if uninstall.refusal is not None]
    refusals = (*proposal.refusals, *uninstalled)
    return edit_item(EditPlan(proposal, uninstalls, refusals, in_progress, hands_over and not refusals, stage))


def edit_item(plan: EditPlan) -> EditItem:
    """Return a planned edit for a batch."""
    module = plan.proposal.toggle.module
    if plan.is_in_progress and not plan.unblocks:
        return EditItem(module, plan, Work.WAIT)
    refusal = RefusedError("; ".join(plan.refusals), unchanged=True) if plan.refusals else None
    is_done = plan.proposal.is_done and not plan.hands_over and not plan.unblocks
    return EditItem(module, plan, Work.NOTHING if is_done and refusal is None else Work.CHANGE, refusal)


def _is_in_progress(edits: ClusterKymaEdits, proposal: EditProposal) -> bool:
    """Return whether the Kyma already has the edit and its effect is not complete; it is awaited as after an edit."""
    if proposal.edit is None or not (proposal.is_done or proposal.gone):
        return False
    entry = proposal.edit.before
    if entry is not None and entry.get("managed") is False and proposal.toggle.verb is not EditVerb.UNMANAGE:
        return False  # lifecycle-manager leaves it as it is
    return not edits.standing(proposal).finished


class EditControls(Struct, frozen=True):
    """How edits are followed.

    progress  of deletions that come before an edit
    edited    is called with each module that is edited
    written   is called when all edits are made
    staged    is called with a module and where its edit stands
    changed   is set whenever the session's snapshot changes
    """

    timeout: float
    progress: Callable[[Progress], None]
    staged: Callable[[str, EditProgress], None]
    edited: Callable[[str], None] = lambda module: None
    written: Callable[[], None] = lambda: None
    changed: threading.Event = field(default_factory=threading.Event)
    wait: bool = True
    unattended: bool = False


class ModuleEditing(Verb[EditPlan, EditResult]):
    """The edit of each module's entry; a failure stops no other edit."""

    def __init__(self, edits: ClusterKymaEdits, controls: EditControls) -> None:
        self._edits, self._controls = edits, controls

    def run(self, item: EditItem, job: BatchJob) -> EditItem:
        plan, progress = item.required_plan, self._controls.progress
        if plan.unblocks:
            self._edits.unblock(plan.uninstalls, job.cancel, progress, job.journal)
        if not plan.edits:
            return item
        generation = self._edits.carry_out(plan.proposal, job.cancel, plan.uninstalls, progress, job.journal)
        self._controls.edited(item.name)
        return replace(item, result=EditResult("Kyma edited", generation))

    def follow(self, items: list[EditItem], job: BatchJob) -> None:
        """Follow all edits at the same time, so that one that waits for the user does not block the others."""
        self._controls.written()
        followed = [number for number, item in enumerate(items) if item.runs and item.error is None]
        if self._controls.wait:
            self._follow(items, followed, job)
        for number in followed:
            if items[number].error is None:
                job.complete(items[number].name, None)

    def _follow(self, items: list[EditItem], followed: Sequence[int], job: BatchJob) -> None:
        controls = self._controls
        started = [StartedEdit(items[at].required_plan.proposal, _generation(items[at])) for at in followed]
        ends = self._edits.follow_all(
            started,
            controls.changed,
            controls.timeout,
            lambda number, stage: controls.staged(items[followed[number]].name, stage),
            job.cancel,
            unattended=controls.unattended,
        )
        for number, end in zip(followed, ends, strict=True):
            item, toggle = items[number], items[number].required_plan.proposal.toggle
            try:
                if end.failed:
                    raise PartlyDoneError(end.failed, hint=f"run `kymatui module {item.name}`")
                handed = complete_handover(self._edits, toggle) if toggle.takes_up else ""
                message = handed or end.stage.message
                items[number] = replace(item, result=EditResult(message, _generation(item)))
            except KymatuiError as error:
                items[number] = replace(item, error=error)

    def stopped(self, items: Sequence[EditItem], error: CancelledError) -> CancelledError:
        """Return the error with the edits that are made and not made, besides what it stopped in."""
        known = {name for part in error.progress for name in (*part.done, *(name for name, _ in part.ongoing))}
        open_items = [item for item in items if item.name not in known and item.required_plan.edits]
        ongoing = tuple((item.name, "") for item in open_items if item.result is not None)
        unfinished = tuple(item.name for item in open_items if item.result is None and item.is_pending)
        progress = (*error.progress, JobProgress(EDIT_WORDS, ongoing=ongoing, remaining=unfinished))
        return CancelledError(str(error), hint=error.hint, progress=progress, is_at_once=error.is_at_once)


def _generation(item: EditItem) -> int:
    return item.result.generation if item.result is not None else 0


# Edits of a Kyma's labels, as a verb of a batch.


class LabelPlan(Struct, frozen=True):
    """What an edit of labels changes and uninstalls."""

    proposal: LabelProposal
    uninstalls: tuple[Uninstall, ...] = ()

    @property
    def git(self) -> GitChanges:
        return joined_changes((self.proposal, *self.uninstalls))


LabelItem = BatchItem[LabelPlan, str]


def plan_labels(edits: ClusterKymaEdits, labels: Labels, consent: UninstallConsent, timeout: float) -> LabelItem:
    """Plan the edit, with what still exists of modules that it uninstalls; nothing is written."""
    proposal = edits.propose_labels(labels)
    plan = LabelPlan(proposal)
    if proposal.edit is None or proposal.refusal:
        return LabelItem("labels", plan, refusal=RefusedError(proposal.refusal, unchanged=True))
    if proposal.edit.is_empty:
        return LabelItem("labels", plan, Work.NOTHING)
    modules = [effect.module for effect in proposal.effects if effect.uninstalls]
    uninstalls = edits.uninstalls(modules, consent, timeout)
    refusals = [uninstall.refusal.with_hint for uninstall in uninstalls if uninstall.refusal is not None]
    refusal = RefusedError("; ".join(refusals), unchanged=True) if refusals else None
    return LabelItem("labels", replace(plan, uninstalls=uninstalls), refusal=refusal)


class LabelEditing(Verb[LabelPlan, str]):
    """The edit of labels, followed for `timeout` seconds; 0 for no wait. The result is a sentence."""

    def __init__(
        self,
        edits: ClusterKymaEdits,
        progress: Callable[[Progress], None],
        staged: Callable[[EditProgress], None],
        changed: threading.Event,
        timeout: float,
    ) -> None:
        self._edits, self._progress, self._staged = edits, progress, staged
        self._changed, self._timeout = changed, timeout

    def run(self, item: LabelItem, job: BatchJob) -> LabelItem:
        plan, edits = item.required_plan, self._edits
        edits.carry_out_labels(plan.proposal, job.cancel, plan.uninstalls, self._progress, job.journal)
        if not self._timeout:
            return replace(item, result="Kyma edited")
        stage = edits.follow_labels(plan.proposal, self._changed, self._timeout, self._staged, job.cancel)
        return replace(item, result=stage.message)
