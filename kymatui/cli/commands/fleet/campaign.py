"""`kymatui enable|disable|… MODULE --fleet`: one edit over many runtimes, shown as one table before it is made."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

from kymatui.cli.options.confirmation import confirm, no_changes_on_interrupt
from kymatui.cli.options.editing import action_words
from kymatui.cli.options.fleet_filters import (
    FILTERS,
    add_fleet_filters,
    choose,
    read_selected_fleet,
    require_drift,
)
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.options.uninstalls import consent_of
from kymatui.cli.options.unknown_names import require_in_fleet
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import markdown, paragraph, print_line, print_message, print_text, table
from kymatui.cli.session_arguments import remote_options_of
from kymatui.domain.fleet.campaigns import (
    MAX_PARALLEL,
    CampaignOutcome,
    CampaignPace,
    CampaignStep,
    count_outcomes,
    format_outcomes,
    summarize_campaign,
)
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma_edit.module_edit import edit_options
from kymatui.domain.plans.jobs import RUNTIMES
from kymatui.errors import CancelledError, PartlyDoneError, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kymatui.actions.edits.campaign import Campaign
    from kymatui.adapters.sessions.cluster.session_options import RemoteOptions
    from kymatui.domain.kyma_edit.module_edit import ModuleEdit
    from kymatui.domain.plans.cluster_target import ClusterTarget

_HEADER = ("RUNTIME", "SERVER", "OUTCOME", "FIELD", "BEFORE", "AFTER", "EFFECT")


def add_fleet_options(parser: argparse.ArgumentParser) -> None:
    """Add `--fleet` with what chooses runtimes, and at which pace they are edited."""
    group = parser.add_argument_group("edit several runtimes of a control plane")
    group.add_argument("--fleet", action="store_true", help="edit all runtimes that the options below select")
    group.add_argument(
        "--allow-fleet-writes", action="store_true", help="allow edits; without it, only the plan is displayed"
    )
    add_fleet_filters(group, has_channel="--channel" in parser._option_string_actions)
    group.add_argument(
        "--canaries", type=int, default=1, metavar="N", help="number of runtimes to edit first, one by one (default: 1)"
    )
    group.add_argument(
        "--at-once",
        type=int,
        default=4,
        metavar="N",
        help="number of runtimes to edit in parallel after the canaries (default: 4)",
    )


_WITHOUT_FLEET: Final = {"selector": "", "drifting": False, "allow_fleet_writes": False, "canaries": 1, "at_once": 4}
_SELECTING: Final = dict.fromkeys((*FILTERS, *_WITHOUT_FLEET))


def refuse_fleet_options(args: argparse.Namespace) -> None:
    """Raise UsageError for an option that selects runtimes where `--fleet` is missing: it would edit another Kyma."""
    for name in _SELECTING:
        if getattr(args, name) != _WITHOUT_FLEET.get(name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} needs --fleet", hint="add --fleet, or name one runtime with --remote")


def run(args: argparse.Namespace, toggle: ModuleEdit) -> int:
    """Plan, ask, and edit; stop at the first failure. The same words go on where it stopped."""
    from kymatui.composition.campaign import open_campaign

    if not 1 <= args.at_once <= MAX_PARALLEL or args.canaries < 0:
        raise UsageError(f"--at-once must be from 1 to {MAX_PARALLEL}, --canaries 0 or more")
    options, _ = remote_options_of(args)
    if options.by_hand is not None or options.runtime:
        raise UsageError(
            "--fleet cannot be combined with --remote, --skr-kubeconfig or --skr-context",
            hint="select runtimes with --runtime NAME",
        )
    with no_changes_on_interrupt():
        pace = CampaignPace(args.canaries, args.at_once, args.wait, args.timeout)
        campaign = open_campaign(options, toggle, pace, consent_of(args))
        legs = campaign.plan(selected_runtimes(args, options))
        target = campaign.target
        assert target is not None
        if all(leg.outcome in (CampaignOutcome.REFUSED, CampaignOutcome.UNREACHED) for leg in legs):
            require_in_fleet(options.control, [toggle.module], [toggle.channel] if toggle.channel else [])
        planned, begun = (
            sum(leg.outcome is one for leg in legs) for one in (CampaignOutcome.PLANNED, CampaignOutcome.UNDER_WAY)
        )
        if args.dry_run or not planned + begun:
            print_text(_text(target, legs, toggle, args.output))
            if order := _pace(legs, args):
                print_line(order, sys.stderr)
            return _raise_left_out(legs)
        print_text(_text(target, legs, toggle, "table"), sys.stderr)
        print_text(_pace(legs, args), sys.stderr)
        _require_consent(args)
        many = format_count(planned or begun, "runtime")
        action = f"{action_words([toggle])} in {many}" if planned else f"Wait for {many}"
        confirm(target, action, yes=args.yes)
    return _carry_out(campaign, legs, toggle, target, args)


def _carry_out(
    campaign: Campaign,
    legs: Sequence[CampaignStep],
    toggle: ModuleEdit,
    target: ClusterTarget,
    args: argparse.Namespace,
) -> int:
    """Edit all runtimes as one job on the control plane."""
    runtimes = [leg.runtime for leg in legs if leg.is_ahead]
    words = action_words([toggle])
    title = f"{words[:1].lower()}{words[1:]} in {format_count(len(runtimes), 'runtime')}"
    chosen = {**edit_options(toggle), RUNTIMES: ",".join(runtimes)}
    with recorded_job(args, campaign.home, toggle.verb.value, [toggle.module], title, chosen) as (job, cancel):
        ended = campaign.carry_out(legs, _print_step, cancel, journal=job.journal)
        print_text(_text(target, ended, toggle, args.output))
        if cancel.is_set():
            raise CancelledError(format_outcomes(ended), progress=(campaign.progress(ended),))
        if not all(leg.is_good for leg in ended):
            hint = "run the command again to continue; completed runtimes are skipped"
            raise PartlyDoneError(format_outcomes(ended), hint=hint)
        return 0


def selected_runtimes(args: argparse.Namespace, options: RemoteOptions) -> list[str]:
    """Return the names (with their namespaces) of the runtimes that the words choose, in order."""
    _, fleet, notes = read_selected_fleet(options.control, args.selector)
    for note in notes:
        print_message(note)
    require_drift(fleet, args)
    found = choose(fleet, options.control, args)
    if not found:
        raise UsageError("no runtime matches the options", hint="`kymatui fleet` lists the runtimes")
    return [f"{runtime.ref.namespace}/{runtime.name}" for runtime in found]


def _pace(legs: Sequence[CampaignStep], args: argparse.Namespace) -> str:
    """Return the order of the runtimes, and what stops the campaign."""
    begun = [leg.name for leg in legs if leg.outcome is CampaignOutcome.UNDER_WAY]
    planned = [leg.name for leg in legs if leg.outcome is CampaignOutcome.PLANNED]
    canaries, rest = planned[: args.canaries], len(planned) - args.canaries
    fewer = f" (--canaries {args.canaries}, but no more runtimes)" if len(planned) < args.canaries else ""
    first = "canary" if len(canaries) == 1 else "canaries, one by one"
    said = [f"first wait for runtimes that an earlier run edited: {', '.join(begun)}"] if begun else []
    said += [f"{first}: {', '.join(canaries)}{fewer}"] if canaries else []
    said += [f"{'then ' if canaries else ''}{rest} more, {args.at_once} in parallel"] if rest > 0 else []
    return "; ".join([*said, "stop on failure"]) if said else ""


def _raise_left_out(legs: Sequence[CampaignStep]) -> int:
    """Raise what the edit leaves out, as its end would: all or some of the runtimes; 0 if it leaves out none."""
    out = [leg for leg in legs if not leg.is_good]
    if not out:
        return 0
    reasons = "; ".join(f"{leg.name} ({leg.outcome.label}): {sanitize(leg.message)}" for leg in out[:3])
    more = f"; and {len(out) - 3} more" if len(out) > 3 else ""
    kind = RefusedError if len(out) == len(legs) else PartlyDoneError
    raise kind(
        f"{len(out)} of {format_count(len(legs), 'runtime')} cannot be edited: {reasons}{more}",
        hint="fix this and run the command again; completed runtimes are skipped",
    )


def _require_consent(args: argparse.Namespace) -> None:
    if not args.allow_fleet_writes:
        raise RefusedError(
            "edits of several runtimes need --allow-fleet-writes; no changes made",
            hint="--dry-run displays only the plan",
        )


def _print_step(leg: CampaignStep) -> None:
    print_line(
        f"  {leg.runtime}: {leg.outcome.label}" + (f": {sanitize(leg.message)}" if leg.message else ""), sys.stderr
    )


def _text(target: ClusterTarget, legs: Sequence[CampaignStep], toggle: ModuleEdit, form: str) -> str:
    if form in ("json", "yaml"):
        return plan_document(target, _json(legs, toggle), form)
    rows = [row for leg in legs for row in _rows(leg)]
    warnings = dict.fromkeys(paragraph(f"warning: {text}", form) for leg in legs for text in leg.warnings)
    drawn = (markdown if form == "md" else table)(_HEADER, rows)
    return plan_text(target, summarize_campaign(legs), "\n\n".join([drawn, *warnings]), form)


def _rows(leg: CampaignStep) -> list[tuple[str, ...]]:
    first = [f"deletes {', '.join(one.name for one in leg.blocking)} first"] if leg.blocking and not leg.message else []
    words = leg.message or "; ".join([*leg.effects, *first])
    lines = leg.lines or (("", "", ""),)
    return [
        (
            *((leg.runtime, leg.server, leg.outcome.label) if not index else ("", "", "")),
            *line,
            words if not index else "",
        )
        for index, line in enumerate(lines)
    ]


def _json(legs: Sequence[CampaignStep], toggle: ModuleEdit) -> dict[str, Any]:
    return {
        "module": toggle.module,
        "verb": toggle.verb.value,
        "counts": {outcome.value: number for outcome, number in count_outcomes(legs).items()},
        "runtimes": [
            {
                "runtime": leg.runtime,
                "server": leg.server or None,
                "outcome": leg.outcome.value,
                "words": leg.message or None,
                "changes": [{"field": line[0], "before": line[1], "after": line[2]} for line in leg.lines],
                "effects": list(leg.effects),
                "uninstalls": list(leg.uninstalls),
                "blocking": [one.name for one in leg.blocking],
                "warnings": list(leg.warnings),
            }
            for leg in legs
        ],
    }
