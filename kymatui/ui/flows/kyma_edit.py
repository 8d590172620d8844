"""Edits of the Kyma from the screen: the choice, the plan, and the job that follows the effects."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, Work
from kymatui.actions.edits.cluster_edits import ClusterKymaEdits
from kymatui.actions.edits.handover import planned_handover
from kymatui.actions.edits.module_edits import (
    EditControls,
    EditItem,
    EditPlan,
    LabelEditing,
    LabelItem,
    ModuleEditing,
    edit_item,
    plan_edits,
    plan_labels,
)
from kymatui.actions.edits.uninstall import UninstallConsent
from kymatui.actions.jobs import FOLLOW_SECONDS, JobReport, JobSpec
from kymatui.domain.gitops import GitChanges, joined_changes
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.terminal_text import name_or_count, with_subject
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma_edit.edit_progress import EditPhase, EditProgress, edit_phases
from kymatui.domain.kyma_edit.label_edit import LABELS, LabelProposal
from kymatui.domain.kyma_edit.module_edit import EditProposal, EditVerb, ModuleEdit, edit_options, read_edit
from kymatui.domain.plans.jobs import KYMA_KEY, JobPurpose, module_key
from kymatui.domain.plans.plan_preview import PreviewVerdict, git_option
from kymatui.errors import KymatuiError
from kymatui.sessions.deletions import edits_of
from kymatui.ui.connection.cluster_link import ConnectionLink
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import run_batch_job, with_durations
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.flows.job_controller import JobRestart
from kymatui.ui.presenters.plans.kyma_edit_preview import edit_title, preview_edit, preview_label, split_proposals
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question

EDIT = "edit the Kyma"
_STAYS = "the Kyma edit stays, and its effect continues"
_TICKED = UninstallConsent(cascade=True)
OWN = "the Kyma's own"
SAME = "as it is"
_POLICIES = {
    Policy.CREATE_AND_DELETE: "the default CR is created and deleted with the module",
    Policy.IGNORE: "you create and delete the default CR",
}


def kyma_edit_action(app: FlowApp) -> ClusterKymaEdits:
    """Return the edits of the displayed cluster.

    Raises ConfigurationError before it is connected.
    """
    return edits_of(app.writing_session, app.view.flow_memory)


async def edit_modules(
    app: FlowApp, verb: EditVerb, modules: Sequence[str], presets: Mapping[str, str] | None = None
) -> None:
    """Run the flow from the choice to the job; `presets` has known answers ("channel", "policy")."""
    while True:
        chosen = dict(presets) if presets is not None else await _choose(app, verb, modules)
        if chosen is None:
            return
        toggles = [_toggle(verb, module, chosen) for module in modules]
        verdict = await _plan(app, toggles, partial(edit_modules, app, verb, modules, presets))
        if verdict is not PreviewVerdict.EDITED:
            return


def _toggle(verb: EditVerb, module: str, chosen: Mapping[str, str]) -> ModuleEdit:
    channel, policy = chosen.get("channel", SAME), chosen.get("policy", SAME)
    return ModuleEdit(
        verb,
        module,
        None if channel == SAME else "" if channel == OWN else channel,
        None if policy == SAME else Policy(policy),
    )


async def resume_edit(app: FlowApp, verb: EditVerb, modules: Sequence[str], options: Mapping[str, str]) -> None:
    """Resume an interrupted edit: follow it if it was applied, else plan it again."""
    edits = kyma_edit_action(app)
    toggles = [read_edit(verb, module, options) for module in modules]
    channel = OWN if toggles[0].channel == "" else toggles[0].channel
    chosen = {"channel": channel or SAME, "policy": toggles[0].policy or SAME}
    proposals = await app.jobs.in_thread(lambda: [edits.propose(edit) for edit in toggles])
    if not all(_is_made(proposal) for proposal in proposals):
        await edit_modules(app, verb, modules, chosen)
        return
    items = [edit_item(EditPlan(proposal, is_in_progress=True)) for proposal in proposals]
    work = replace(_work(items, edits, app.view.link), keeps=frozenset(map(module_key, modules)))
    work = replace(work, title=f"resume: {work.title}", steps=work.steps[1:])
    app.jobs.start(work, partial(resume_edit, app, verb, modules, options))


def _is_made(proposal: EditProposal) -> bool:
    """Return whether the Kyma already has the edit."""
    if proposal.toggle.verb is EditVerb.DISABLE:
        return proposal.edit is not None and proposal.edit.before is None
    return proposal.is_done


async def _plan(app: FlowApp, toggles: Sequence[ModuleEdit], again: JobRestart) -> PreviewVerdict:
    """Display the plan and start the job once it is accepted."""
    jobs, edits = app.jobs, kyma_edit_action(app)
    items = await jobs.in_thread(lambda: plan_edits(edits, toggles, _TICKED, float("inf"), waits=False))
    proposals, left_out = split_proposals([item.required_plan.proposal for item in items])
    uninstalls = [uninstall for item in items for uninstall in item.required_plan.uninstalls]
    may_write = await jobs.in_thread(lambda: all(_may_write(edits, proposal) for proposal in proposals))
    shown = preview_edit(proposals, app.view.management, may_write=may_write, left_out=left_out, uninstalls=uninstalls)
    notices = await jobs.in_thread(
        lambda: [planned_handover(edits, proposal.toggle) for proposal in proposals if proposal.toggle.takes_up]
    )
    shown = replace(shown, warnings=(*shown.warnings, *filter(None, notices)))
    shown = await with_durations(app, shown, _git(items))
    answer = await app.push_screen_wait(PlanScreen(shown, partial(_outdated, app, proposals)))
    if answer.is_yes:
        accepted = [replace(item, refusal=None) for item in items if item.required_plan.proposal in proposals]
        jobs.start(_work([item for item in accepted if item.is_pending], edits, app.view.link), again)
    return answer.verdict


def _git(items: Sequence[EditItem]) -> GitChanges:
    return joined_changes(item.required_plan for item in items)


def _may_write(edits: ClusterKymaEdits, proposal: EditProposal | LabelProposal) -> bool:
    """Return whether writing is allowed; True if unknown, since the server decides on the write."""
    try:
        return proposal.edit is None or edits.may_write(proposal)
    except KymatuiError:  # a failed access review proves nothing: the server refuses the write itself
        return True


def _outdated(app: FlowApp, proposals: Sequence[EditProposal]) -> str:
    """Return why the plan is outdated: an entry was changed since it was read; "" if none was."""
    for proposal in proposals:
        if proposal.edit is None or app.view.snapshot is None:
            continue
        kyma = next((raw for raw in app.view.kymas if read_ref(raw) == proposal.edit.kyma), None)
        if kyma is None:
            return f"{proposal.edit.kyma} was deleted"
        entries = [module.raw for module in JsonReader(kyma).child("spec").children("modules")]
        now = next((entry for entry in entries if entry.get("name") == proposal.edit.module), None)
        if now != proposal.edit.before:
            return f"the entry of {proposal.edit.module} in {proposal.edit.kyma} has changed"
    return ""


# the job


def _work(items: Sequence[EditItem], edits: ClusterKymaEdits, link: ConnectionLink[Any]) -> JobSpec:
    toggles = [item.required_plan.proposal.toggle for item in items]
    names = [edit.module for edit in toggles]
    phases = edit_phases(toggles[0].verb)
    run = partial(_run, items, edits, link, phases)
    options = {**edit_options(toggles[0]), **git_option(_git(items))}
    purpose = JobPurpose(toggles[0].verb.value, tuple(names), options)
    keeps = frozenset({KYMA_KEY, *map(module_key, names)})
    steps = (EDIT, *(phase.value for phase in phases))
    return JobSpec(edit_title(toggles), run, names[0] if not names[1:] else "", keeps, steps, _STAYS, purpose)


def _run(
    items: Sequence[EditItem],
    edits: ClusterKymaEdits,
    link: ConnectionLink[Any],
    phases: Sequence[EditPhase],
    report: JobReport,
) -> str:
    """Apply all edits with one patch each, then follow their effects; runs in a thread."""
    reporter = _EditReporter(items, phases, report)

    def release_kyma() -> None:
        report.let_go(KYMA_KEY)

    with link.listening() as changed:
        controls = EditControls(
            FOLLOW_SECONDS, report.progress, reporter.report_stage, reporter.report_edit, release_kyma, changed
        )
        if any(item.is_pending for item in items):
            report.step(EDIT)
        return run_batch_job(items, ModuleEditing(edits, controls), report, result_message)


def result_message(item: BatchItem[Any, Any]) -> str:
    return item.result.message if item.result is not None else ""


class _EditReporter:
    """Reporter that joins the stages of edits into the steps and log of their job: a step is the last edit's phase."""

    def __init__(self, items: Sequence[EditItem], phases: Sequence[EditPhase], report: JobReport) -> None:
        self._report, self._phases = report, list(phases)
        self._total = len(items)
        self._reached = {item.name: -1 for item in items if item.work is Work.WAIT}
        self._step = -1
        self._finished = set[str]()

    def report_edit(self, module: str) -> None:
        self._reached[module] = -1
        self._report.log(f"edited spec.modules[{module}]", done=len(self._reached), total=self._total)

    def report_stage(self, module: str, stage: EditProgress) -> None:
        if stage.phase in self._phases:
            self._reached[module] = self._phases.index(stage.phase)
        last = min(self._reached.values())
        if last > self._step:
            self._step = last
            self._report.step(self._phases[last].value)
        message = with_subject(module, stage.message)
        if not stage.finished:
            self._report.wait(message, stage.actor)
            return
        self._finished.add(module)
        self._reached[module] = len(self._phases) - 1
        self._report.log(message, done=len(self._finished), total=len(self._reached))


