"""`kymatui manifest NAME`: a module by a Manifest of kymatui's own operator, installed or moved to another version."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

from kymatui.actions.batch import run_batch
from kymatui.actions.jobs import job_cluster
from kymatui.cli.options.batch_renderers import renderer_of
from kymatui.cli.options.direct_install import add_running, open_context, waiting_note
from kymatui.cli.options.unknown_names import require_known
from kymatui.cli.output.manifest_results import ManifestView
from kymatui.cli.output.printing import print_line
from kymatui.errors import UsageError

if TYPE_CHECKING:
    from kymatui.actions.modules.manifest import ManifestProposal
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
        from kymatui.actions.modules.manifest import ManifestAction, ManifestControls, ManifestWriting

        names = list(dict.fromkeys(args.names))
        if args.version and len(names) > 1:
            raise UsageError("--version works with one module only", hint="run the command once for each module")
        with open_context(args, once=args.dry_run) as place:
            require_known(place.session, names, None)
            action = ManifestAction(place.session)
            named = [(name, args.version) for name in names]
            items = action.plan(named, force=args.force, allow_downgrade=args.allow_downgrade)
            controls = ManifestControls(_print_progress, args.timeout, args.wait, wrote=_print_written)
            view = ManifestView(place.target, args, place.cluster.name, is_list=len(items) != 1)
            renderer = renderer_of(view, partial(job_cluster, place.session))
            return run_batch(items, ManifestWriting(action, controls), renderer, dry_run=args.dry_run)


MANIFEST = ManifestCommand()


def _print_written(proposal: ManifestProposal) -> None:
    print_line(f"  {proposal.ref} written", sys.stderr)


def _print_progress(now: ManifestProgress) -> None:
    """Print the operator's progress to standard error."""
    print_line(f"  {now.message}{waiting_note(now.message, now.actor)}", sys.stderr)
