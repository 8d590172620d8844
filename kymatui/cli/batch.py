"""Batches of a command: tables for people, or one document; the question, the job, and the error of the end.

Every verb has a `BatchView` with its words and documents. One module has its own form, several have a table of all;
`BatchView.is_list` is the only place that tells them apart.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Generic, TextIO

from kymatui.actions.batch import BatchItem, BatchJob, Items, Plan, Result
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import cancellable
from kymatui.cli.options.recorded_jobs import recorded_job
from kymatui.cli.output.plan_header import plan_document, plan_text
from kymatui.cli.output.printing import markdown, print_text, table
from kymatui.domain.kubernetes.terminal_text import format_count, with_subject
from kymatui.errors import KymatuiError, PartlyDoneError, RefusedError, UnknownNameError

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_name import ClusterName
    from kymatui.domain.plans.cluster_target import ClusterTarget

CONTINUE: Final = "run the command again to continue; completed modules are skipped"
WITHOUT_REFUSED: Final = "no changes made; run the command again without the refused modules"


class BatchView(Generic[Plan, Result]):
    """The words and documents of one verb.

    is_list  the form of several: a table of all, and a document with a list
    """

    kind = ""
    """The command, for its journal."""
    heads: Sequence[str] = ("MODULE", "VERSION", "CHANGES")
    list_key = "plans"

    def __init__(self, target: ClusterTarget, args: argparse.Namespace, cluster: str, *, is_list: bool) -> None:
        self._target, self.args, self.cluster, self.is_list = target, args, cluster, is_list

    # the plan

    def target(self, items: Items[Plan, Result]) -> ClusterTarget:
        return self._target

    def text(self, items: Items[Plan, Result], form: str) -> str:
        """Return the plan for people (table, md), below the cluster and the summary."""
        return plan_text(self.target(items), self.summary(items), "\n\n".join(self.parts(items, form)), form)

    def parts(self, items: Items[Plan, Result], form: str) -> Iterator[str]:
        """Yield the table of several, then each plan."""
        if self.is_list:
            yield (markdown if form == "md" else table)(self.heads, [self.row(item) for item in items])
        for item in items:
            if not self.is_list or self.is_detailed(item):
                yield self.item_text(item, form)

    def is_detailed(self, item: BatchItem[Plan, Result]) -> bool:
        """Return whether the plan of one of several is displayed below their table."""
        return item.is_pending

    def summary(self, items: Items[Plan, Result]) -> str:
        raise NotImplementedError

    def item_text(self, item: BatchItem[Plan, Result], form: str) -> str:
        raise NotImplementedError

    def row(self, item: BatchItem[Plan, Result]) -> Sequence[str]:
        raise NotImplementedError

    def unchanged(self, items: Items[Plan, Result]) -> str:
        """Return what a person reads where there is nothing to do."""
        return "no changes"

    # documents

    def document(self, items: Items[Plan, Result], outcome: str) -> dict[str, Any]:
        """Return the document of one module; for several `{"cluster", …: […], "failed": […], "outcome"}`."""
        if not self.is_list:
            return self.item_document(items[0], outcome)
        return {
            "cluster": self.cluster,
            self.list_key: [
                self.item_document(item, self.item_outcome(item, outcome)) for item in items if self.is_listed(item)
            ],
            "failed": [{"name": item.name, "reason": why} for item in items if (why := self.trouble(item))],
            **self.further(items),
            "outcome": outcome,
        }

    def is_listed(self, item: BatchItem[Plan, Result]) -> bool:
        return item.refusal is None

    def further(self, items: Items[Plan, Result]) -> Mapping[str, Any]:
        """Return further fields of the document of several."""
        return {}

    def item_document(self, item: BatchItem[Plan, Result], outcome: str) -> dict[str, Any]:
        raise NotImplementedError

    def item_outcome(self, item: BatchItem[Plan, Result], outcome: str) -> str:
        """Return the outcome of one of several in a batch with an outcome."""
        return outcome

    # the question and the job

    def question(self, items: Items[Plan, Result]) -> tuple[str, str]:
        """Return what is asked ("Delete nats") and its consequence."""
        raise NotImplementedError

    def require_rights(self, items: Items[Plan, Result]) -> None:
        """Raise ForbiddenError where the user may not apply a plan."""

    def notices(self, items: Items[Plan, Result]) -> Sequence[str]:
        """Return what a person reads below a plan."""
        return ()

    def recorded(self, items: Items[Plan, Result]) -> Items[Plan, Result]:
        """Return the items that the journal names; where there are none, there is no job to continue."""
        return [item for item in items if item.is_pending]

    def modules(self, items: Items[Plan, Result]) -> Sequence[str]:
        """Return the modules that the journal names."""
        return [item.name for item in items]

    def title(self, items: Items[Plan, Result]) -> str:
        """Return the title of the job: the question in lower case."""
        action = self.question(items)[0]
        return f"{action[:1].lower()}{action[1:]}"

    def options(self, items: Items[Plan, Result]) -> Mapping[str, str]:
        """Return what the journal has besides the options of the command line."""
        return {}

    # the end

    def started(self, item: BatchItem[Plan, Result]) -> str:
        """Return the line before the progress of one of several, "" for none."""
        return ""

    def outcome(self, items: Items[Plan, Result]) -> str:
        """Return the outcome of a batch without a failure."""
        return "done"

    def lines(self, items: Items[Plan, Result]) -> str:
        """Return what a person reads of the results."""
        raise NotImplementedError

    def hints(self, items: Items[Plan, Result]) -> Sequence[str]:
        """Return what a person can do next."""
        return ()

    def current(self, items: Items[Plan, Result]) -> Items[Plan, Result]:
        """Return the items of an unfinished batch as the cluster has them now."""
        return items

    def trouble(self, item: BatchItem[Plan, Result]) -> str:
        """Return why an item is refused, or did not come to its end; "" for neither."""
        error = item.refusal or item.error
        if error is None:
            return ""
        option = error.hint.removeprefix("no changes made").removeprefix("; ") if item.refusal is not None else ""
        return f"{error} ({option})" if option else str(error)

    def named_trouble(self, items: Items[Plan, Result]) -> str:
        return "; ".join(with_subject(item.name, why) for item in items if (why := self.trouble(item)))

    def item_error(self, item: BatchItem[Plan, Result]) -> KymatuiError | None:
        """Return the error of a single item."""
        return item.refusal or item.error

    def undone(self, failed: Items[Plan, Result]) -> str:
        """Return what became of failed items in a sentence: "not installed"."""
        return "not done"

    def shows_refused(self, items: Items[Plan, Result]) -> bool:
        """Return whether there is a plan to display of what is refused."""
        return self.is_list or items[0].plan is not None

    def refusal(self, items: Items[Plan, Result]) -> KymatuiError:
        """Return the error of a batch that is refused."""
        if not self.is_list and (alone := self.item_error(items[0])) is not None:
            return alone
        return RefusedError(self.named_trouble(items), hint=WITHOUT_REFUSED)

    def failure(self, items: Items[Plan, Result]) -> KymatuiError:
        """Return the error of a batch that did not come to its end."""
        failed = [item for item in items if item.error is not None or item.refusal is not None]
        if not self.is_list and (alone := self.item_error(items[0])) is not None:
            return alone
        said = self.named_trouble(failed)
        if all(isinstance(item.error, RefusedError) for item in failed) and all(item.result is None for item in items):
            return RefusedError(said, hint="no changes made")
        count = format_count(len(items), "module")
        return PartlyDoneError(f"{len(failed)} of {count} {self.undone(failed)}: {said}", hint=CONTINUE)


class CommandRenderer(Generic[Plan, Result]):
    """What both forms of a command's output have in common."""

    def __init__(self, view: BatchView[Plan, Result], cluster: Callable[[], ClusterName]) -> None:
        self.view, self.args, self._cluster = view, view.args, cluster

    def display(self, items: Items[Plan, Result], outcome: str, stream: TextIO | None = None) -> None:
        raise NotImplementedError

    def refuse(self, items: Items[Plan, Result]) -> KymatuiError:
        unknown = next((item.refusal for item in items if isinstance(item.refusal, UnknownNameError)), None)
        if unknown is None and self.view.shows_refused(items):
            self.display(items, "refused", None if self.args.dry_run else sys.stderr)
        return unknown or self.view.refusal(items)

    def show(self, items: Items[Plan, Result], outcome: str) -> None:
        self.display(items, outcome)
        self._print_notices([item for item in items if item.is_pending])
        if any(item.refusal for item in items):
            raise self.view.failure(items)

    @contextmanager
    def accept(self, items: Items[Plan, Result]) -> Iterator[BatchJob]:
        args, view = self.args, self.view
        pending, recorded = [item for item in items if item.is_pending], view.recorded(items)
        view.require_rights(pending)
        if pending:
            print_text(view.text(items, "table"), sys.stderr)
            self._print_notices(pending)
            confirm(view.target(pending), *view.question(pending), yes=args.yes)
        if not recorded:  # there is only a wait
            with cancellable() as cancel:
                yield BatchJob(cancel)
            return
        modules, title = view.modules(recorded), view.title(recorded)
        with recorded_job(args, self._cluster(), view.kind, modules, title, view.options(recorded)) as (job, cancel):
            yield BatchJob(cancel, job.journal, job.start, job.complete)

    def _print_notices(self, pending: Items[Plan, Result]) -> None:
        for notice in self.view.notices(pending):
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
        elif view.is_list:
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
            print_text(self.view.text(items, self.args.output), stream if self.args.output == "table" else None)

    def report(self, items: Items[Plan, Result], outcome: str) -> None:
        print_text(self.view.unchanged(items) if outcome == "unchanged" else self.view.lines(items))


class DocumentRenderer(CommandRenderer[Plan, Result]):
    """One JSON or YAML document."""

    def display(self, items: Items[Plan, Result], outcome: str, stream: TextIO | None = None) -> None:
        document = self.view.document(items, outcome)
        print_text(plan_document(self.view.target(items), document, self.args.output))

    def report(self, items: Items[Plan, Result], outcome: str) -> None:
        self.display(items, outcome)


def renderer_of(view: BatchView[Plan, Result], cluster: Callable[[], ClusterName]) -> CommandRenderer[Plan, Result]:
    """Return the renderer of the requested output; `cluster` returns the cluster as its journal names it."""
    kind = DocumentRenderer if view.args.output in ("json", "yaml") else TerminalRenderer
    return kind(view, cluster)