# the choice


async def _choose(app: FlowApp, verb: EditVerb, modules: Sequence[str]) -> dict[str, str] | None:
    questions = list(_questions(app, verb, modules))
    if not questions:
        return {}
    what = name_or_count(modules, "module")
    return await app.push_screen_wait(ChoiceScreen(f"{verb.value.capitalize()} {what}", questions))


def _questions(app: FlowApp, verb: EditVerb, modules: Sequence[str]) -> Iterator[Question]:
    if verb in (EditVerb.ENABLE, EditVerb.CHANNEL):
        yield Question("channel", "channel", tuple(_channels(app, modules)), _present_channel(app, modules))
    if verb in (EditVerb.ENABLE, EditVerb.POLICY):
        same = (
            (ChoiceOption(SAME, "keep the current policy", "CreateAndDelete unless the Kyma says otherwise"),)
            if verb is EditVerb.ENABLE
            else ()
        )
        options = tuple(ChoiceOption(policy.value, policy.value, words) for policy, words in _POLICIES.items())
        yield Question("policy", "default CR", (*same, *options), _present_policy(app, modules) if not same else SAME)


def _channels(app: FlowApp, modules: Sequence[str]) -> Iterator[ChoiceOption]:
    """Yield the Kyma's own channel, then every channel that has all modules, with their versions."""
    rows = [row for name in modules if app.catalog is not None and (row := app.catalog.row(name)) is not None]
    own = app.catalog.kyma.channel if app.catalog is not None and app.catalog.kyma is not None else ""
    label = f"the Kyma's channel ({own})" if own else "the Kyma's channel"
    yield ChoiceOption(OWN, label, _versions([row.channels.get(own, "none") for row in rows]))
    for channel in rows[0].channels if rows else ():
        if all(channel in row.channels for row in rows):
            yield ChoiceOption(channel, channel, _versions([row.channels[channel] for row in rows]))


