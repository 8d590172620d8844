"""`kymatui restore [NAME|FILE]`: create again what a deletion saved; without a word, list the backups."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kymatui.actions.jobs import job_cluster
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import CommandContext, add_running, open_context
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import document, markdown, paragraph, print_line, print_text, table
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.plans.plan_summary import summarize_actions
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from kymatui.actions.restore import RestorationPlan
    from kymatui.actions.restored_objects import RestoreResult
    from kymatui.domain.plans.backups import BackupInfo


class RestoreCommand:
    """Creates again what a backup holds; what is there already is left as it is."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        what = "backup file, or module name for its last deletion in this cluster (default: list backups)"
        parser.add_argument("file", metavar="FILE", nargs="?", default="", help=what)
        parser.set_defaults(creates_namespace=True)
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        if not args.file:
            return _list(args.output)
        with open_context(args, once=True) as context:
            return _Restoration(context).run()


RESTORE = RestoreCommand()


def _list(form: str) -> int:
    """Return all backups of this machine; asks no server."""
    from kymatui.adapters.files.backups import backups_folder, list_backups

    found = list_backups()
    if form in ("json", "yaml"):
        print_text(document({"folder": str(backups_folder()), "backups": [_json(one) for one in found]}, form))
    elif found:
        heads = ("MODULE", "VERSION", "CLUSTER", "DELETED", "OBJECTS", "FILE")
        rows = [
            [one.module, one.version, one.cluster, format_moment(one), str(one.count), str(one.path)] for one in found
        ]
        print_text((markdown if form == "md" else table)(heads, rows))
    else:
        print_line(f"no backups in {backups_folder()}; `kymatui delete` creates them", sys.stderr)
    return 0


def format_moment(one: BackupInfo) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(one.made_at))


def _json(one: BackupInfo) -> dict[str, Any]:
    return {
        "file": str(one.path),
        "module": one.module or None,
        "version": one.version or None,
        "cluster": one.cluster or None,
        "madeAt": one.made_at,
        "objects": one.count,
        "installedByLifecycleManager": one.by_klm,
    }


class _Restoration:
    """One run of `kymatui restore NAME|FILE`."""

    def __init__(self, context: CommandContext) -> None:
        from kymatui.actions.restore import find_deletion, plan_restoration
        from kymatui.adapters.files import backups

        self._context, self._args = context, context.args
        deletion = find_deletion(backups, context.args.file, context.cluster)
        self._plan = plan_restoration(backups, deletion, context.cluster, context.catalog)
        if not self._plan.objects:
            raise RefusedError(f"{self._plan.newest.path} has no objects", hint="`kymatui restore` lists all backups")

    def run(self) -> int:
        args, plan, target = self._args, self._plan, self._context.target
        if not args.dry_run:
            rows = _table(_planned(plan), "table") if args.output == "table" else ""
            print_text(plan_text(target, _summary(plan), rows, "table"), sys.stderr)
        for backup in plan.backups:
            print_line(f"{backup.path}: {format_count(backup.count, 'object')}", sys.stderr)
        if plan.stranger:
            print_text(paragraph(f"warning: {plan.stranger}", "table"), sys.stderr)
        if plan.enables and not plan.refusal:
            enable = f"run `kymatui enable {plan.module}` first"
            print_line(f"lifecycle-manager installed {plan.module}: {enable}", sys.stderr)
        if args.dry_run:
            self._print_result(_planned(plan), "refused" if plan.refusal else "planned", _summary(plan))
        if plan.refusal:
            hint = f"run `kymatui enable {plan.module}`, then restore again" if plan.enables else ""
            raise RefusedError(plan.refusal, hint=hint)
        if args.dry_run:
            return 0
        if plan.is_done:
            return self._unchanged()
        confirm(
            target,
            f"Restore {format_count(len(plan.objects), 'object')} (existing objects stay unchanged)",
            sanitize(plan.stranger),
            yes=args.yes,
        )
        return self._restore()

    def _restore(self) -> int:
        from kymatui.actions.restore import require_restored, run_restoration
        from kymatui.adapters.files import backups

        def report_line(text: str) -> None:
            print_line(f"  {text}", sys.stderr)

        args, plan = self._args, self._plan
        title, modules = f"restore {plan.module or plan.newest.path}", [plan.module] if plan.module else []
        cluster = job_cluster(self._context.session)
        with recorded_job(args, cluster, "restore", modules, title) as (job, cancel):
            timeout = args.timeout if args.wait else 0.0
            result = run_restoration(
                *(backups, plan, self._context.cluster),
                report=report_line,
                wait=report_line,
                cancel=cancel,
                timeout=timeout,
                journal=job.journal,
            )
        self._print(result)
        if plan.awaits_adoption(result):
            print_line(f"run `kymatui adopt {plan.module}` to manage it with kymatui again", sys.stderr)
        require_restored(plan, result)
        return 0

    # printing

    def _unchanged(self) -> int:
        if self._args.output == "table":
            number = len(self._plan.steps)
            print_line(f"no changes: {format_count(number, 'object')} already {'exists' if number == 1 else 'exist'}")
        else:
            self._print_result(_planned(self._plan), "unchanged", _summary(self._plan))
        return 0

    def _print(self, ended: RestoreResult) -> None:
        rows = [(str(ref), "created", "") for ref in ended.made]
        rows += [(str(ref), "there", "") for ref in ended.there]
        rows += [(str(ref), "failed", reason) for ref, reason in ended.failed]
        if self._args.output != "table":
            self._print_result(rows, "unfinished" if ended.failed else "done", ended.summary)
            return
        print_line(ended.summary)

    def _print_result(self, rows: Sequence[tuple[str, str, str]], outcome: str, summary: str) -> None:
        form = self._args.output
        if form in ("json", "yaml"):
            objects = [{"object": ref, "result": word, "reason": reason or None} for ref, word, reason in rows]
            files = [str(backup.path) for backup in self._plan.backups]
            found = {"file": files[0], "files": files, "objects": objects, "outcome": outcome}
            print_text(plan_document(self._context.target, found, form))
        else:
            print_text(plan_text(self._context.target, summary, _table(_displayed(rows), form), form))


def _summary(plan: RestorationPlan) -> str:
    return summarize_actions("same" if step.fate.name == "THERE" else step.fate.name.lower() for step in plan.steps)


def _planned(plan: RestorationPlan) -> list[tuple[str, str, str]]:
    return [(str(step.ref), step.fate.value, step.reason) for step in plan.steps]


def _displayed(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the rows for people: `there` is a value of the JSON only."""
    return [(ref, "exists" if word == "there" else word, reason) for ref, word, reason in rows]


def _table(rows: Sequence[tuple[str, str, str]], form: str) -> str:
    return (markdown if form == "md" else table)(("OBJECT", "RESULT", "REASON"), [list(row) for row in rows])
