"""`kymatui manifest NAME`: a module by a Manifest of kymatui's own operator, installed or moved to another version."""

from __future__ import annotations

import argparse
import sys
import threading
from typing import TYPE_CHECKING, Any

from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import CommandContext, add_running, cancellable, open_context
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import markdown, say, table
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.errors import KymatuiError, RefusedError, UsageError

if TYPE_CHECKING:
    from kymatui.composition.manifest import ManifestAction, ManifestProposal
    from kymatui.domain.plans.manifest_body import ManifestProgress


class ManifestCommand:
    """What it writes is shown first; the operator does the rest, and is followed."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        what = "a module whose template says in which registry it lies; several are one plan"
        parser.add_argument("names", metavar="NAME", nargs="+", help=what)
        parser.add_argument(
            "--version", metavar="VERSION", default="", help="default: the newest that is no pre-release"
        )
        parser.add_argument(
            "--force", action="store_true", help="take over fields that others own; the plan shows which"
        )
        parser.add_argument("--allow-downgrade", action="store_true", help="a lower version than is installed")
        parser.set_defaults(creates_namespace=True)
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.cli.commands.modules.manifest_batch import write_manifests
        from kymatui.composition.manifest import ManifestAction

        names = list(dict.fromkeys(args.names))
        if args.version and len(names) > 1:
            raise UsageError("--version is about one module", hint="name that alone")
        with open_context(args, once=args.dry_run) as place:
            manifesting = ManifestAction(place.session)
            if len(names) > 1:
                return write_manifests(place, manifesting, names)
            return _go(place, manifesting, manifesting.propose(names[0], args.version or manifesting.newest(names[0])))


MANIFEST = ManifestCommand()


def _go(place: CommandContext, manifesting: ManifestAction, proposal: ManifestProposal) -> int:
    args = place.args
    if args.dry_run:
        return _show(place, proposal, args.output, "planned")
    if proposal.changes_nothing:
        return _say(place, proposal, args.output, "unchanged", f"{proposal.ref} says so already")
    refuse_proposal(proposal, args)
    if args.output == "table":
        say(plan_text(place.target, proposal_text(proposal, "table"), "table"), sys.stderr)
    confirm(place.target, f"Write {proposal.ref}", yes=args.yes)
    try:
        with cancellable() as cancel:
            written = manifesting.carry_out(proposal)
            say(f"  {proposal.ref} is written", sys.stderr)
            if not args.wait:
                return _say(
                    place, proposal, args.output, "written", f"{proposal.ref} is written; the operator does the rest"
                )
            words = manifesting.follow(proposal, written, threading.Event(), print_progress, cancel, args.timeout)
    except KymatuiError:
        if args.output != "table":
            _show(place, proposal, args.output, "unfinished")
        raise
    return _say(place, proposal, args.output, "done", words)


def refuse_proposal(proposal: ManifestProposal, args: argparse.Namespace) -> None:
    """Raises RefusedError where it needs more than was said."""
    if not proposal.allowed:
        raise RefusedError(f"you may not patch {proposal.ref}", hint="nothing was changed")
    if proposal.lower and not args.allow_downgrade:
        raise RefusedError(
            f"{proposal.lower} is installed, and {proposal.version} is lower", hint="--allow-downgrade goes there"
        )
    if proposal.owners and not args.force:
        raise RefusedError(f"others own fields of it: {'; '.join(proposal.owners)}", hint="--force takes them")


def print_progress(now: ManifestProgress) -> None:
    """How far the operator is, on standard error."""
    waits = f" (waits for {now.actor.value})" if now.actor.value else ""
    say(f"  {sanitize(now.words)}{waits}", sys.stderr)


# printing


def _show(place: CommandContext, proposal: ManifestProposal, form: str, outcome: str) -> int:
    if form in ("json", "yaml"):
        say(plan_document(place.target, proposal_json(proposal, outcome), form))
    else:
        say(plan_text(place.target, proposal_text(proposal, form), form))
    return 0


def _say(place: CommandContext, proposal: ManifestProposal, form: str, outcome: str, words: str) -> int:
    if form in ("json", "yaml"):
        return _show(place, proposal, form, outcome)
    say(sanitize(words))
    return 0


def proposal_text(proposal: ManifestProposal, form: str) -> str:
    """What is written where, line by line."""
    action = "same" if proposal.changes_nothing else "create" if proposal.live is None else "change"
    where = f" on {proposal.sides[0]}, for {proposal.sides[1]}" if proposal.sides else ""
    rows = [[action, f"{proposal.ref}{where}", f"{proposal.module} {proposal.version}"]]
    parts = [(markdown if form == "md" else table)(("ACTION", "OBJECT", "WHAT"), rows)]
    parts.append("\n".join(sanitize(line) for line in proposal.diff))
    if not proposal.operator.works:
        parts.append(
            f"warning: {sanitize(proposal.operator.words)}: nothing follows until `kymatui operator` is started"
        )
    return "\n\n".join(parts)


def proposal_json(proposal: ManifestProposal, outcome: str) -> dict[str, Any]:
    """`{"object", "name", "version", "installed", "manifest", "conflicts", "operator", "outcome"}`."""
    return {
        "object": str(proposal.ref),
        "name": proposal.module,
        "version": proposal.version,
        "installed": (proposal.live.version or None) if proposal.live is not None else None,
        "manifest": proposal.body,
        "conflicts": list(proposal.owners),
        "operator": proposal.operator.words or None,
        "outcome": outcome,
    }
