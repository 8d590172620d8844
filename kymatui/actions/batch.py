"""The loop of all verbs: plan all, refuse, accept, run each, report. One module is a batch of one.

    items = plan_installs(port, requests)                       # the verb plans each item; nothing is written
    status = run_batch(items, Installation(port, …), renderer)  # a terminal or a document asks and reports

A screen has the plan accepted in its own time, and runs the items in a job: `run_items(items, verb, renderer, job)`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.errors import CancelledError, KymatuiError

if TYPE_CHECKING:
    from kymatui.engine.jobs.job_progress import JobProgress

Plan = TypeVar("Plan")
Result = TypeVar("Result")


class Work(Enum):
    """What is left to do for an item."""

    NOTHING = "nothing"
    WAIT = "wait"  # the cluster has the change already, and its effect is awaited
    CHANGE = "change"


class BatchItem(Struct, Generic[Plan, Result], frozen=True):
    """One module, object or runtime of a batch.

    name     what it is called where another one has the same module's name
    plan     None where it could not be planned
    refusal  why nothing of it is written
    error    why it did not complete
    result   what was done; None where nothing was
    """

    name: str
    plan: Plan | None = None
    work: Work = Work.CHANGE
    refusal: KymatuiError | None = None
    error: KymatuiError | None = None
    result: Result | None = None

    @property
    def is_pending(self) -> bool:
        """Return whether something is to be written."""
        return self.refusal is None and self.work is Work.CHANGE

    @property
    def runs(self) -> bool:
        return self.refusal is None and self.work is not Work.NOTHING

    @property
    def required_plan(self) -> Plan:
        """Return the plan of an item that was planned."""
        assert self.plan is not None, f"{self.name} has no plan"
        return self.plan


Items = Sequence[BatchItem[Plan, Result]]


def _ignore(*_: object) -> None:
    pass


class BatchJob(Struct, frozen=True):
    """The job that runs a batch: its journal, and the event that stops it."""

    cancel: threading.Event
    journal: Journal = NO_JOURNAL
    start: Callable[[str], None] = _ignore
    complete: Callable[[str, JobProgress | None], None] = _ignore


class Verb(Generic[Plan, Result]):
    """What a verb does with each item of a batch."""

    def session(self, items: Items[Plan, Result]) -> AbstractContextManager[None]:
        """Open what the run of all items needs."""
        return nullcontext()

    def run(self, item: BatchItem[Plan, Result], job: BatchJob) -> BatchItem[Plan, Result]:
        """Apply one item; return it with its result. What it raises becomes the item's error."""
        raise NotImplementedError

    def follow(self, items: list[BatchItem[Plan, Result]], job: BatchJob) -> None:
        """Wait for the effects of all items, and put each with its end into the list."""

    def waves(self, items: Items[Plan, Result]) -> Iterable[Sequence[int]]:
        """Return the numbers of the items that run at the same time, in order: by default one after the other."""
        return [(number,) for number, item in enumerate(items) if item.runs]

    def stops(self, item: BatchItem[Plan, Result]) -> bool:
        """Return whether no other item is started after this one; by default a failure stops no other item."""
        return False

    def skipped(self, item: BatchItem[Plan, Result]) -> BatchItem[Plan, Result]:
        """Return an item that was not started."""
        return item

    def stopped(self, items: Items[Plan, Result], error: CancelledError) -> CancelledError:
        """Return the error of a batch that a person stopped, with its progress."""
        return error


class RunRenderer(Protocol[Plan, Result]):
    """How the run of a batch is displayed."""

    def begin(self, items: Items[Plan, Result]) -> None:
        """Display which items are started together."""

    def stop(self, items: Items[Plan, Result]) -> None:
        """Display the items of a batch that a person stopped."""


class Renderer(RunRenderer[Plan, Result], Protocol[Plan, Result]):
    """How a batch is displayed, accepted and reported by a command."""

    def review(self, items: Items[Plan, Result]) -> Items[Plan, Result]:
        """Return the items, those refused whose change needs an option of its own."""

    def refuse(self, items: Items[Plan, Result]) -> KymatuiError:
        """Display what is refused; return the error that says why."""

    def show(self, items: Items[Plan, Result], outcome: str) -> None:
        """Display a batch of which nothing is written, `planned` or `unchanged`. Raise what it leaves out."""

    def accept(self, items: Items[Plan, Result]) -> AbstractContextManager[BatchJob]:
        """Display the plan and ask for it; return its job. Raise RefusedError if it is not accepted."""

    def end(self, items: Items[Plan, Result]) -> None:
        """Report the results. Raise what kept an item from its end."""


def run_batch(
    items: Items[Plan, Result],
    verb: Verb[Plan, Result],
    renderer: Renderer[Plan, Result],
    *,
    dry_run: bool,
    skips_refused: bool = False,
) -> int:
    """Refuse, accept, run and report planned items; return the exit status.

    One refused item refuses all, unless `skips_refused`: then the others are run, and it is reported as not done.
    """
    items = renderer.review(items)
    refused, todo = any(item.refusal for item in items), any(item.is_pending for item in items)
    if refused and not (skips_refused and todo):
        raise renderer.refuse(items)
    if dry_run or not any(item.runs for item in items):
        renderer.show(items, "planned" if todo else "unchanged")
        return 0
    with renderer.accept(items) as job:
        renderer.end(run_items(items, verb, renderer, job))
    return 0


def run_items(
    items: Items[Plan, Result], verb: Verb[Plan, Result], renderer: RunRenderer[Plan, Result], job: BatchJob
) -> list[BatchItem[Plan, Result]]:
    """Run accepted items and wait for their effects; return each with its end.

    Once a person stops it, no other item is started. Raises CancelledError.
    """
    now = list(items)
    try:
        with verb.session(items):
            _run_waves(now, verb, renderer, job)
            _mark_skipped(now, verb)
            verb.follow(now, job)
    except CancelledError as error:
        _mark_skipped(now, verb)
        renderer.stop(now)
        raise verb.stopped(now, error) from error
    return now


def _run_waves(
    now: list[BatchItem[Plan, Result]], verb: Verb[Plan, Result], renderer: RunRenderer[Plan, Result], job: BatchJob
) -> None:
    for wave in verb.waves(tuple(now)):
        if job.cancel.is_set():
            raise CancelledError(f"stopped before {now[wave[0]].name}")
        renderer.begin([now[number] for number in wave])
        for number, ended in zip(wave, _together([now[number] for number in wave], verb, job), strict=True):
            now[number] = ended
        if stopped := next(
            (now[number].error for number in wave if isinstance(now[number].error, CancelledError)), None
        ):
            raise stopped
        if any(verb.stops(now[number]) for number in wave):
            return


def _mark_skipped(now: list[BatchItem[Plan, Result]], verb: Verb[Plan, Result]) -> None:
    for number, item in enumerate(now):
        if item.runs and item.result is None and item.error is None:
            now[number] = verb.skipped(item)


def _together(wave: Items[Plan, Result], verb: Verb[Plan, Result], job: BatchJob) -> Iterable[BatchItem[Plan, Result]]:
    def run(item: BatchItem[Plan, Result]) -> BatchItem[Plan, Result]:
        try:
            return verb.run(item, job)
        except KymatuiError as error:
            return replace(item, error=error)

    # An item sees `job.cancel` itself, and a second Ctrl-C waits for none.
    return run_for_each(wave, run, None, len(wave))
