"""`kymatui delete NAME …`: one plan of all of them, one question, and then one deletion after the other.

One module is a batch of one. What cannot be deleted refuses the whole; what fails on the way keeps no other from it.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.actions.jobs import job_cluster
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import CommandContext, ProgressPrinter, add_running, open_context
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.output.deletion import deletion_consequence, deletion_json, deletion_text
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.plan_summaries import deletion_summary
from kymatui.cli.output.printing import markdown, print_text, table
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize, with_subject
from kymatui.domain.kyma.kyma_keeper import with_keeper
from kymatui.engine.jobs.job_progress import JobProgress
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, RefusedError, UsageError

if TYPE_CHECKING:
    from kymatui.actions.delete import DeletionResult
    from kymatui.actions.plans import DeletionPlan, DeletionRequest
    from kymatui.composition.session_ports import SessionDeletions
    from kymatui.engine.deletion.deletion_state import DeletionState
    from kymatui.engine.jobs.open_job import OpenJob


class DeleteCommand:
    """The guided deletion: no manager before what it manages, nothing of others, through the Kyma where that is due."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        what = "module or release; several names make one plan and are deleted one after the other"
        parser.add_argument("names", metavar="NAME", nargs="+", help=what)
        parser.add_argument(
            "--cascade", action="store_true", help="also delete objects that users created and the module manages"
        )
        parser.add_argument(
            "--accept-unknown", action="store_true", help="assume that kinds you cannot list have no objects"
        )
        parser.add_argument(
            "--way",
            choices=("let", "ignore", "unmanage"),
            default="let",
            help="who deletes the default CR of a managed module: lifecycle-manager (let), or kymatui after it set the "
            "policy to Ignore (ignore); unmanage keeps the module and stops its updates (default: let)",
        )
        parser.add_argument(
            "--delete-crds",
            action="store_true",
            help="also delete the CRDs of a chart's folder crds/ that have no objects and belong to no other "
            "installation (default: they stay, as with helm)",
        )
        parser.add_argument(
            "--backup", metavar="FILE", help="file for the backup (default: a new file, see `kymatui restore`)"
        )
        parser.add_argument("--no-backup", action="store_true", help="delete without a backup")
        add_running(parser)

    def run(self, args: argparse.Namespace) -> int:
        names = list(dict.fromkeys(args.names))
        if args.backup and len(names) > 1:
            raise UsageError(
                "--backup works with one module only", hint="without --backup each module gets a file of its own"
            )
        with open_context(args, once=args.dry_run) as place:
            return delete_modules(place, names)


DELETE = DeleteCommand()


def delete_modules(
    place: CommandContext, names: Sequence[str], *, kind: str = "delete", delete_kymas: bool = False
) -> int:
    """Plan, ask and delete with the options of a command line; return the exit status.

    `kind` is the command for its journal; `delete_kymas` is for the operator, whose Kymas are then deleted first.
    """
    return _Deletions(place, kind, delete_kymas=delete_kymas).run(names)


class _Leg(Struct, frozen=True):
    """One deletion with its plan, and what became of it."""

    plan: DeletionPlan
    failed: KymatuiError | None = None
    ended: DeletionResult | None = None

    @property
    def name(self) -> str:
        return self.plan.module

    @property
    def seen(self) -> DeletionState:
        return self.plan.seen

    @property
    def refusal(self) -> RefusedError | None:
        """Return why it is refused, with the option that lets it continue."""
        error = self.plan.refusal
        if error is None or self.seen.refusal or self.plan.is_forbidden:
            return error
        unlisted = bool(self.seen.remaining.unknown)
        hint = "--accept-unknown assumes that these kinds have no objects" if unlisted else "--cascade deletes them too"
        return RefusedError(str(error), hint=hint)

    @property
    def trouble(self) -> str:
        """Return why it was refused or did not come to its end, "" where neither is so."""
        error = self.refusal or self.failed
        if error is None:
            return ""
        named = with_subject(self.name, str(error))
        return f"{named} ({error.hint})" if error.hint else named

    @property
    def stopped(self) -> tuple[JobProgress, ...]:
        """Return what was done and left when a person stopped it; () if none did."""
        return self.failed.progress if isinstance(self.failed, CancelledError) else ()

    @property
    def outcome(self) -> str:
        if self.refusal or self.failed:
            return "refused" if self.refusal or isinstance(self.failed, RefusedError) else "unfinished"
        return "unchanged" if self.plan.is_gone else "done" if self.ended is not None else "planned"


