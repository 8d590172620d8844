"""Edits of a Kyma's labels, as a verb of a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Verb, Work
from kymatui.domain.kyma_edit.label_edit import LabelProposal, Labels
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
    from kymatui.actions.edits.uninstall import UninstallConsent
    from kymatui.actions.plans import Uninstall
    from kymatui.domain.kyma_edit.edit_progress import EditProgress
    from kymatui.engine.jobs.run import Progress


class LabelPlan(Struct, frozen=True):
    """What an edit of labels changes and uninstalls."""

    proposal: LabelProposal
    uninstalls: tuple[Uninstall, ...] = ()


LabelItem = BatchItem[LabelPlan, str]


def plan_labels(edits: ClusterKymaEdits, labels: Labels, consent: UninstallConsent, timeout: float) -> LabelItem:
    """Plan the edit, with what still exists of modules that it uninstalls; nothing is written."""
    proposal = edits.propose_labels(labels)
    plan = LabelPlan(proposal)
    if proposal.edit is None or proposal.refusal:
        return LabelItem("labels", plan, refusal=RefusedError(proposal.refusal, hint="no changes made"))
    if proposal.edit.is_empty:
        return LabelItem("labels", plan, Work.NOTHING)
    modules = [effect.module for effect in proposal.effects if effect.uninstalls]
    found = edits.uninstalls(modules, consent, timeout)
    refusals = [f"{one.refusal} ({one.refusal.hint})" for one in found if one.refusal is not None]
    refusal = RefusedError("; ".join(refusals), hint="no changes made") if refusals else None
    return LabelItem("labels", replace(plan, uninstalls=found), refusal=refusal)


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
