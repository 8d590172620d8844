"""`kymatui manifest NAME`: a module by a Manifest of kymatui's own operator, installed or moved to another version."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kymatui.actions.jobs import job_cluster
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import CommandContext, add_running, open_context, waiting_note
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.options.unknown_names import require_known
from kymatui.cli.output.manifest_results import manifest_results
from kymatui.cli.output.printing import print_line, print_text
from kymatui.errors import UsageError

if TYPE_CHECKING:
    from kymatui.actions.modules.manifest import ManifestAction, ManifestLeg, ManifestProposal
    from kymatui.domain.plans.manifest_body import ManifestProgress


class ManifestCommand:
    """What it writes is shown first; the operator does the rest, and is followed."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        what = "module whose ModuleTemplate names a registry; several names make one plan"
        parser.add_argument("names", metavar="NAME", nargs="+", help=what)
        parser.add_argument(
            "--version", metavar="VERSION", default="", help="version to install (default: newest stable)"
        )
        parser.add_argument(
            "--force", action="store_true", help="repair: overwrite fields of other field managers; the plan lists them"
        )
        parser.add_argument(
            "--allow-downgrade", action="store_true", help="allow a version lower than the installed one"
        )
        parser.set_defaults(creates_namespace=True)
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        from kymatui.actions.modules.manifest import ManifestAction

        names = list(dict.fromkeys(args.names))
        if args.version and len(names) > 1:
            raise UsageError("--version works with one module only", hint="run the command once for each module")
        with open_context(args, once=args.dry_run) as place:
            require_known(place.session, names, None)
            action = ManifestAction(place.session)
            named = [(name, args.version) for name in names]
            legs = action.plan(named, force=args.force, allow_downgrade=args.allow_downgrade)
            return _carry_out(place, action, legs)


MANIFEST = ManifestCommand()


def _carry_out(place: CommandContext, action: ManifestAction, legs: Sequence[ManifestLeg]) -> int:
    """Make all edits or none. Return the exit status."""
    from kymatui.actions.modules.manifest import ManifestControls

    args = place.args
    results = manifest_results(place.target, args, place.cluster.name, legs)
    todo = [leg for leg in legs if not leg.is_same]
    if (status := results.refuse(legs)) is not None:
        return status
    if not todo:
        return results.show(legs, "unchanged")
    if args.dry_run:
        return results.show(legs, "planned")
    if args.output == "table":
        print_text(results.text(legs, "table"), sys.stderr)
    confirm(place.target, results.action(todo), yes=args.yes)
    names = [leg.module for leg in todo]
    title = f"manifest {', '.join(names)}"
    versions = {"version": todo[0].proposal.version} if len(todo) == 1 and todo[0].proposal is not None else {}
    with recorded_job(args, job_cluster(place.session), "manifest", names, title, versions) as (job, cancel):
        controls = ManifestControls(
            cancel, _print_progress, args.timeout, args.wait, wrote=_print_written, journal=job.journal
        )
        return results.end(action.run(legs, controls))


def _print_written(proposal: ManifestProposal) -> None:
    print_line(f"  {proposal.ref} written", sys.stderr)


def _print_progress(now: ManifestProgress) -> None:
    """Print the operator's progress to standard error."""
    print_line(f"  {now.message}{waiting_note(now.message, now.actor)}", sys.stderr)
