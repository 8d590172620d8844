"""The run of a campaign: one change of many runtimes or contexts, with one plan table, a question and the results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kymatui.actions.edits.campaign import (
    Campaign,
    CampaignEdit,
    CampaignItem,
    ClusterCampaign,
    ListedFleet,
    campaign_item,
    campaign_steps,
    campaign_target,
)
from kymatui.cli.cluster_options import uses_contexts
from kymatui.cli.options.batch_renderers import run_view
from kymatui.cli.options.contexts import chosen_contexts
from kymatui.cli.options.direct_install import no_changes_on_interrupt
from kymatui.cli.options.editing import action_words
from kymatui.cli.options.fleet_filters import choose, read_selected_fleet, require_drift
from kymatui.cli.options.uninstalls import consent_of
from kymatui.cli.options.unknown_names import require_in_fleet
from kymatui.cli.output.batch_view import BatchQuestion, BatchView
from kymatui.cli.output.printing import markdown, paragraph, print_line, print_message, table
from kymatui.cli.session_arguments import remote_options_of
from kymatui.domain.fleet.campaigns import (
    MAX_PARALLEL,
    CampaignChange,
    CampaignOutcome,
    CampaignPace,
    CampaignStep,
    count_outcomes,
    count_subjects,
    format_outcomes,
    job_runtimes,
    remaining_hint,
    subject_of,
    summarize_campaign,
)
from kymatui.domain.kubernetes.terminal_text import first_of, sanitize, to_sentence
from kymatui.domain.kyma_edit.module_edit import ModuleEdit, edit_options
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.plans.jobs import RUNTIMES
from kymatui.engine.jobs.job_records import JobRecord, join_runtimes
from kymatui.errors import KymatuiError, PartlyDoneError, RefusedError, UsageError
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.context_fleet import listed_contexts
from kymatui.sessions.control_plane.campaign_fleet import listed_fleet
from kymatui.sessions.deletions import edits_of

_HEADER = ("SERVER", "OUTCOME", "FIELD", "BEFORE", "AFTER", "EFFECT")


def edit_fleet(args: argparse.Namespace, toggle: ModuleEdit) -> int:
    """Edit the Kymas of runtimes or contexts as `run_campaign` does."""
    pace = pace_of(args)
    with no_changes_on_interrupt():
        listed, names, options = selected_contexts(args) if uses_contexts(args) else _selected_runtimes(args)
        campaign = Campaign(listed, edits_of, toggle, pace, consent_of(args))
        words = action_words([toggle])
        words = f"{words[:1].lower()}{words[1:]}"
        change = CampaignChange(toggle.verb.value, (toggle.module,), edit_options(toggle), words)

        def refuse_unknown() -> None:
            if options is not None:
                require_in_fleet(options, [toggle.module], [toggle.channel] if toggle.channel else [])

        return run_campaign(args, campaign, names, change, CampaignView, refuse_unknown)


def pace_of(args: argparse.Namespace) -> CampaignPace:
    if not 1 <= args.at_once <= MAX_PARALLEL or args.canaries < 0:
        raise UsageError(f"--at-once must be from 1 to {MAX_PARALLEL}, --canaries 0 or more")
    return CampaignPace(args.canaries, args.at_once, args.wait, args.timeout)


def run_campaign(
    args: argparse.Namespace,
    campaign: ClusterCampaign,
    names: Sequence[str],
    change: CampaignChange,
    view_of: Callable[[ClusterTarget, argparse.Namespace, CampaignChange, Sequence[str]], CampaignView],
    refuse_unknown: Callable[[], None] = lambda: None,
) -> int:
    """Plan, ask, and change; stop at the first failure. The same words go on where it stopped."""
    steps = campaign.plan(names)
    items = [campaign_item(step) for step in steps]
    target = campaign.target
    assert target is not None
    if all(item.refusal for item in items):
        refuse_unknown()
    is_resumed = getattr(args, "resumed_job", None) is not None
    view = view_of(target, args, change, job_runtimes(steps, is_resumed=is_resumed))
    return run_view(items, CampaignEdit(campaign, _print_step), view, lambda: campaign.home, skips_refused=True)


def selected_contexts(args: argparse.Namespace, **how: bool) -> tuple[ListedFleet, Sequence[str], None]:
    """Return what opens the contexts of a command line, and their names; `how` as of `listed_contexts`."""
    resumed: JobRecord | None = getattr(args, "resumed_job", None)
    session_options, known, chosen = chosen_contexts(args)
    names = resumed.runtimes if resumed is not None else [f"/{entry.name}" for entry in chosen]
    return listed_contexts(session_options, {entry.name: entry for entry in known}, **how), names, None


def _selected_runtimes(args: argparse.Namespace) -> tuple[ListedFleet, Sequence[str], SessionOptions]:
    """Return what opens the runtimes of a command line, their names, and their control plane."""
    options, _ = remote_options_of(args)
    if options.by_hand is not None or options.runtime:
        raise UsageError(
            "--fleet cannot be combined with --remote, --skr-kubeconfig or --skr-context",
            hint="select runtimes with --runtime NAME",
        )
    return listed_fleet(options), selected_runtimes(args, options), options.control


def selected_runtimes(args: argparse.Namespace, options: RemoteOptions) -> list[str]:
    """Return the names (with their namespaces) of the runtimes that the words choose, in order."""
    _, fleet, notes = read_selected_fleet(options.control, args.selector)
    for note in notes:
        print_message(note)
    require_drift(fleet, args)
    runtimes = choose(fleet, options.control, args)
    if not runtimes:
        raise UsageError("no runtime matches the options", hint="`kymatui fleet` lists the runtimes")
    return [f"{runtime.ref.namespace}/{runtime.name}" for runtime in runtimes]


def _print_step(step: CampaignStep) -> None:
    print_line(
        f"  {step.label}: {step.outcome.value}" + (f": {sanitize(step.message)}" if step.message else ""), sys.stderr
    )


class CampaignView(BatchView[CampaignStep, CampaignStep]):
    """A campaign in words and as a document."""

    def __init__(
        self, target: ClusterTarget, args: argparse.Namespace, change: CampaignChange, runtimes: Sequence[str]
    ) -> None:
        super().__init__(target, args, target.name, is_list=True)
        self.kind, self._change, self._runtimes = change.kind, change, runtimes

    def target(self, items: Sequence[CampaignItem]) -> ClusterTarget:
        """Return the control plane, or the contexts of these items."""
        return campaign_target(self._target, campaign_steps(items))

    def summary(self, items: Sequence[CampaignItem]) -> str:
        return summarize_campaign(campaign_steps(items))

    def parts(self, items: Sequence[CampaignItem], form: str) -> Iterator[str]:
        steps = campaign_steps(items)
        head = (subject_of(steps).upper(), *_HEADER)
        yield (markdown if form == "md" else table)(head, [row for step in steps for row in _rows(step)])
        yield from dict.fromkeys(paragraph(f"warning: {text}", form) for step in steps for text in step.warnings)

    def unchanged(self, items: Sequence[CampaignItem]) -> str:
        return self.text(items, self.args.output)

    def lines(self, items: Sequence[CampaignItem]) -> str:
        return self.text(items, self.args.output)

    def notices(self, items: Sequence[CampaignItem]) -> list[str]:
        """Return the order of the runtimes, and what stops the campaign."""
        pending = [item for item in items if item.is_pending]
        return [order] if (order := _order(campaign_steps(pending), self.args)) else []

    def document(self, items: Sequence[CampaignItem], outcome: str) -> dict[str, Any]:
        return _json(campaign_steps(items), self._change)

    def question(self, items: Sequence[CampaignItem]) -> BatchQuestion:
        """Return what is asked. Raise RefusedError without the option that allows it."""
        if not self.args.allow_fleet_writes:
            raise RefusedError(
                f"edits of several {subject_of(campaign_steps(items))}s need --allow-fleet-writes; no changes made",
                hint="--dry-run displays only the plan",
            )
        steps = campaign_steps(items)
        planned = sum(step.outcome is CampaignOutcome.PLANNED for step in steps)
        is_named = bool(self._target.contexts)  # by the question, which names its target
        many = "" if is_named else count_subjects(steps, planned or len(items))
        words = self._change.words
        action = " in ".join(filter(None, (to_sentence(words), many))) if planned else f"Wait for {many or 'the edit'}"
        return BatchQuestion(
            action,
            modules=self._change.modules,
            options={**self._change.options, RUNTIMES: join_runtimes(self._runtimes)},
            title=f"{words} in {count_subjects(steps)}",
        )

    def refusal(self, items: Sequence[CampaignItem]) -> KymatuiError:
        return _left_out(campaign_steps(items))

    def failure(self, items: Sequence[CampaignItem]) -> KymatuiError:
        if not any(item.result for item in items):
            return _left_out(campaign_steps(items))
        return PartlyDoneError(format_outcomes(campaign_steps(items)), hint=remaining_hint(campaign_steps(items)))


def _order(steps: Sequence[CampaignStep], args: argparse.Namespace) -> str:
    begun = [step.name for step in steps if step.outcome is CampaignOutcome.UNDER_WAY]
    planned = [step.name for step in steps if step.outcome is CampaignOutcome.PLANNED]
    canaries, rest = planned[: args.canaries], len(planned) - args.canaries
    fewer = f" (--canaries {args.canaries}, but no more {subject_of(steps)}s)" if len(planned) < args.canaries else ""
    first = "canaries, one by one" if canaries[1:] else "canary"
    sentences = [f"first wait for {subject_of(steps)}s an earlier run changed: {', '.join(begun)}"] if begun else []
    sentences += [f"{first}: {', '.join(canaries)}{fewer}"] if canaries else []
    sentences += [f"{'then ' if canaries else ''}{rest} more, {args.at_once} in parallel"] if rest > 0 else []
    return "; ".join([*sentences, "stop on failure"]) if sentences else ""


def _left_out(steps: Sequence[CampaignStep]) -> KymatuiError:
    """Return the error of an edit that leaves out all or some of the runtimes, as its end would be."""
    out = [step for step in steps if not step.is_good]
    reasons = first_of((f"{step.name} ({step.outcome.value}): {sanitize(step.message)}" for step in out), 3, "; ")
    kind = RefusedError if len(out) == len(steps) else PartlyDoneError
    return kind(f"{len(out)} of {count_subjects(steps)} cannot be changed: {reasons}", hint=remaining_hint(out))


def _rows(step: CampaignStep) -> list[tuple[str, ...]]:
    first = (
        [f"deletes {', '.join(owned_object.name for owned_object in step.blocking)} first"]
        if step.blocking and not step.message
        else []
    )
    words = step.message or "; ".join([*step.effects, *first])
    lines = step.lines or (("", "", ""),)
    return [
        (
            *((sanitize(step.label), step.server, step.outcome.value) if not index else ("", "", "")),
            *line,
            words if not index else "",
        )
        for index, line in enumerate(lines)
    ]


def _json(steps: Sequence[CampaignStep], change: CampaignChange) -> dict[str, Any]:
    return {
        "module": ", ".join(change.modules) or None,
        "verb": change.kind,
        "counts": {outcome.value: number for outcome, number in count_outcomes(steps).items()},
        f"{subject_of(steps)}s": [
            {
                subject_of(steps): step.label,
                "server": step.server or None,
                "outcome": step.outcome.value,
                "words": step.message or None,
                "changes": [{"field": line[0], "before": line[1], "after": line[2]} for line in step.lines],
                "effects": list(step.effects),
                "uninstalls": list(step.uninstalls),
                "blocking": [owned_object.name for owned_object in step.blocking],
                "warnings": list(step.warnings),
            }
            for step in steps
        ],
    }
