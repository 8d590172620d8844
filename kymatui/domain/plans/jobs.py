"""Jobs: work that takes time and goes on whatever a person looks at meanwhile. Data and its changes; nothing runs here.

A job waits until nothing that it must have for itself is in use, runs through its steps, and ends in one of five ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from kymatui.domain.kyma.problems import Actor
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, ReadOnlyError, RefusedError

MAX_LOG_LINES = 2_000


class JobState(StrEnum):
    """Where a job stands; the last five are ends."""

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
    """Where one step of a job stands; `LEFT` was not begun before the end."""

    AHEAD = "ahead"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class JobStep:
    """One step; times are in seconds of the Unix clock, 0 where it has not come to that."""

    title: str
    state: StepState = StepState.AHEAD
    began: float = 0.0
    ended: float = 0.0


@dataclass(frozen=True, slots=True)
class LogLine:
    """What happened at a time, in seconds of the Unix clock, and to which object, "" for none."""

    time: float
    words: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One job as it is at a moment.

    module      which module it is about, "" for none
    keeps       names of what nobody else may work on meanwhile (see `module_key` and `KYMA_KEY`)
    stays       what stays behind when it is cancelled, as a sentence for whoever is asked
    words       what happens at present, or how it ended
    waits_for   what it waits for, "" while it works; `actor` is who has to act
    done, total how many of the objects of the present step are dealt with; a total of 0 is not known
    log         the last lines; `dropped` says how many there were before them
    place       the cluster, where a front end has several; "" for the one that it is on
    """

    number: int
    title: str
    module: str = ""
    keeps: frozenset[str] = frozenset()
    stays: str = ""
    state: JobState = JobState.QUEUED
    steps: tuple[JobStep, ...] = ()
    words: str = ""
    hint: str = ""
    waits_for: str = ""
    actor: Actor = Actor.NOBODY
    done: int = 0
    total: int = 0
    made: float = 0.0
    began: float = 0.0
    ended: float = 0.0
    log: tuple[LogLine, ...] = ()
    dropped: int = 0
    place: str = ""

    @property
    def is_over(self) -> bool:
        return self.state.is_end

    @property
    def step(self) -> JobStep | None:
        """The step that runs, or failed."""
        return next((step for step in self.steps if step.state in (StepState.RUNNING, StepState.FAILED)), None)

    @property
    def steps_done(self) -> int:
        return sum(step.state is StepState.DONE for step in self.steps)

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1: whole steps, and of the present one what its counts say."""
        if self.state is JobState.DONE:
            return 1.0
        part = self.done / self.total if self.total else 0.0
        if not self.steps:
            return min(part, 1.0)
        return min((self.steps_done + (part if self.step is not None else 0.0)) / len(self.steps), 1.0)

    def elapsed(self, now: float) -> float:
        """Seconds of work, until now or until it ended; of a queued job those that it waits."""
        return max((self.ended or now) - (self.began or self.made), 0.0)


KYMA_KEY = "the Kyma"
"""What jobs keep that edit the Kyma resource."""


def module_key(module: str) -> str:
    """What jobs keep that work on a module."""
    return f"module {module}"


# changes of one job


def start_job(job: Job, now: float) -> Job:
    return replace(job, state=JobState.RUNNING, began=now, words="", waits_for="", actor=Actor.NOBODY)


def queued_behind(job: Job, other: Job) -> Job:
    """The job waits until another one lets go of what both want."""
    shared = ", ".join(sorted(job.keeps & other.keeps))
    return replace(job, waits_for=f"#{other.number} {other.title}" + (f" (both want {shared})" if shared else ""))


def enter_step(job: Job, title: str, now: float) -> Job:
    """The named step runs, those before it are done; a title that was not announced is added behind them."""
    titles = [step.title for step in job.steps]
    steps = list(job.steps)
    if title not in titles:
        place = sum(step.state is not StepState.AHEAD for step in steps)
        steps.insert(place, JobStep(title))
        titles.insert(place, title)
    place = titles.index(title)
    made = [_finished(step, now) if number < place else step for number, step in enumerate(steps)]
    made[place] = replace(made[place], state=StepState.RUNNING, began=made[place].began or now, ended=0.0)
    return replace(job, steps=tuple(made), done=0, total=0, waits_for="", actor=Actor.NOBODY)


def _finished(step: JobStep, now: float) -> JobStep:
    if step.state in (StepState.RUNNING, StepState.AHEAD):
        return replace(step, state=StepState.DONE, began=step.began or now, ended=now)
    return step


def append_log(job: Job, line: LogLine) -> Job:
    """With one more line, unless the last one says the same."""
    if job.log and (job.log[-1].words, job.log[-1].about) == (line.words, line.about):
        return job
    log = (*job.log, line)
    over = max(len(log) - MAX_LOG_LINES, 0)
    return replace(job, log=log[over:], dropped=job.dropped + over)


def end_job(job: Job, now: float, outcome: str | KymatuiError) -> Job:
    """The end of a job: words where all went well, else what was raised."""
    state = JobState.DONE if isinstance(outcome, str) else end_state(outcome)
    last = StepState.DONE if state is JobState.DONE else StepState.FAILED
    steps = tuple(
        replace(step, state=last, ended=now) if step.state is StepState.RUNNING else _closed(step, state, now)
        for step in job.steps
    )
    made = replace(
        job,
        state=state,
        steps=steps,
        words=str(outcome),
        hint="" if isinstance(outcome, str) else outcome.hint,
        waits_for="",
        actor=Actor.NOBODY,
        ended=now,
    )
    return append_log(made, LogLine(now, f"{state.value}: {outcome}" if str(outcome) else state.value))


def _closed(step: JobStep, state: JobState, now: float) -> JobStep:
    if step.state is not StepState.AHEAD:
        return step
    return _finished(step, now) if state is JobState.DONE else replace(step, state=StepState.LEFT)


def end_state(error: KymatuiError) -> JobState:
    """The end that an error means."""
    match error:
        case CancelledError():
            return JobState.CANCELLED
        case RefusedError() | ReadOnlyError():
            return JobState.REFUSED
        case PartlyDoneError():
            return JobState.PARTLY
        case _:
            return JobState.FAILED


# many jobs


def blocking_job(job: Job, jobs: Iterable[Job]) -> Job | None:
    """The first unfinished job before this one that keeps something that it wants, too."""
    return next(
        (one for one in jobs if one.number < job.number and not one.is_over and one.keeps & job.keeps),
        None,
    )


def format_job_counts(jobs: Iterable[Job]) -> str:
    """`1 running  2 queued  6 done`, for people."""
    found = Counter(job.state for job in jobs)
    return "  ".join(f"{found[state]} {state.value}" for state in JobState if found[state])
