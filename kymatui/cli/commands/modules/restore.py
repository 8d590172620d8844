"""`kymatui restore [NAME|FILE]`: create again what a deletion saved; without a word, list the backups.

What exists already is left as it is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kymatui.cli.cluster_options import add_option
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import CommandContext, add_running, open_context
from kymatui.cli.output.batch_view import BatchQuestion, BatchView
from kymatui.cli.output.printing import document, markdown, paragraph, print_line, print_text, table
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.plans.plan_preview import summarize_actions
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from kymatui.actions.restore import RestorationItem, RestorationPlan
    from kymatui.actions.restored_objects import RestoreResult
    from kymatui.domain.plans.backups import BackupInfo

    _View = BatchView[RestorationPlan, RestoreResult]
else:
    _View = BatchView


def configure(parser: argparse.ArgumentParser) -> None:
    what = "backup file, or module name for its last deletion in this cluster (default: list backups)"
    add_option(parser, "file FILE", what, nargs="?", default="")
    parser.set_defaults(creates_namespace=True)
    add_running(parser)


def run(args: argparse.Namespace) -> int:
    if not args.file:
        return _list(args.output)
    with open_context(args, once=True) as context:
        return _restore(context)


def _list(form: str) -> int:
    """Return all backups of this machine; asks no server."""
    from kymatui.adapters.files.backups import backups_folder, list_backups

    backups = list_backups()
    if form in ("json", "yaml"):
        print_text(document({"folder": str(backups_folder()), "backups": [_json(backup) for backup in backups]}, form))
    elif backups:
        heads = ("MODULE", "VERSION", "CLUSTER", "DELETED", "OBJECTS", "FILE")
        rows = [
            [backup.module, backup.version, backup.cluster, format_moment(backup), str(backup.count), str(backup.path)]
            for backup in backups
        ]
        print_text((markdown if form == "md" else table)(heads, rows))
    else:
        print_line(f"no backups in {backups_folder()}; `kymatui delete` creates them", sys.stderr)
    return 0


def format_moment(backup: BackupInfo) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(backup.made_at))


def _json(backup: BackupInfo) -> dict[str, Any]:
    return {
        "file": str(backup.path),
        "module": backup.module or None,
        "version": backup.version or None,
        "cluster": backup.cluster or None,
        "madeAt": backup.made_at,
        "objects": backup.count,
        "installedByLifecycleManager": backup.by_klm,
    }


def _restore(context: CommandContext) -> int:
    from kymatui.actions.restore import Restoration, find_deletion, plan_restoration, read_recorded, restoration_item
    from kymatui.adapters.files import backups

    args, cluster = context.args, context.cluster
    if (resumed := getattr(args, "resumed_job", None)) is not None:
        deletion = read_recorded(backups, {"file": args.file, **resumed.heading.options}, cluster)
    else:
        deletion = find_deletion(backups, args.file, cluster)
    plan = plan_restoration(backups, deletion, cluster, context.catalog)
    if not plan.objects:
        raise RefusedError(f"{plan.newest.path} has no objects", hint="`kymatui restore` lists all backups")
    verb = Restoration(backups, cluster, _print_step, _print_step, args.timeout if args.wait else 0.0)
    view = RestoreView(context.target, args, cluster.name, is_list=False)
    return run_in_session([restoration_item(plan)], verb, view, context.session)


def _print_step(text: str) -> None:
    print_line(f"  {text}", sys.stderr)


class RestoreView(_View):
    """A restore in words and as a document."""

    kind = "restore"
    reports_parts = True

    def summary(self, items: Sequence[RestorationItem]) -> str:
        steps = [step.fate.name for item in items for step in item.required_plan.steps]
        return summarize_actions("same" if name == "THERE" else name.lower() for name in steps)

    def item_text(self, item: RestorationItem, form: str) -> str:
        rows = [[ref, "exists" if word == "there" else word, reason] for ref, word, reason in _rows(item)]
        return (markdown if form == "md" else table)(("OBJECT", "RESULT", "REASON"), rows)

    def unchanged(self, items: Sequence[RestorationItem]) -> str:
        number = len(items[0].required_plan.steps)
        return f"no changes: {format_count(number, 'object')} already {'exists' if number == 1 else 'exist'}"

    def item_document(self, item: RestorationItem, outcome: str) -> dict[str, Any]:
        """Return `{"file", "files", "objects", "outcome"}`; the result `there` means that an object exists."""
        files = [str(backup.path) for backup in item.required_plan.backups]
        objects = [{"object": ref, "result": word, "reason": reason or None} for ref, word, reason in _rows(item)]
        return {"file": files[0], "files": files, "objects": objects, "outcome": outcome}

    def question(self, items: Sequence[RestorationItem]) -> BatchQuestion:
        from kymatui.actions.restore import restore_options

        plan = items[0].required_plan
        action = f"Restore {format_count(len(plan.objects), 'object')} (existing objects stay unchanged)"
        modules, title = (plan.module,) if plan.module else (), f"restore {plan.module or plan.newest.path}"
        return BatchQuestion(action, sanitize(plan.stranger), modules, restore_options(plan.backups), title)

    def notices(self, items: Sequence[RestorationItem]) -> list[str]:
        notices: list[str] = []
        for plan in (item.required_plan for item in items):
            notices += [f"{backup.path}: {format_count(backup.count, 'object')}" for backup in plan.backups]
            if plan.stranger:
                notices.append(paragraph(f"warning: {plan.stranger}", "table"))
            if plan.enables and not plan.refusal:
                notices.append(f"{plan.module} was enabled in the Kyma: run `kymatui enable {plan.module}` first")
        return notices

    def lines(self, items: Sequence[RestorationItem]) -> str:
        return "\n".join(item.result.summary for item in items if item.result is not None)

    def hints(self, items: Sequence[RestorationItem]) -> list[str]:
        adopted = [item for item in items if item.result and item.required_plan.awaits_adoption(item.result)]
        return [f"run `kymatui adopt {item.name}` to manage it with kymatui again" for item in adopted]


def _rows(item: RestorationItem) -> list[tuple[str, str, str]]:
    result = item.result
    if result is None:
        return [(str(step.ref), step.fate.value, step.reason) for step in item.required_plan.steps]
    rows = [(str(ref), "created", "") for ref in result.created]
    rows += [(str(ref), "there", "") for ref in result.existing]
    return [*rows, *((str(ref), "failed", reason) for ref, reason in result.failed)]
