"""Jobs that run in threads: a bounded number side by side, one after the other where two would collide.

    jobs = Jobs(publish)                                  # publish(all jobs) is called from any thread
    jobs.start(Work("install keda", run, module="keda", keeps=frozenset({module_key("keda")}), steps=("apply",)))

    def run(report: Report) -> str:                       # in a thread; the words are how it ended
        report.step("apply")                              # one of the announced steps, or a new one
        with begin(cluster, cancel=report.cancel, progress=report.progress) as run:
            apply(plan, run)
        return "27 written"

What `run` raises says how it ended: RefusedError, PartlyDoneError and CancelledError mean what they say, every other
error that it failed. `report.cancel` is the token of everything that waits; when it is set, no further step begins.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kyma.problems import Actor
from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.domain.plans.jobs import (
    Job,
    JobPurpose,
    JobState,
    JobStep,
    LogLine,
    append_log,
    blocking_job,
    end_job,
    enter_step,
    queued_behind,
    start_job,
)
from kymatui.engine.cluster.ports import name_cluster
from kymatui.engine.jobs.journal import NO_JOURNAL, Journal
from kymatui.errors import CancelledError, DefectError, KymatuiError, ReadOnlyError

if TYPE_CHECKING:
    from kymatui.actions.session import Session
    from kymatui.engine.jobs.open_job import OpenJob
    from kymatui.engine.jobs.run import Progress

MAX_JOBS = 4  # jobs that run at the same time; the others wait in their order
FOLLOW_SECONDS = 3600.0
"""Seconds for which a job follows what others do; after that it ends, and says where it stands."""


class JobSpec(Struct, frozen=True):
    """What a job is to do; see `kymatui.domain.plans.jobs.Job` for the words. `run` returns how it ended, in words.

    With a `purpose` it has a journal, so that it can be continued after an interruption; `cluster` returns the cluster
    that it is on. `cluster_name` is given where a front end has several: jobs of different clusters do not block
    each other.
    """

    title: str
    run: Callable[[JobReport], str]
    module: str = ""
    keeps: frozenset[str] = frozenset()
    steps: tuple[str, ...] = ()
    stays: str = "completed steps stay"
    purpose: JobPurpose | None = None
    cluster_name: str = ""
    cluster: Callable[[], ClusterName] | None = None


class JobBook(Protocol):
    """Opens the journals of jobs."""

    def open(self, job: Job, purpose: JobPurpose) -> OpenJob:
        """Begin a job. Raise ConfigurationError if its journal cannot be written."""


def job_cluster(session: Session) -> ClusterName:
    """Return the cluster of a session as journals name it, also of a runtime that cannot be reached."""
    if session.kyma is None:
        try:
            return name_cluster(session.cluster)
        except KymatuiError:
            return ClusterName(session.home.name)
    control = name_cluster(session.home)
    try:
        return replace(name_cluster(session.cluster), control=control.identity)
    except KymatuiError:  # only its Kyma on the control plane is edited
        return ClusterName("/".join((control.name, *session.kyma)), control=control.identity)


class JobReport:
    """How a job tells where it stands; all of it may be called from any thread."""

    def __init__(self, jobs: JobRunner, number: int, journal: Journal = NO_JOURNAL) -> None:
        self.cancel = threading.Event()
        self.journal = journal
        self._jobs = jobs
        self._number = number

    def check(self, ahead: str = "the next step") -> None:
        """Raise CancelledError where the job is to stop."""
        if self.cancel.is_set():
            raise CancelledError(f"stopped before: {ahead}")

    def step(self, title: str) -> None:
        """Begin the next step. Raise CancelledError if the job is to stop."""
        self.check(title)
        now = self._jobs.now()
        self._change(lambda job: append_log(enter_step(job, title, now), LogLine(now, title)))

    def log(self, message: str, *, done: int = 0, total: int = 0, about: str = "") -> None:
        """Set what happens now, and add it to the log."""
        line = LogLine(self._jobs.now(), message, about)
        self._change(
            lambda job: append_log(
                replace(job, message=message, done=done or job.done, total=total or job.total, waits_for=""), line
            )
        )

    def wait(self, what: str, actor: Actor = Actor.NOBODY) -> None:
        """Set what the job waits for, and who has to act."""
        line = LogLine(self._jobs.now(), what, f"who acts: {actor.value}" if actor.value else "")
        self._change(lambda job: append_log(replace(job, message="", waits_for=what, actor=actor), line))

    def let_go(self, key: str) -> None:
        """Release one key of a running job; used by reports."""
        self._jobs.let_go(self._number, key)

    def progress(self, progress: Progress) -> None:
        """Take the progress of a run of the engine; pass it as the run's `progress`."""
        if progress.waits is not None:
            self.wait(progress.waits_for or progress.message, progress.waits)
            return
        self.log(progress.message, done=progress.done, total=progress.total, about=progress.about)

    def _change(self, change: Callable[[Job], Job]) -> None:
        self._jobs.change(self._number, change)


