"""Installations, upgrades and adoptions of a command line: one table, one question, one after the other.

What cannot be planned speaks against the whole where a person named it, and is left out where everything was meant.
What fails keeps nothing else from going on, and the end says what is done and what is not.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kymatui.actions.jobs import job_cluster
from kymatui.actions.modules.install import InstallControls, InstallLeg, plan_installs, run_install
from kymatui.actions.modules.install_plan import Adoption, with_interrupted_values
from kymatui.actions.modules.module_sources import ModuleSource
from kymatui.actions.modules.upgrade import SkippedUpgrade
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import CommandContext, ProgressPrinter, cancellable, install_request
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.output.install_results import InstallResults, OneInstall, SeveralInstalls
from kymatui.cli.output.plan_changes import change_counts
from kymatui.cli.output.printing import print_message, print_text
from kymatui.domain.plans.jobs import VALUES_LEFT_OUT
from kymatui.engine.jobs.job_progress import APPLY_WORDS, JobProgress
from kymatui.engine.jobs.journal import NO_JOURNAL
from kymatui.engine.jobs.run import USER_ACTION_SECONDS, RunLimits
from kymatui.errors import CancelledError, OutdatedError, PartlyDoneError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from kymatui.engine.jobs.open_job import OpenJob


def refuse_words_for_one(args: argparse.Namespace, names: Sequence[str]) -> None:
    """Raise UsageError where a source is named, which several modules cannot have in common."""
    sources = ("version", "file", "chart", "repo", "kustomize", "component")
    values = ("values", "set", "set_string", "set_json", "set_file", "set_literal")
    if len(names) != 1 and (option := next((option for option in (*sources, *values) if getattr(args, option)), "")):
        raise UsageError(
            f"--{option.replace('_', '-')} works with one module only", hint="run the command once for each module"
        )


def install_modules(
    place: CommandContext,
    verb: str,
    named: Iterable[tuple[str, ModuleSource, str]],
    adoption: Adoption = Adoption.NEVER,
) -> int:
    """Run `verb` (install, upgrade or adopt) for modules, each with its source and namespace. Return the status."""
    wanted = [(name, install_request(place, name, source, namespace, adoption)) for name, source, namespace in named]
    if resumed := getattr(place.args, "resumed_job", None):
        has_others = VALUES_LEFT_OUT in resumed.heading.options
        wanted = [
            (name, with_interrupted_values(place.port, request, has_others=has_others)) for name, request in wanted
        ]
    return carry_out_installs(place, verb, plan_installs(place.port, wanted))


def carry_out_installs(
    place: CommandContext,
    verb: str,
    legs: Sequence[InstallLeg],
    *,
    everything: bool = False,
    left_out: Sequence[SkippedUpgrade] = (),
    kind: str = "",
) -> int:
    """Carry plans out; `everything` if nobody named the modules, `left_out` are the others. Return the status.

    `kind` is the command for its journal, where it is not `verb`.
    """
    args = place.args
    if not everything:
        _refuse_unknown_names(legs)
    results: InstallResults = OneInstall(place.target, args)
    if everything or len(legs) != 1:
        results = SeveralInstalls(place.target, args, place.cluster.name, verb, everything, left_out)
    refused, todo = [leg for leg in legs if leg.is_refused], [leg for leg in legs if leg.is_pending]
    if refused and (not everything or not todo):
        raise results.refuse(legs)
    if args.dry_run:
        status = results.show(legs, "planned" if todo else "unchanged")
        return PartlyDoneError.exit_code if refused else status
    if todo:
        if args.output == "table":
            print_text(results.text(legs, "table"), sys.stderr)
        plans = [leg.plan for leg in todo if leg.plan is not None]
        confirm(place.target, results.action(todo), change_counts(plans), yes=args.yes)
    names = [leg.plan.bundle.name for leg in todo if leg.plan is not None]
    if not names:  # there is only a wait
        with cancellable() as cancel:
            return results.end(_run(place, legs, results, cancel, None))
    action = results.action(todo)
    title = f"{action[:1].lower()}{action[1:]}"
    with recorded_job(args, job_cluster(place.session), kind or verb, names, title, _pinned(todo, args)) as (
        job,
        cancel,
    ):
        return results.end(_run(place, legs, results, cancel, job))


def _pinned(todo: Sequence[InstallLeg], args: argparse.Namespace) -> dict[str, str]:
    """Return the version that the accepted plan has, so that what continues it installs no other one."""
    plan = todo[0].plan
    is_file = any(getattr(args, name, "") for name in ("file", "kustomize", "component", "plan", "image"))
    if len(todo) != 1 or plan is None or is_file or getattr(args, "all", False):
        return {}
    namespace = {"namespace": plan.bundle.namespace} if plan.bundle.release is not None else {}
    return {"version": plan.bundle.version, **namespace} if plan.bundle.version else namespace


def _refuse_unknown_names(legs: Sequence[InstallLeg]) -> None:
    """Raise UnknownNameError for the first name that no module has."""
    for leg in legs:
        if isinstance(leg.error, UnknownNameError):
            raise leg.error


def _run(
    place: CommandContext,
    legs: Sequence[InstallLeg],
    results: InstallResults,
    cancel: threading.Event,
    job: OpenJob | None,
) -> list[InstallLeg]:
    """Stop all that has not begun when a person stops it. What is the same is waited for all the same."""
    args, ended = place.args, list[InstallLeg]()

    def replanned(leg: InstallLeg, error: OutdatedError) -> None:
        print_message(f"{error}; planning again")
        if args.output == "table":
            print_text(results.text([leg], "table"), sys.stderr)

    limits = RunLimits(ready=args.timeout, hooks=args.timeout, gone=args.timeout, broken=USER_ACTION_SECONDS)
    journal = job.journal if job is not None else NO_JOURNAL
    printer = ProgressPrinter()
    controls = InstallControls(cancel, printer, limits, args.wait, args.yes, replanned, journal)
    for leg in legs:
        if leg.is_pending:
            results.begin(leg)
        try:
            if job is not None and leg.plan is not None:
                job.start(leg.plan.bundle.name)
            done = leg if leg.is_refused else run_install(place.port, leg, controls)
        except CancelledError:
            results.stop([*ended, *legs[len(ended) :]])
            raise
        ended.append(done)
        if job is not None and done.outcome is not None and done.plan is not None and done.error is None:
            job.complete(done.plan.bundle.name, JobProgress(APPLY_WORDS, tuple(map(str, done.outcome.written))))
    return ended
