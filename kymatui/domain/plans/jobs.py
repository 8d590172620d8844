"""Jobs as data: background work in steps, and the transitions of its states; nothing runs here.

A job waits until no other job holds its keys, runs its steps, and ends in one of five states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.kyma.problems import Actor
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, ReadOnlyError, RefusedError

MAX_LOG_LINES = 2_000  # lines of one job in memory; the oldest are dropped and counted


class JobState(StrEnum):
    """The states of a job; the last five are final."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"
    PARTLY = "partly done"
    FAILED = "failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        return self not in (JobState.QUEUED, JobState.RUNNING, JobState.STOPPING)


class StepState(StrEnum):
    """The states of a step; `LEFT` was not started before the job ended."""

    AHEAD = "ahead"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LEFT = "left"


class JobStep(Struct, frozen=True):
    """One step; times are in seconds of the Unix clock, 0 if not reached."""

    title: str
    state: StepState = StepState.AHEAD
    began: float = 0.0
    ended: float = 0.0


class LogLine(Struct, frozen=True):
    """A log line; `time` is in seconds of the Unix clock, `about` the object, "" for none."""

    time: float
    message: str
    about: str = ""


RUNTIMES = "runtimes"
"""The option with the runtimes of a job on a fleet, separated by commas."""
VALUES_LEFT_OUT = "values_left_out"
"""The option that says that a job has values, or a document, that are not in its journal."""


class JobPurpose(Struct, frozen=True):
    """The purpose of a job, enough to plan it again: kind ("install", "enable"), modules, chosen options."""

    kind: str
    modules: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)


class Job(Struct, frozen=True):
    """A job at one moment.

    module      the module, "" for none
    keeps       keys that no other job may hold meanwhile (see `module_key` and `KYMA_KEY`)
    stays       what remains after cancelling, as a sentence for the confirmation
    message     current activity, or the result
    waits_for   what it waits for, "" while it works; `actor` is who has to act
    done, total objects completed in the current step; a total of 0 is unknown
    log         the last lines; `dropped` is the number of earlier ones
    cluster_name       the cluster if the front end has several, else ""
    """

    number: int
    title: str
    module: str = ""
    keeps: frozenset[str] = frozenset()
    stays: str = ""
    state: JobState = JobState.QUEUED
    steps: tuple[JobStep, ...] = ()
    message: str = ""
    hint: str = ""
    waits_for: str = ""
    actor: Actor = Actor.NOBODY
    done: int = 0
    total: int = 0
    created: float = 0.0
    began: float = 0.0
    ended: float = 0.0
    log: tuple[LogLine, ...] = ()
    dropped: int = 0
    cluster_name: str = ""

    @property
    def is_over(self) -> bool:
        return self.state.is_end

    @property
    def step(self) -> JobStep | None:
        """Return the running or failed step."""
        return next((step for step in self.steps if step.state in (StepState.RUNNING, StepState.FAILED)), None)

    @property
    def steps_done(self) -> int:
        return sum(step.state is StepState.DONE for step in self.steps)

    @property
    def share(self) -> float:
        """Return the progress from 0 to 1: finished steps plus the counted part of the current one."""
        if self.state is JobState.DONE:
            return 1.0
        part = self.done / self.total if self.total else 0.0
        if not self.steps:
            return min(part, 1.0)
        return min((self.steps_done + (part if self.step is not None else 0.0)) / len(self.steps), 1.0)

    def elapsed(self, now: float) -> float:
        """Return the seconds of work until now or the end; for a queued job the seconds of waiting."""
        return max((self.ended or now) - (self.began or self.created), 0.0)


KYMA_KEY = "the Kyma"
"""The key of jobs that edit the Kyma resource."""


def module_key(module: str) -> str:
    """Return the key of jobs that work on a module."""
    return f"module {module}"


# transitions of one job


def start_job(job: Job, now: float) -> Job:
    return replace(job, state=JobState.RUNNING, began=now, message="", waits_for="", actor=Actor.NOBODY)


def queued_behind(job: Job, other: Job) -> Job:
    """Return the job waiting for another job that holds the same keys."""
    shared = ", ".join(sorted(job.keeps & other.keeps))
    return replace(job, waits_for=f"#{other.number} {other.title}" + (f" (both change {shared})" if shared else ""))


def enter_step(job: Job, title: str, now: float) -> Job:
    """Return the job in the named step, with all earlier steps done; an unannounced title is inserted."""
    titles = [step.title for step in job.steps]
    steps = list(job.steps)
    if title not in titles:
        index = sum(step.state is not StepState.AHEAD for step in steps)
        steps.insert(index, JobStep(title))
        titles.insert(index, title)
    index = titles.index(title)
    finished = [_finished(step, now) if number < index else step for number, step in enumerate(steps)]
    finished[index] = replace(finished[index], state=StepState.RUNNING, began=finished[index].began or now, ended=0.0)
    return replace(job, steps=tuple(finished), done=0, total=0, waits_for="", actor=Actor.NOBODY)


def _finished(step: JobStep, now: float) -> JobStep:
    if step.state in (StepState.RUNNING, StepState.AHEAD):
        return replace(step, state=StepState.DONE, began=step.began or now, ended=now)
    return step


def append_log(job: Job, line: LogLine) -> Job:
    """Return the job with one more line, unless it repeats the last one."""
    if job.log and (job.log[-1].message, job.log[-1].about) == (line.message, line.about):
        return job
    log = (*job.log, line)
    over = max(len(log) - MAX_LOG_LINES, 0)
    return replace(job, log=log[over:], dropped=job.dropped + over)


def end_job(job: Job, now: float, outcome: str | KymatuiError) -> Job:
    """Return the ended job; a text means success, else the error decides the state."""
    state = JobState.DONE if isinstance(outcome, str) else end_state(outcome)
    last = StepState.DONE if state is JobState.DONE else StepState.FAILED
    steps = tuple(
        replace(step, state=last, ended=now) if step.state is StepState.RUNNING else _closed(step, state, now)
        for step in job.steps
    )
    ended = replace(
        job,
        state=state,
        steps=steps,
        message=outcome if isinstance(outcome, str) else outcome.text,
        hint="" if isinstance(outcome, str) else outcome.hint,
        waits_for="",
        actor=Actor.NOBODY,
        ended=now,
    )
    return append_log(ended, LogLine(now, f"{state.value}: {outcome}" if str(outcome) else state.value))


def _closed(step: JobStep, state: JobState, now: float) -> JobStep:
    if step.state is not StepState.AHEAD:
        return step
    return _finished(step, now) if state is JobState.DONE else replace(step, state=StepState.LEFT)


def end_state(error: KymatuiError) -> JobState:
    """Return the final state for an error."""
    match error:
        case CancelledError():
            return JobState.CANCELLED
        case RefusedError() | ReadOnlyError():
            return JobState.REFUSED
        case PartlyDoneError():
            return JobState.PARTLY
        case _:
            return JobState.FAILED


# several jobs


def blocking_job(job: Job, jobs: Iterable[Job]) -> Job | None:
    """Return the first unfinished earlier job that holds a key of this job."""
    return next(
        (other for other in jobs if other.number < job.number and not other.is_over and other.keeps & job.keeps), None
    )


def format_job_counts(jobs: Iterable[Job]) -> str:
    """Return counts such as `1 running  2 queued  6 done`."""
    counts = Counter(job.state for job in jobs)
    return "  ".join(f"{counts[state]} {state.value}" for state in JobState if counts[state])