class JobRunner:
    """All jobs of one front end. `publish` gets all of them, the oldest first, whenever one has changed."""

    def __init__(
        self,
        publish: Callable[[tuple[Job, ...]], None],
        *,
        width: int = MAX_JOBS,
        now: Callable[[], float] = time.time,
        read_only: Callable[[], bool] = lambda: False,
        book: JobBook | None = None,
    ) -> None:
        self.now = now
        self._book = book
        self._publish = publish
        self._width = width
        self._read_only = read_only
        self._lock = threading.Condition(threading.RLock())
        self._jobs: dict[int, Job] = {}
        self._works: dict[int, JobSpec] = {}
        self._open: dict[int, OpenJob] = {}
        self._reports: dict[int, JobReport] = {}
        self._closed = False

    @property
    def all(self) -> tuple[Job, ...]:
        with self._lock:
            return tuple(self._jobs.values())

    def find(self, number: int) -> Job | None:
        with self._lock:
            return self._jobs.get(number)

    def start(self, work: JobSpec) -> Job:
        """Run it now, or when nothing is in its way any more.

        Raises ReadOnlyError where nothing may be written, ConfigurationError if its journal cannot be written.
        """
        if self._read_only():
            raise ReadOnlyError(f"read-only: {work.title} is not started")
        with self._lock:
            number = len(self._jobs) + 1
            job = Job(
                number,
                work.title,
                work.module,
                frozenset(_kept(work, key) for key in work.keeps),
                work.stays,
                steps=tuple(map(JobStep, work.steps)),
                created=self.now(),
                cluster_name=work.cluster_name,
            )
            opened = None
            if self._book is not None and work.purpose is not None:
                opened = self._open[number] = self._book.open(job, work.purpose)
            self._jobs[number] = job
            journal = opened.journal if opened is not None else NO_JOURNAL
            self._works[number], self._reports[number] = work, JobReport(self, number, journal)
            self._schedule()
            return self._jobs[number]

    def cancel(self, number: int) -> None:
        """Cancel a job: a queued one never begins, a running one ends after its current step."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None or job.is_over:
                return
            if job.state is JobState.QUEUED:
                self._end(number, CancelledError("cancelled before it started"))
                return
            self._jobs[number] = append_log(replace(job, state=JobState.STOPPING), LogLine(self.now(), "stopping"))
            self._reports[number].cancel.set()
            self._publish_jobs()

    def close(self) -> None:
        """Stop everything: queued jobs never begin, running ones end at their next step. Nothing is published."""
        with self._lock:
            self._closed = True
            for report in self._reports.values():
                report.cancel.set()

    def wait(self, timeout: float) -> bool:
        """Return whether all jobs came to an end within a time, in seconds."""
        with self._lock:
            return self._lock.wait_for(self._is_idle, timeout)

    def _is_idle(self) -> bool:
        return not any(job.state in (JobState.RUNNING, JobState.STOPPING) for job in self._jobs.values())

    def change(self, number: int, change: Callable[[Job], Job]) -> None:
        """Replace a job by what is made of it, and publishes; used by reports."""
        with self._lock:
            if not self._jobs[number].is_over:
                self._jobs[number] = change(self._jobs[number])
                self._publish_jobs()

    def let_go(self, number: int, key: str) -> None:
        """Release one key of a running job; used by reports."""
        with self._lock:
            kept = self._jobs[number].keeps - {_kept(self._works[number], key)}
            self._jobs[number] = replace(self._jobs[number], keeps=kept)
            self._schedule()

    def _publish_jobs(self) -> None:
        if not self._closed:
            self._publish(tuple(self._jobs.values()))

    def _schedule(self) -> None:
        """Begin whatever can begin; the others learn whom they wait for."""
        for number, job in list(self._jobs.items()):
            if job.state is not JobState.QUEUED or self._closed:
                continue
            other = blocking_job(job, self._jobs.values()) or self._too_many()
            if other is not None:
                self._jobs[number] = queued_behind(job, other)
                continue
            self._jobs[number] = start_job(job, self.now())
            threading.Thread(target=self._run, args=(number,), name=f"job-{number}", daemon=True).start()
        self._publish_jobs()
        self._lock.notify_all()

    def _too_many(self) -> Job | None:
        """Return the oldest running job, where there are as many as may run."""
        running = [job for job in self._jobs.values() if job.state in (JobState.RUNNING, JobState.STOPPING)]
        return running[0] if len(running) >= self._width else None

    def _run(self, number: int) -> None:
        work, report, opened = self._works[number], self._reports[number], self._open.get(number)
        outcome: str | KymatuiError
        try:
            if opened is not None and work.cluster is not None:
                opened.identify(work.cluster())
            outcome = work.run(report)
        except CancelledError as error:
            outcome = opened.stopped(error) if opened is not None else error
        except KymatuiError as error:  # the screen displays it as the job's outcome
            outcome = error
        except Exception as error:  # noqa: BLE001 (a job that dies in silence would run for ever on the screen)
            outcome = DefectError(error)
        with self._lock:
            self._end(number, outcome)

    def _end(self, number: int, outcome: str | KymatuiError) -> None:
        """End a job; one that the end of the program stops stays in the journal, and the next start offers it."""
        job = self._jobs[number] = end_job(self._jobs[number], self.now(), outcome)
        opened = self._open.get(number)
        if opened is not None and not (self._closed and job.state is JobState.CANCELLED):
            opened.end(None if isinstance(outcome, str) else outcome)
        self._schedule()


def _kept(work: JobSpec, key: str) -> str:
    """Return what a job keeps, told from the same of another cluster."""
    return f"{key} of {work.cluster_name}" if work.cluster_name else key
