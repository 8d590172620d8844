"""`kymatui restore [NAME|FILE]`: what a deletion kept is created again; without a word, what is kept is listed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import CommandContext, add_running, cancellable, open_context
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import document, markdown, print_line, print_text, table, wrapped
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.plans.plan_summary import summarize_actions
from kymatui.engine.cluster.cluster_identity import cluster_identity
from kymatui.errors import PartlyDoneError, RefusedError, UnknownNameError

if TYPE_CHECKING:
    from kymatui.actions.restore import RestoreResult, RestoreStep
    from kymatui.adapters.files.backups import BackupInfo


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
        with open_context(args, once=True) as place:
            return _Restoration(place).run()


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
    """One run of `kymatui restore FILE`."""

    def __init__(self, place: CommandContext) -> None:
        from kymatui.adapters.files.backups import read_backups

        self._place, self._args = place, place.args
        self._identity = cluster_identity(place.cluster)
        self._backups = self._found(place.args.file)
        by_klm = any(one.by_klm for one in self._backups)
        self._heading = replace(self._backups[0], by_klm=by_klm)
        self._objects = read_backups(one.path for one in self._backups)
        if not self._objects:
            raise RefusedError(f"{self._heading.path} has no objects", hint="`kymatui restore` lists all backups")

    def _found(self, word: str) -> list[BackupInfo]:
        """Return the named file, or the backups of the last deletion of the named module on this cluster."""
        from kymatui.adapters.files.backups import backups_folder, last_deletion, list_backups, read_heading

        path = Path(word)
        if path.exists() or len(path.parts) > 1 or path.suffix:
            return [read_heading(path)]
        named = [one for one in list_backups() if one.module == word and one.count]
        ours = [one for one in named if not one.not_of(self._place.cluster.name, self._identity)]
        if ours:
            return last_deletion(ours)
        others = f"backups of other clusters: {', '.join(str(one.path) for one in named[:3])}" if named else ""
        hint = others or "`kymatui restore` lists all backups"
        where = f"from cluster {self._place.cluster.name} in {backups_folder()}"
        known = [one.module for one in list_backups()]
        raise UnknownNameError.near("backup of", word, known if not named else (), where=where, hint=hint)

    def run(self) -> int:
        from kymatui.actions.restore import needs_module, plan_restore, restore_refusal

        args, name = self._args, self._place.cluster.name
        number = len(self._objects)
        plan = plan_restore(self._objects, self._place.cluster)
        if not args.dry_run:
            rows = _table(_planned(plan), "table") if args.output == "table" else ""
            print_text(plan_text(self._place.target, _summary(plan), rows, "table"), sys.stderr)
        for one in self._backups:
            print_line(f"{one.path}: {format_count(one.count, 'object')}", sys.stderr)
        stranger = self._heading.not_of(name, self._identity)
        if stranger:
            print_text(wrapped(f"warning: {stranger}"), sys.stderr)
        module = self._heading.module
        is_first = needs_module(self._place.catalog, module, by_klm=self._heading.by_klm)
        hint = f"run `kymatui enable {module}`, then restore again" if is_first else ""
        refusal = "" if self._heading.by_klm and not is_first else restore_refusal(plan)  # else it is being installed
        if is_first and not refusal:
            print_line(f"lifecycle-manager installed {module}: run `kymatui enable {module}` first", sys.stderr)
        if args.dry_run:
            self._print_plan(plan, "refused" if refusal else "planned")
        if refusal:
            raise RefusedError(refusal, hint=hint)
        if args.dry_run:
            return 0
        if all(one.fate.name == "THERE" for one in plan):
            return self._unchanged(plan)
        confirm(
            self._place.target,
            f"Restore {format_count(number, 'object')} (existing objects stay unchanged)",
            sanitize(stranger),
            yes=args.yes,
        )
        return self._carry_out(plan)

    def _carry_out(self, plan: Sequence[RestoreStep]) -> int:
        from kymatui.actions.restore import restore, was_installed_here

        def report_line(words: str) -> None:
            print_line(f"  {words}", sys.stderr)

        args = self._args
        with cancellable() as cancel:
            timeout = args.timeout if args.wait else 0.0
            cluster = self._place.cluster
            ended = restore(
                self._objects, cluster, plan, report=report_line, wait=report_line, cancel=cancel, timeout=timeout
            )
        self._print(ended)
        module = self._heading.module
        if ended.made and module and was_installed_here(self._objects):
            print_line(f"run `kymatui adopt {module}` to manage it with kymatui again", sys.stderr)
        if ended.failed:
            said = "; ".join(f"{ref}: {reason}" for ref, reason in ended.failed[:5])
            raise PartlyDoneError(
                f"{len(ended.failed)} of {format_count(len(self._objects), 'object')} not created: {said}",
                hint="install the module (or its CRDs and namespaces) first, then restore again",
            )
        return 0

    # printing

    def _print_plan(self, seen: Sequence[RestoreStep], outcome: str) -> None:
        self._print_result(_planned(seen), outcome, _summary(seen))

    def _unchanged(self, plan: Sequence[RestoreStep]) -> int:
        if self._args.output == "table":
            print_line(
                f"no changes: {format_count(len(plan), 'object')} already {'exists' if len(plan) == 1 else 'exist'}"
            )
        else:
            self._print_result(_planned(plan), "unchanged", _summary(plan))
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
            files = [str(one.path) for one in self._backups]
            found = {"file": files[0], "files": files, "objects": objects, "outcome": outcome}
            print_text(plan_document(self._place.target, found, form))
        else:
            print_text(plan_text(self._place.target, summary, _table(_displayed(rows), form), form))


def _summary(plan: Sequence[RestoreStep]) -> str:
    return summarize_actions("same" if one.fate.name == "THERE" else one.fate.name.lower() for one in plan)


def _planned(plan: Sequence[RestoreStep]) -> list[tuple[str, str, str]]:
    return [(str(one.ref), one.fate.value, one.reason) for one in plan]


def _displayed(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the rows for people: `there` is a value of the JSON only."""
    return [(ref, "exists" if word == "there" else word, reason) for ref, word, reason in rows]


def _table(rows: Sequence[tuple[str, str, str]], form: str) -> str:
    return (markdown if form == "md" else table)(("OBJECT", "RESULT", "REASON"), [list(row) for row in rows])
