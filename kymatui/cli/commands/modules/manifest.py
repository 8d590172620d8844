"""`kymatui manifest NAME`: a module by a Manifest of kymatui's own operator, installed or moved to another version.

What it writes is displayed first; the operator does the rest, and is followed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kymatui.cli.cluster_options import add_option, add_options
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import add_running, open_context, waiting_note
from kymatui.cli.options.unknown_names import require_known
from kymatui.cli.output.batch_view import BatchQuestion, BatchView, reached_outcome
from kymatui.cli.output.printing import markdown, paragraph, print_line, table
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.plans.manifest_body import ManifestProgress
from kymatui.domain.plans.plan_preview import summarize_actions
from kymatui.errors import UsageError

if TYPE_CHECKING:
    from kymatui.actions.modules.manifest import ManifestItem, ManifestProposal, ManifestResult

    _View = BatchView[ManifestProposal, ManifestResult]
else:
    _View = BatchView


def configure(parser: argparse.ArgumentParser) -> None:
    what = "module whose ModuleTemplate names a registry; several names make one plan"
    add_option(parser, "names NAME", what, nargs="+")
    options = {
        "--version VERSION": "version to install (default: newest stable)",
        "--force": "repair: overwrite fields of other field managers; the plan lists them",
        "--allow-downgrade": "allow a version lower than the installed one",
    }
    add_options(parser, options, "")
    parser.set_defaults(creates_namespace=True)
    add_running(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.actions.modules.manifest import ManifestAction, ManifestControls, ManifestWriting

    names = list(dict.fromkeys(args.names))
    if args.version and len(names) > 1:
        raise UsageError("--version works with one module only", hint="run the command once for each module")
    with open_context(args, once=args.dry_run) as context:
        require_known(context.session, names, None)
        action = ManifestAction(context.session)
        named = [(name, args.version) for name in names]
        items = action.plan(named, force=args.force, allow_downgrade=args.allow_downgrade)
        controls = ManifestControls(_print_progress, args.timeout, args.wait, wrote=_print_written)
        view = ManifestView(context.target, args, context.cluster.name, is_list=len(items) != 1)
        return run_in_session(items, ManifestWriting(action, controls), view, context.session, at_home=True)


def _print_written(proposal: ManifestProposal) -> None:
    print_line(f"  {proposal.ref} written", sys.stderr)


def _print_progress(now: ManifestProgress) -> None:
    """Print the operator's progress to standard error."""
    print_line(f"  {now.message}{waiting_note(now.message, now.actor)}", sys.stderr)


class ManifestView(_View):
    """Manifests of kymatui's operator."""

    kind = "manifest"
    list_key = "manifests"

    def summary(self, items: Sequence[ManifestItem]) -> str:
        refused = "refused" if self.is_list else ""
        return summarize_actions((item.refusal and refused) or _what(item.required_plan) for item in items)

    def item_text(self, item: ManifestItem, form: str) -> str:
        return _proposal_text(item.required_plan, form)

    def row(self, item: ManifestItem) -> list[str]:
        if item.refusal is not None:
            return [item.name, "", f"refused: {self.trouble(item)}"]
        return [item.name, item.required_plan.version, _what(item.required_plan)]

    def unchanged(self, items: Sequence[ManifestItem]) -> str:
        if self.is_list:
            return "no changes: the Manifests have these versions already"
        return sanitize(f"no changes: {items[0].required_plan.ref} has this version already")

    def item_document(self, item: ManifestItem, outcome: str) -> dict[str, Any]:
        return _proposal_json(item.required_plan, outcome)

    def item_outcome(self, item: ManifestItem, outcome: str) -> str:
        return reached_outcome(item, outcome) if item.error is None else "unfinished"

    def question(self, items: Sequence[ManifestItem]) -> BatchQuestion:
        action = f"Apply {', '.join(str(item.required_plan.ref) for item in items)}"
        options = {} if self.is_list else {"version": items[0].required_plan.version}
        return BatchQuestion(action, options=options)

    def outcome(self, items: Sequence[ManifestItem]) -> str:
        return "done" if self.args.wait else "written"

    def lines(self, items: Sequence[ManifestItem]) -> str:
        done = [item.result.message for item in items if item.result is not None and item.error is None]
        return "\n".join(map(sanitize, done)) or "no module is complete"


def _what(proposal: ManifestProposal) -> str:
    return "same" if proposal.changes_nothing else "create" if proposal.live is None else "change"


def _proposal_text(proposal: ManifestProposal, form: str) -> str:
    """Return what is written where, line by line."""
    where = f" on {proposal.sides[0]}, for {proposal.sides[1]}" if proposal.sides else ""
    rows = [[_what(proposal), f"{proposal.ref}{where}", f"{proposal.module} {proposal.version}"]]
    parts = [(markdown if form == "md" else table)(("ACTION", "OBJECT", "MODULE"), rows)]
    parts.append("\n".join(paragraph(line, form) for line in proposal.diff))
    parts += [paragraph(f"warning: {sanitize(warning)}", form) for warning in proposal.warnings]
    return "\n\n".join(parts)


def _proposal_json(proposal: ManifestProposal, outcome: str) -> dict[str, Any]:
    """Return `{"object", "name", "version", "installed", "manifest", "conflicts", "operator", "warnings", …}`."""
    return {
        "object": str(proposal.ref),
        "name": proposal.module,
        "version": proposal.version,
        "installed": (proposal.live.version or None) if proposal.live is not None else None,
        "manifest": proposal.body,
        "conflicts": list(proposal.owners),
        "operator": proposal.operator.message or None,
        "warnings": list(proposal.warnings),
        "outcome": outcome,
    }
