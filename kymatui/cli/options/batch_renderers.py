"""Batches of a command: asked for on a terminal, run as a job, and displayed as tables or as one document."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Generic, TextIO

from msgspec.structs import replace

from kymatui.actions.batch import BatchItem, BatchJob, Items, Plan, Result, Verb, run_batch
from kymatui.actions.jobs import job_cluster
from kymatui.cli.options.direct_install import cancellable
from kymatui.cli.options.editing import confirm
from kymatui.cli.options.git_review import GitReview
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.output.plan_changes import plan_document
from kymatui.cli.output.printing import print_message, print_text
from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ForbiddenError, KymatuiError, RefusedError, UnknownNameError

if TYPE_CHECKING:
    from kymatui.actions.session import Session
    from kymatui.cli.output.batch_view import BatchView


class CommandRenderer(Generic[Plan, Result]):
    """What both forms of a command's output have in common."""

    def __init__(
        self, view: BatchView[Plan, Result], cluster: Callable[[], ClusterName], written: Callable[[], Cluster] | None
    ) -> None:
        self.view, self.args, self._cluster = view, view.args, cluster
        self.git = GitReview(view.args, written)

    def review(self, items: Items[Plan, Result]) -> Items[Plan, Result]:
        return [self._unless_from_git(item) for item in items]

    def _unless_from_git(self, item: BatchItem[Plan, Result]) -> BatchItem[Plan, Result]:
        error = self.git.refusal(item.name, getattr(item.plan, "git", ())) if item.is_pending else None
        return item if error is None else replace(item, refusal=error)

    def display(self, items: Items[Plan, Result], outcome: str, stream: TextIO | None = None) -> None:
        raise NotImplementedError

    def refuse(self, items: Items[Plan, Result]) -> KymatuiError:
        unknown = next((item.refusal for item in items if isinstance(item.refusal, UnknownNameError)), None)
        if unknown is None and (self.git.changes or self.view.shows_refused(items)):
            self.display(items, "refused", None if self.args.dry_run else sys.stderr)
            self._print_notices([item for item in items if item.refusal is not None])
        return unknown or self.view.refusal(items)

    def show(self, items: Items[Plan, Result], outcome: str) -> None:
        self.display(items, outcome)
        self._print_notices(items)
        try:
            self.view.require_rights([item for item in items if item.is_pending])
        except ForbiddenError as error:
            print_message(f"the plan cannot be applied: {error}", error.hint)
        if any(item.refusal for item in items):
            raise self.view.failure(items)

    @contextmanager
    def accept(self, items: Items[Plan, Result]) -> Iterator[BatchJob]:
        args, view = self.args, self.view
        pending = [item for item in items if item.is_pending]
        recorded = [item for item in items if item.is_pending or (view.records_waits and item.runs)]
        view.require_rights(pending)
        if pending:
            print_text(self.git.below(view.text(items, "table"), "table"), sys.stderr)
            self._print_notices(items)
            asked = view.question(pending)
            confirm(view.target(pending), asked.action, asked.consequence, yes=args.yes)
        if not recorded or not view.kind:  # there is only a wait, or nothing to continue
            with cancellable() as cancel:
                yield BatchJob(cancel)
            return
        asked = view.question(recorded)
        modules = asked.modules if asked.modules is not None else [item.name for item in recorded]
        title = asked.title or f"{asked.action[:1].lower()}{asked.action[1:]}"
        with recorded_job(args, self._cluster(), view.kind, modules, title, asked.options) as (job, cancel):
            yield BatchJob(cancel, job.journal, job.start, job.complete)

    def _print_notices(self, items: Items[Plan, Result]) -> None:
        for notice in (*self.view.notices(items), *self.git.notices()):
            print_text(notice, sys.stderr)

    def begin(self, items: Items[Plan, Result]) -> None:
        for item in items:
            if self.view.is_list and item.is_pending and (line := self.view.started(item)):
                print_text(line, sys.stderr)

    def stop(self, items: Items[Plan, Result]) -> None:
        if self.args.output != "table":  # for a person the error has it all
            self.display(self.view.current(items), "unfinished")

    def end(self, items: Items[Plan, Result]) -> None:
        view = self.view
        if all(item.error is None and item.refusal is None for item in items):
            self.report(items, view.outcome(items))
            for hint in view.hints(items):
                print_text(hint, sys.stderr)
            return
        error = view.failure(items)
        outcome = "refused" if isinstance(error, RefusedError) else "unfinished"
        if self.args.output != "table":
            self.display(view.current(items), outcome)
        elif view.is_list or view.reports_parts:
            self.report(items, outcome)
        raise error

    def report(self, items: Items[Plan, Result], outcome: str) -> None:
        raise NotImplementedError


class TerminalRenderer(CommandRenderer[Plan, Result]):
    """Tables and sentences (table, md)."""

    def display(self, items: Items[Plan, Result], outcome: str, stream: TextIO | None = None) -> None:
        if outcome == "unchanged":
            print_text(self.view.unchanged(items))
        else:
            text = self.git.below(self.view.text(items, self.args.output), self.args.output)
            print_text(text, stream if self.args.output == "table" else None)

    def report(self, items: Items[Plan, Result], outcome: str) -> None:
        print_text(self.view.unchanged(items) if outcome == "unchanged" else self.view.lines(items))


class DocumentRenderer(CommandRenderer[Plan, Result]):
    """One JSON or YAML document."""

    def display(self, items: Items[Plan, Result], outcome: str, stream: TextIO | None = None) -> None:
        document = {**self.view.document(items, outcome), "git": self.git.documents()}
        print_text(plan_document(self.view.target(items), document, self.args.output))

    def report(self, items: Items[Plan, Result], outcome: str) -> None:
        self.display(items, outcome)


def run_view(
    items: Items[Plan, Result],
    verb: Verb[Plan, Result],
    view: BatchView[Plan, Result],
    cluster: Callable[[], ClusterName],
    written: Callable[[], Cluster] | None = None,
    *,
    skips_refused: bool = False,
) -> int:
    """Run a batch with the options of a command line; return the exit status.

    `cluster` returns the cluster as its journal names it, `written` the one that is asked what applies its objects.
    """
    kind = DocumentRenderer if view.args.output in ("json", "yaml") else TerminalRenderer
    return run_batch(items, verb, kind(view, cluster, written), dry_run=view.args.dry_run, skips_refused=skips_refused)


def run_in_session(
    items: Items[Plan, Result],
    verb: Verb[Plan, Result],
    view: BatchView[Plan, Result],
    session: Session,
    *,
    at_home: bool = False,
    skips_refused: bool = False,
) -> int:
    """Run a batch in the cluster of a session, or with `at_home` in the control plane; return the exit status."""
    return run_view(
        items,
        verb,
        view,
        partial(job_cluster, session),
        lambda: session.home if at_home else session.cluster,
        skips_refused=skips_refused,
    )