class _Deletions:
    """One run of `kymatui delete`."""

    def __init__(self, place: CommandContext, kind: str, *, delete_kymas: bool) -> None:
        from kymatui.composition.session_ports import deletions_of

        self._place, self._args, self._kind = place, place.args, kind
        self._departing: SessionDeletions = deletions_of(place.session, place.cluster)
        self._departing.delete_kymas = delete_kymas

    def run(self, names: Sequence[str]) -> int:
        legs = self._planned(names)
        args, todo = self._args, [leg for leg in legs if not leg.plan.is_gone]
        if any(leg.refusal for leg in legs):  # a dry run exits as the deletion would
            raise self._refused(legs)
        if args.dry_run:
            return self._answer(legs, "planned")
        if not todo:
            return self._answer(legs, "unchanged", _nothing_left(legs))
        if args.output == "table":
            print_text(self._text(legs, "table"), sys.stderr)
        title = self._confirm(todo)
        left = [leg.name for leg in todo]
        with recorded_job(args, job_cluster(self._place.session), self._kind, left, title) as (job, cancel):
            return self._ended(self._carried_out(legs, job, cancel))

    def _confirm(self, todo: Sequence[_Leg]) -> str:
        """Ask for all deletions; return what is done: "delete keda"."""
        from kymatui.engine.deletion.deletion_state import NextStep

        args, names = self._args, ", ".join(leg.name for leg in todo)
        seen = [leg.seen for leg in todo if leg.plan.next_step is not NextStep.UNMANAGE]
        following = deletion_consequence(seen, backup=not args.no_backup) if seen else ""
        verb = "delete" if seen else "unmanage"
        confirm(self._place.target, f"{verb.capitalize()} {names}", following, yes=args.yes)
        return f"{verb} {names}"

    # the plan

    def _planned(self, names: Sequence[str]) -> list[_Leg]:
        from kymatui.actions.deletion_planning import plan_deletions

        plans = plan_deletions(self._departing, [self._request(name) for name in names])
        for plan in plans if getattr(self._args, "resumed_job", None) is None else ():
            self._place.require_module(plan.seen)
        return [_Leg(plan) for plan in plans]

    def _request(self, name: str) -> DeletionRequest:
        from kymatui.actions.plans import DeletionRequest
        from kymatui.engine.deletion.deletion_state import ModuleCRHandling

        args = self._args
        where = Path(args.backup) if args.backup else self._departing.backup_path(name, time.time())
        return DeletionRequest(
            name,
            self._place.namespace,
            ModuleCRHandling(args.way),
            args.cascade,
            args.accept_unknown,
            None if args.no_backup else where,
            args.timeout if args.wait else 0.0,
            args.delete_crds,
        )

    def _refused(self, legs: Sequence[_Leg]) -> KymatuiError:
        """Return the refusal of all, since one is refused; a single module has its own."""
        refused = [leg for leg in legs if leg.refusal is not None]
        alone = legs[0].refusal if len(legs) == 1 else None
        if alone is None or not legs[0].seen.refusal:
            is_quiet = alone is not None or self._args.dry_run or self._args.output != "table"
            self._answer(legs, "refused", to_errors=not is_quiet)
        return alone or RefusedError("; ".join(leg.trouble for leg in refused), hint="no changes made")

    # doing it

    def _carried_out(self, legs: Sequence[_Leg], job: OpenJob, cancel: threading.Event) -> list[_Leg]:
        """Delete one after the other; once a person stops one, begin no other."""
        ended: list[_Leg] = []
        for leg in legs:
            if leg.plan.is_gone:
                ended.append(leg)
                continue
            if len(legs) > 1:
                print_text(f"{leg.name} {leg.seen.installed}".rstrip(), sys.stderr)
            try:
                job.start(leg.name)
                result = self._run(leg.plan, job, cancel)
                ended.append(replace(leg, ended=result))
                job.complete(leg.name, JobProgress(done=tuple(map(str, result.gone))))
            except CancelledError as error:
                self._unfinished([*ended, replace(leg, failed=error), *legs[len(ended) + 1 :]])
                raise
            except KymatuiError as error:
                ended.append(replace(leg, failed=error))
        return ended

    def _run(self, plan: DeletionPlan, job: OpenJob, cancel: threading.Event) -> DeletionResult:
        from kymatui.actions.delete import RunControls, run_deletion

        controls = RunControls(
            ProgressPrinter(), cancel, unattended=True, just_made=self._args.yes, journal=job.journal
        )
        return run_deletion(self._departing, plan, controls)

    def _ended(self, legs: Sequence[_Leg]) -> int:
        failed = [leg for leg in legs if leg.failed is not None]
        lines = [_line(leg) for leg in legs if leg.ended is not None]
        if not failed:
            return self._answer(legs, "done", "\n".join(lines))
        if len(legs) == 1 and legs[0].failed is not None:
            self._unfinished(legs)
            raise legs[0].failed
        said = "; ".join(leg.trouble for leg in failed)
        if not lines and all(leg.outcome == "refused" for leg in failed):
            self._answer(legs, "refused", to_errors=self._args.output == "table")
            raise RefusedError(said, hint="no changes made")
        self._answer(legs, "unfinished", "\n".join(lines) or "no module was deleted")
        raise PartlyDoneError(
            f"{len(failed)} of {len(legs)} modules not deleted: {said}", hint="run the same command again to continue"
        )

    # telling it

    def _unfinished(self, legs: Sequence[_Leg]) -> None:
        """Print the document with what is left; for a single module the error says it all to a person."""
        form = self._args.output
        if len(legs) > 1:
            self._answer(legs, "unfinished", to_errors=form == "table")
        elif form != "table":
            now = self._planned([legs[0].name])[0].seen
            target = self._place.target
            if form == "md":
                text = deletion_text(now, form, cascade=self._args.cascade)
                print_text(plan_text(target, deletion_summary([now]), text, form))
            else:
                outcome = "refused" if isinstance(legs[0].failed, RefusedError) else "unfinished"
                gone = legs[0].failed.gone if legs[0].failed is not None else ()
                accept_unknown = self._args.accept_unknown
                found = deletion_json(now, outcome, gone, accept_unknown=accept_unknown, stopped=legs[0].stopped)
                print_text(plan_document(target, found, form))

    def _answer(self, legs: Sequence[_Leg], outcome: str, words: str = "", *, to_errors: bool = False) -> int:
        form = self._args.output
        if form in ("json", "yaml"):
            print_text(plan_document(self._place.target, self._json(legs, outcome), form))
        elif words:
            print_text(words)
        else:
            print_text(self._text(legs, form), sys.stderr if to_errors else sys.stdout)
        return 0

    def _text(self, legs: Sequence[_Leg], form: str) -> str:
        refused = sum(leg.refusal is not None for leg in legs)
        todo = [leg.seen for leg in legs if not leg.plan.is_gone and not leg.refusal]
        return plan_text(self._place.target, deletion_summary(todo, refused), _text(legs, form), form)

    def _json(self, legs: Sequence[_Leg], outcome: str) -> dict[str, Any]:
        """Return a module's document; for several `{"cluster", "modules": […], "failed": […], "outcome"}`."""
        if len(legs) == 1:
            return _leg_json(legs[0], "planned" if outcome == "planned" else legs[0].outcome)
        return {
            "cluster": self._place.cluster.name,
            "modules": [_leg_json(leg, leg.outcome) for leg in legs],
            "failed": [{"name": leg.name, "reason": leg.trouble} for leg in legs if leg.trouble],
            "outcome": outcome,
        }


