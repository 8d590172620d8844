"""`kymatui delete NAME …`: one plan of all of them, one question, and then one deletion after the other.

No manager is deleted before what it manages, and nothing of others; modules of the Kyma go through the Kyma. One module
is a batch of one. What cannot be deleted refuses the whole; what fails on the way keeps no other from it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kymatui.actions.batch import Work
from kymatui.cli.cluster_options import add_option, add_options
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import CommandContext, ProgressPrinter, add_running, open_context
from kymatui.cli.options.uninstalls import BACKUP_OPTIONS, DELETION_OPTIONS
from kymatui.cli.output.batch_view import BatchQuestion, BatchView
from kymatui.cli.output.deletion import deletion_consequence, deletion_json, deletion_text
from kymatui.cli.output.plan_changes import deletion_summary
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize, with_subject
from kymatui.domain.kyma.kyma_keeper import with_keeper
from kymatui.errors import CancelledError, KymatuiError, RefusedError, UsageError

if TYPE_CHECKING:
    from kymatui.actions.delete import DeletionItem, DeletionResult
    from kymatui.actions.edits.session_deletions import SessionDeletions
    from kymatui.actions.plans import DeletionPlan, DeletionRequest

    _View = BatchView[DeletionPlan, DeletionResult]
else:
    _View = BatchView


def configure(parser: argparse.ArgumentParser) -> None:
    what = "module or release; several names make one plan and are deleted one after the other"
    add_option(parser, "names NAME", what, nargs="+")
    add_options(parser, DELETION_OPTIONS)
    add_option(
        parser,
        "--way",
        "who deletes the default CR of a managed module: lifecycle-manager (let), or kymatui after it set the "
        "policy to Ignore (ignore); unmanage keeps the module and stops its updates (default: let)",
        choices=("let", "ignore", "unmanage"),
        default="let",
    )
    text = (
        "also delete the CRDs of a chart's folder crds/ that have no objects and belong to no other installation "
        "(default: they stay, as with helm)"
    )
    add_options(parser, {"--delete-crds": text, **BACKUP_OPTIONS})
    add_running(parser)


def run(args: argparse.Namespace) -> int:
    names = list(dict.fromkeys(args.names))
    if args.backup and len(names) > 1:
        raise UsageError(
            "--backup works with one module only", hint="without --backup each module gets a file of its own"
        )
    with open_context(args, once=args.dry_run) as context:
        return delete_modules(context, names)


def delete_modules(
    context: CommandContext, names: Sequence[str], *, kind: str = "delete", delete_kymas: bool = False
) -> int:
    """Plan, ask and delete with the options of a command line; return the exit status.

    `kind` is the command for its journal; `delete_kymas` is for the operator, whose Kymas are then deleted first.
    """
    from kymatui.actions.delete import Deletion, RunControls
    from kymatui.sessions.deletions import deletions_of

    args, port = context.args, deletions_of(context.session, context.cluster)
    port.delete_kymas = delete_kymas
    items = _planned(context, port, names)
    verb = Deletion(port, RunControls(ProgressPrinter(), unattended=True, just_made=args.yes))
    view = DeletionView(context, kind, port, is_list=len(names) != 1)
    return run_in_session(items, verb, view, context.session)


def _planned(context: CommandContext, port: SessionDeletions, names: Sequence[str]) -> list[DeletionItem]:
    from kymatui.actions.delete import deletion_item, plan_deletions

    plans = plan_deletions(port, [_request(context, port, name) for name in names])
    for plan in plans if getattr(context.args, "resumed_job", None) is None else ():
        context.require_module(plan.state)
    return [deletion_item(plan) for plan in plans]


def _request(context: CommandContext, port: SessionDeletions, name: str) -> DeletionRequest:
    from kymatui.actions.plans import DeletionRequest
    from kymatui.engine.deletion.deletion_state import ModuleCRHandling

    args = context.args
    path = Path(args.backup) if args.backup else port.backup_path(name, time.time())
    return DeletionRequest(
        name,
        context.namespace,
        ModuleCRHandling(args.way),
        args.cascade,
        args.accept_unknown,
        None if args.no_backup else path,
        args.timeout if args.wait else 0.0,
        args.delete_crds,
    )


class DeletionView(_View):
    """Deletions in words and as documents."""

    heads = ("MODULE", "VERSION", "MANAGED BY", "USER OBJECTS", "NEXT")
    list_key = "modules"
    lists_refused = True
    undone = "not deleted"

    def __init__(self, context: CommandContext, kind: str, port: SessionDeletions, *, is_list: bool) -> None:
        super().__init__(context.target, context.args, context.cluster.name, is_list=is_list)
        self.kind, self._place, self._port = kind, context, port

    def is_detailed(self, item: DeletionItem) -> bool:
        return not item.required_plan.is_gone

    def summary(self, items: Sequence[DeletionItem]) -> str:
        refused = sum(item.refusal is not None for item in items)
        return deletion_summary([item.required_plan.state for item in items if item.is_pending], refused)

    def item_text(self, item: DeletionItem, form: str) -> str:
        plan = item.required_plan
        return deletion_text(plan.state, form, cascade=plan.request.cascade, is_refused=item.refusal is not None)

    def row(self, item: DeletionItem) -> list[str]:
        plan = item.required_plan
        state, trouble = plan.state, self.trouble(item)
        following = f"refused: {trouble}" if item.refusal else trouble or plan.next_step.value
        managed_by, following = (with_keeper(words, state.keeper) for words in (state.managed_by.value, following))
        return [state.module, state.installed, managed_by, str(len(state.theirs)) if state.theirs else "", following]

    def unchanged(self, items: Sequence[DeletionItem]) -> str:
        if self.is_list:
            return "already deleted"
        return with_subject(items[0].name, items[0].required_plan.state.refusal or "already deleted")

    def item_document(self, item: DeletionItem, outcome: str) -> dict[str, Any]:
        result, error, plan = item.result, item.error, item.required_plan
        return deletion_json(
            plan.state,
            outcome,
            error.gone if error is not None else result.gone if result is not None else (),
            result.kept if result is not None else (),
            result.lost if result is not None else (),
            accept_unknown=plan.request.accept_unknown,
            stopped=error.progress if isinstance(error, CancelledError) else (),
        )

    def item_outcome(self, item: DeletionItem, outcome: str) -> str:
        if item.refusal or isinstance(item.error, RefusedError):
            return "refused"
        if item.error:
            return "unfinished"
        return "unchanged" if item.work is Work.NOTHING else "done" if item.result is not None else "planned"

    def question(self, items: Sequence[DeletionItem]) -> BatchQuestion:
        from kymatui.engine.deletion.deletion_state import NextStep

        plans = [item.required_plan for item in items]
        states = [plan.state for plan in plans if plan.next_step is not NextStep.UNMANAGE]
        consequence = deletion_consequence(states, backup=not self.args.no_backup) if states else ""
        return BatchQuestion(
            f"{'Delete' if states else 'Unmanage'} {', '.join(item.name for item in items)}", consequence
        )

    def started(self, item: DeletionItem) -> str:
        return f"{item.name} {item.required_plan.state.installed}".rstrip()

    def lines(self, items: Sequence[DeletionItem]) -> str:
        ended = [_line(item.name, item.result) for item in items if item.result is not None]
        return "\n".join(ended) or "no module was deleted"

    def current(self, items: Sequence[DeletionItem]) -> list[DeletionItem]:
        """Return what is left of each module that is not deleted, as the cluster has it now."""
        try:
            now = iter(_planned(self._place, self._port, [item.name for item in items if item.error]))
        except KymatuiError:  # the plan is displayed, and the error says what is known
            return list(items)
        return [replace(item, plan=next(now).plan) if item.error else item for item in items]

    def shows_refused(self, items: Sequence[DeletionItem]) -> bool:
        return self.is_list or not items[0].required_plan.state.refusal


def _line(name: str, result: DeletionResult) -> str:
    stays = ", ".join(f"{ref} ({reason})" for ref, reason in result.kept)
    sentences = [result.message] if result.message else []
    sentences += (
        [f"{format_count(len(result.gone), 'object')} deleted by kymatui"] if result.gone or not result.message else []
    )
    sentences += [f"not deleted: {stays}"] if stays else []
    return sanitize(with_subject(name, "; ".join(sentences)))
