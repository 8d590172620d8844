"""The book of a front end's jobs: a line where one begins, and one where it ends, on disk.

What has a first line alone was cut off with its process, and is offered again; where it stood, the cluster says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.domain.plans.jobs import Job, JobState
from kymatui.errors import ConfigurationError

if TYPE_CHECKING:
    from kymatui.engine.jobs.journal import Journal, JournalEntry, JournalMark


@dataclass(frozen=True, slots=True)
class JobPurpose:
    """What a job is for, so that it can be gone on with: a kind ("install", "enable"), modules, and what was chosen."""

    kind: str
    modules: tuple[str, ...]
    given: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InterruptedJob:
    """A job that was cut off; `began` in seconds of the Unix clock."""

    purpose: JobPurpose
    title: str
    began: float


def job_journal_path(context: str) -> Path:
    """Where the jobs on one cluster are written down."""
    from kymatui.adapters.sessions.cluster.cluster_access import journal_path

    return journal_path(context, "_", "_").parents[1] / "jobs.jsonl"


class JobJournal:
    """Lines about the jobs of this process. What cannot be written down keeps no job from running."""

    def __init__(self, context: str) -> None:
        self._path = job_journal_path(context)
        self._journal: Journal | None = None
        self._time = 0.0

    def begun(self, job: Job, purpose: JobPurpose) -> None:
        from kymatui.engine.jobs.journal import JournalMark

        self._write(JournalMark.BEGUN, job, purpose)

    def ended(self, job: Job, purpose: JobPurpose) -> None:
        from kymatui.engine.jobs.journal import JournalMark

        self._write(JournalMark.DONE if job.state is JobState.DONE else JournalMark.FAILED, job, purpose)

    def _write(self, mark: JournalMark, job: Job, purpose: JobPurpose) -> None:
        from kymatui.engine.jobs.identity import own_identity
        from kymatui.engine.jobs.journal import Journal

        self._time = job.ended or job.began or job.made
        words = json.dumps({"title": job.title, "given": dict(purpose.given)}, ensure_ascii=False)
        try:
            if self._journal is None:
                self._journal = Journal(self._path, own_identity(), lambda: self._time)
            self._journal.write(mark, purpose.kind, ",".join(purpose.modules), words)
        except ConfigurationError:
            self._journal = None


@contextmanager
def recorded_job(context: str, title: str, purpose: JobPurpose) -> Iterator[None]:
    """What a command does meanwhile stands in the book, too: screens offer it where the command is killed."""
    book, job = JobJournal(context), Job(0, title, began=time.time())
    book.begun(job, purpose)
    try:
        yield
    except BaseException:
        book.ended(replace(job, state=JobState.FAILED, ended=time.time()), purpose)
        raise
    book.ended(replace(job, state=JobState.DONE, ended=time.time()), purpose)


class JobJournals:
    """A book for each cluster that a front end has jobs on; `home` is that of jobs which name none."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._books: dict[str, JobJournal] = {}

    def begun(self, job: Job, purpose: JobPurpose) -> None:
        self._of(job).begun(job, purpose)

    def ended(self, job: Job, purpose: JobPurpose) -> None:
        self._of(job).ended(job, purpose)

    def _of(self, job: Job) -> JobJournal:
        return self._books.setdefault(job.place, JobJournal(job.place or self._home))


def interrupted_jobs(context: str) -> tuple[InterruptedJob, ...]:
    """The jobs of dead processes of this machine that were cut off, the last one first, the last one of each kind."""
    from kymatui.engine.jobs.journal import read_journal

    path = job_journal_path(context)
    try:
        entries = list(read_journal(path)) if path.exists() else []
    except ConfigurationError:  # a book that cannot be read tells nothing, and keeps nobody from working
        return ()
    return tuple(sorted(_left(entries), key=lambda one: -one.began))


def _left(entries: Iterable[JournalEntry]) -> Iterator[InterruptedJob]:
    from kymatui.engine.jobs.identity import is_dead
    from kymatui.engine.jobs.journal import JournalMark

    last: dict[str, JournalEntry] = {}
    for entry in entries:
        last[entry.on] = entry
    for entry in last.values():
        if entry.mark is JournalMark.BEGUN and is_dead(entry.run):
            title, given = _words(entry.words)
            yield InterruptedJob(JobPurpose(entry.what, tuple(entry.on.split(",")), given), title, entry.time)


def _words(text: str) -> tuple[str, dict[str, str]]:
    try:
        found = json.loads(text)
    except ValueError:
        return text, {}
    given = found.get("given") if isinstance(found, dict) else None
    title = str(found.get("title") or "") if isinstance(found, dict) else ""
    return title, {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}