def _versions(versions: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(versions))


def _present_channel(app: FlowApp, modules: Sequence[str]) -> str:
    row = app.catalog.row(modules[0]) if app.catalog is not None and modules else None
    own = app.catalog.kyma.channel if app.catalog is not None and app.catalog.kyma is not None else ""
    return row.channel if row is not None and row.managed and row.channel != own else OWN


def _present_policy(app: FlowApp, modules: Sequence[str]) -> str:
    row = app.catalog.row(modules[0]) if app.catalog is not None and modules else None
    return row.policy if row is not None and row.policy else Policy.CREATE_AND_DELETE.value


# labels


async def edit_labels(app: FlowApp, name: str, is_set: bool) -> None:
    """Allow or forbid "beta" or "internal" modules in the Kyma; the plan names what that uninstalls."""
    jobs, edits = app.jobs, kyma_edit_action(app)
    while True:
        labels = {LABELS[name]: "true" if is_set else None}
        item = await jobs.in_thread(partial(plan_labels, edits, labels, _TICKED, float("inf")))
        proposal, uninstalls = item.required_plan.proposal, item.required_plan.uninstalls
        may_write = await jobs.in_thread(partial(_may_write, edits, proposal))
        shown = preview_label(proposal, name, app.view.management, may_write=may_write, uninstalls=uninstalls)
        answer = await app.push_screen_wait(PlanScreen(await with_durations(app, shown, item.required_plan.git)))
        if answer.verdict is not PreviewVerdict.EDITED:
            break
    if answer.is_yes and proposal.edit is not None:
        words = f"{'allow' if is_set else 'stop allowing'} {name} modules"
        labels_word = f"{name}=true" if is_set else f"{name}-"
        run = partial(_run_label, replace(item, refusal=None), edits)
        purpose = JobPurpose("label", (), {"labels": labels_word, **git_option(item.required_plan.git)})
        work = JobSpec(words, run, keeps=frozenset({KYMA_KEY}), steps=(EDIT,), purpose=purpose)
        jobs.start(work, partial(edit_labels, app, name, is_set))


def _run_label(item: LabelItem, edits: ClusterKymaEdits, report: JobReport) -> str:
    verb = LabelEditing(edits, report.progress, lambda stage: None, threading.Event(), 0.0)
    return run_batch_job([item], verb, report, _label_line, lambda _: EDIT)


def _label_line(item: LabelItem) -> str:
    edit = item.required_plan.proposal.edit
    assert edit is not None
    return ", ".join(
        f"{change.label} set to {change.after}" if change.after else f"{change.label} removed"
        for change in edit.changes
    )


# reasons of disabled verbs


def why_edit_disabled(edits: ClusterKymaEdits, verb: EditVerb, modules: Sequence[str], channels: Sequence[str]) -> str:
    """Return why the verb is disabled for all modules; "" where it is enabled. Queries no server."""
    choices: list[str | None] = [None, *channels] if verb in (EditVerb.ENABLE, EditVerb.CHANNEL) else [None]
    policies = list(Policy) if verb is EditVerb.POLICY else [None]
    reasons = []
    if verb is EditVerb.ENABLE and all(edits.propose(ModuleEdit(verb, module)).is_done for module in modules):
        return "already enabled"
    for module in modules:
        for channel in choices:
            for policy in policies:
                proposal = edits.propose(ModuleEdit(verb, module, channel, policy))
                if not proposal.is_refused and not proposal.is_done:
                    return ""
                reasons.append("; ".join(proposal.refusals) or "already set")
    return reasons[0] if reasons else "no module selected"
