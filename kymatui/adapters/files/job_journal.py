"""Journal of a front end's jobs: one line at the start and one at the end of each job.

A job with a start and no end was interrupted with its process and is offered again. The cluster shows how far it got.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kymatui.adapters.files.journal_path import journal_path
from kymatui.domain.plans.jobs import Job, JobPurpose, JobState
from kymatui.engine.jobs.identity import is_dead, own_identity
from kymatui.engine.jobs.journal import Journal, JournalEntry, JournalMark, read_journal
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json


class InterruptedJob(Struct, frozen=True):
    """A job that was interrupted; `began` in Unix seconds."""

    purpose: JobPurpose
    title: str
    began: float


def job_journal_path(context: str) -> Path:
    """Return the journal file for the jobs on a cluster."""
    return journal_path(context, "_", "_").parents[1] / "jobs.jsonl"


class JobJournal:
    """Journal of the jobs of this process; a write error does not stop a job."""

    def __init__(self, context: str) -> None:
        self._path = job_journal_path(context)
        self._journal: Journal | None = None
        self._time = 0.0

    def begun(self, job: Job, purpose: JobPurpose) -> None:
        self._write(JournalMark.BEGUN, job, purpose)

    def ended(self, job: Job, purpose: JobPurpose) -> None:
        self._write(JournalMark.DONE if job.state is JobState.DONE else JournalMark.FAILED, job, purpose)

    def _write(self, mark: JournalMark, job: Job, purpose: JobPurpose) -> None:
        self._time = job.ended or job.began or job.made
        words = json.dumps({"title": job.title, "given": dict(purpose.given)}, ensure_ascii=False)
        try:
            if self._journal is None:
                self._journal = Journal(self._path, own_identity(), lambda: self._time)
            self._journal.write(mark, purpose.kind, ",".join(purpose.modules), words)
        except ConfigurationError:  # a job works without a journal, only not after a crash
            self._journal = None


@contextmanager
def recorded_job(context: str, title: str, purpose: JobPurpose) -> Iterator[None]:
    """Record a command as a job, so that the screens offer it again if the command is killed."""
    book, job = JobJournal(context), Job(0, title, began=time.time())
    book.begun(job, purpose)
    try:
        yield
    except BaseException:
        book.ended(replace(job, state=JobState.FAILED, ended=time.time()), purpose)
        raise
    book.ended(replace(job, state=JobState.DONE, ended=time.time()), purpose)


class JobJournals:
    """One journal per cluster of a front end; jobs without a cluster go to `home`."""

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
    """Return the interrupted jobs of dead processes on this machine, newest first, the last of each kind."""
    path = job_journal_path(context)
    try:
        entries = list(read_journal(path)) if path.exists() else []
    except ConfigurationError:  # an unreadable journal says nothing, and must not block the user
        return ()
    return tuple(sorted(_left(entries), key=lambda one: -one.began))


def _left(entries: Iterable[JournalEntry]) -> Iterator[InterruptedJob]:
    last: dict[str, JournalEntry] = {}
    for entry in entries:
        last[entry.on] = entry
    for entry in last.values():
        if entry.mark is JournalMark.BEGUN and is_dead(entry.run):
            title, given = _read_purpose(entry.message)
            yield InterruptedJob(JobPurpose(entry.what, tuple(entry.on.split(",")), given), title, entry.time)


def _read_purpose(text: str) -> tuple[str, dict[str, str]]:
    try:
        found = read_json(text)
    except ValueError:  # no JSON, so the text itself is the title
        return text, {}
    given = found.get("given") if isinstance(found, dict) else None
    title = str(found.get("title") or "") if isinstance(found, dict) else ""
    return title, {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}
