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

from kymatui.domain.jobs import Job, JobState
from kymatui.errors import ConfigurationError

if TYPE_CHECKING:
    from kymatui.engine.journals import Entry, Journal, Mark


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a job is for, so that it can be gone on with: a kind ("install", "enable"), modules, and what was chosen."""

    kind: str
    modules: tuple[str, ...]
    given: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Left:
    """A job that was cut off; `began` in seconds of the Unix clock."""

    purpose: Purpose
    title: str
    began: float


def book_path(context: str) -> Path:
    """Where the jobs on one cluster are written down."""
    from kymatui.wiring.engine import journal_path

    return journal_path(context, "_", "_").parents[1] / "jobs.jsonl"


class JobBook:
    """Lines about the jobs of this process. What cannot be written down keeps no job from running."""

    def __init__(self, context: str) -> None:
        self._path = book_path(context)
        self._journal: Journal | None = None
        self._time = 0.0

    def begun(self, job: Job, purpose: Purpose) -> None:
        from kymatui.engine.journals import Mark

        self._write(Mark.BEGUN, job, purpose)

    def ended(self, job: Job, purpose: Purpose) -> None:
        from kymatui.engine.journals import Mark

        self._write(Mark.DONE if job.state is JobState.DONE else Mark.FAILED, job, purpose)

    def _write(self, mark: Mark, job: Job, purpose: Purpose) -> None:
        from kymatui.engine.identities import own_identity
        from kymatui.engine.journals import Journal

        self._time = job.ended or job.began or job.made
        words = json.dumps({"title": job.title, "given": dict(purpose.given)}, ensure_ascii=False)
        try:
            if self._journal is None:
                self._journal = Journal(self._path, own_identity(), lambda: self._time)
            self._journal.write(mark, purpose.kind, ",".join(purpose.modules), words)
        except ConfigurationError:
            self._journal = None


@contextmanager
def written_down(context: str, title: str, purpose: Purpose) -> Iterator[None]:
    """What a command does meanwhile stands in the book, too: screens offer it where the command is killed."""
    book, job = JobBook(context), Job(0, title, began=time.time())
    book.begun(job, purpose)
    try:
        yield
    except BaseException:
        book.ended(replace(job, state=JobState.FAILED, ended=time.time()), purpose)
        raise
    book.ended(replace(job, state=JobState.DONE, ended=time.time()), purpose)


class JobShelf:
    """A book for each cluster that a front end has jobs on; `home` is that of jobs which name none."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._books: dict[str, JobBook] = {}

    def begun(self, job: Job, purpose: Purpose) -> None:
        self._of(job).begun(job, purpose)

    def ended(self, job: Job, purpose: Purpose) -> None:
        self._of(job).ended(job, purpose)

    def _of(self, job: Job) -> JobBook:
        return self._books.setdefault(job.place, JobBook(job.place or self._home))


def left_over(context: str) -> tuple[Left, ...]:
    """The jobs of dead processes of this machine that were cut off, the last one first, the last one of each kind."""
    from kymatui.engine.journals import read_journal

    path = book_path(context)
    try:
        entries = list(read_journal(path)) if path.exists() else []
    except ConfigurationError:  # a book that cannot be read tells nothing, and keeps nobody from working
        return ()
    return tuple(sorted(_left(entries), key=lambda one: -one.began))


def _left(entries: Iterable[Entry]) -> Iterator[Left]:
    from kymatui.engine.identities import is_dead
    from kymatui.engine.journals import Mark

    last: dict[str, Entry] = {}
    for entry in entries:
        last[entry.on] = entry
    for entry in last.values():
        if entry.mark is Mark.BEGUN and is_dead(entry.run):
            title, given = _words(entry.words)
            yield Left(Purpose(entry.what, tuple(entry.on.split(",")), given), title, entry.time)


def _words(text: str) -> tuple[str, dict[str, str]]:
    try:
        found = json.loads(text)
    except ValueError:
        return text, {}
    given = found.get("given") if isinstance(found, dict) else None
    title = str(found.get("title") or "") if isinstance(found, dict) else ""
    return title, {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}