def _nothing_left(legs: Sequence[_Leg]) -> str:
    if len(legs) > 1:
        return "already deleted"
    return with_subject(legs[0].name, legs[0].seen.refusal or "already deleted")


def _leg_json(leg: _Leg, outcome: str) -> dict[str, Any]:
    gone, kept, lost = (leg.ended.gone, leg.ended.kept, leg.ended.lost) if leg.ended is not None else ((), (), ())
    gone = leg.failed.gone if leg.failed is not None else gone
    accept_unknown = leg.plan.request.accept_unknown
    return deletion_json(leg.seen, outcome, gone, kept, lost, accept_unknown=accept_unknown, stopped=leg.stopped)


def _line(leg: _Leg) -> str:
    assert leg.ended is not None
    ended = leg.ended
    stays = ", ".join(f"{ref} ({reason})" for ref, reason in ended.kept)
    said = [ended.message] if ended.message else []
    said += [f"{format_count(len(ended.gone), 'object')} deleted by kymatui"] if ended.gone or not ended.message else []
    said += [f"not deleted: {stays}"] if stays else []
    return sanitize(with_subject(leg.name, "; ".join(said)))


def _text(legs: Sequence[_Leg], form: str) -> str:
    """Return what is left of a single module and will be deleted; for several a table first."""
    if len(legs) == 1:
        return _leg_text(legs[0], form)
    draw = markdown if form == "md" else table
    parts = [draw(("MODULE", "VERSION", "MANAGED BY", "USER OBJECTS", "NEXT"), [_row(leg) for leg in legs])]
    planned = (leg for leg in legs if not leg.plan.is_gone)
    parts += [_leg_text(leg, form) for leg in planned]
    return "\n\n".join(parts)


def _leg_text(leg: _Leg, form: str) -> str:
    return deletion_text(leg.seen, form, cascade=leg.plan.request.cascade, is_refused=leg.refusal is not None)


def _row(leg: _Leg) -> list[str]:
    seen = leg.seen
    following = f"refused: {leg.trouble}" if leg.refusal else leg.trouble or leg.plan.next_step.value
    managed_by, following = (with_keeper(words, seen.keeper) for words in (seen.managed_by.value, following))
    return [seen.module, seen.installed, managed_by, str(len(seen.theirs)) if seen.theirs else "", following]
