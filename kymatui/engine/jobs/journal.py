"""The journal of a job on disk: what it is, one line before and after each step, its end; readable after a crash.

Each line is a JSON object that one system call appends. A killed job leaves at most one incomplete last line, which
is ignored. Journals have names and messages, but no values.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.errors import ConfigurationError
from kymatui.own_files import open_own, read_own
from kymatui.structs import resolved_type

_LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a journal that are read: some 100,000 steps."""
_ELSEWHERE: Final = "set XDG_STATE_HOME to a folder that you may write, with free space"


class JournalMark(StrEnum):
    """The marks of a line."""

    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"


JOB_STEP: Final = "job"
"""The step name of the whole job; the first line has what it is, the last one how it ended."""


class JobHeading(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a job is, so that it can be planned again: no values of charts, no documents, no credentials.

    `cluster` is its name, `identity` the uid of its kube-system, "" if that may not be read; `control` is that of a
    runtime's control plane.
    """

    kind: str
    modules: tuple[str, ...] = ()
    options: dict[str, str] = {}
    title: str = ""
    cluster: str = ""
    identity: str = ""
    control: str = ""

    @property
    def cluster_name(self) -> ClusterName:
        return ClusterName(self.cluster, self.identity, self.control)


class JournalEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line; `time` is in seconds since 1970, `run` the run's identity, `on` the object.

    `job` is on the first line of each run of a job, `state` (a JobState) on the line with its end.
    """

    time: float
    run: str
    mark: JournalMark
    what: str
    on: str = ""
    message: str = msgspec.field(default="", name="words")  # the key in earlier journals
    job: JobHeading | None = None
    state: str = ""


class Journal:
    """A thread-safe writer; without a path it writes nothing. Raises ConfigurationError on creation."""

    def __init__(self, path: Path | None, run: str, now: Callable[[], float]) -> None:
        self.run, self._now = run, now
        self._lock = threading.Lock()
        self._path = path
        self._file = -1
        self._is_line_open = False
        self._steps: dict[tuple[str, str], JournalEntry] = {}
        if path is not None:
            try:
                self._file = open_own(path)
                self._is_line_open = self._ends_within_a_line()
            except OSError as error:
                raise self._unwritable(error.strerror or str(error)) from error

    def begin(self, job: JobHeading) -> None:
        """Write what the job is. Raises ConfigurationError if the disk rejects it, so that the job does not start."""
        self._append(self._entry(JournalMark.BEGUN, JOB_STEP, job=job))
        self.settle()

    def end(self, mark: JournalMark, state: str) -> None:
        """Write how the job ended, and close the file. A disk that rejects it leaves the job as a killed one."""
        with contextlib.suppress(ConfigurationError):
            self._append(self._entry(mark, JOB_STEP, state=state))
        with contextlib.suppress(OSError):
            self.close()

    def write(self, mark: JournalMark, what: str, on: object = "", message: str = "") -> None:
        """Write one line. Raises ConfigurationError if the disk rejects it, so that the step does not start."""
        entry = self._entry(mark, what, on, message)
        self._append(entry)
        with self._lock:
            self._steps[entry.what, entry.on] = entry

    @property
    def steps(self) -> tuple[JournalEntry, ...]:
        """Return the last line of each step of this run."""
        with self._lock:
            return tuple(self._steps.values())

    @contextlib.contextmanager
    def step(self, what: str, on: object = "") -> Iterator[None]:
        """Write the lines of a step."""
        self.write(JournalMark.BEGUN, what, on)
        try:
            yield
        except BaseException as error:
            # Servers quote what they reject, which may be a Secret's data: only the kind of the error is written.
            with contextlib.suppress(ConfigurationError):
                self.write(JournalMark.FAILED, what, on, type(error).__name__)
            raise
        self.write(JournalMark.DONE, what, on)

    def settle(self) -> None:
        """Flush the file to disk, so that it survives a crash of the machine."""
        if self._file >= 0:
            os.fsync(self._file)

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            try:
                os.fsync(file)
            finally:
                os.close(file)

    def _ends_within_a_line(self) -> bool:
        if os.lseek(self._file, 0, os.SEEK_END) == 0:
            return False
        os.lseek(self._file, -1, os.SEEK_END)
        return os.read(self._file, 1) != b"\n"

    def _entry(
        self,
        mark: JournalMark,
        what: str,
        on: object = "",
        message: str = "",
        job: JobHeading | None = None,
        state: str = "",
    ) -> JournalEntry:
        return JournalEntry(self._now(), self.run, mark, what, str(on), message, job, state)

    def _append(self, entry: JournalEntry) -> None:
        if self._file < 0:
            return
        line = msgspec.json.encode(entry) + b"\n"
        with self._lock:
            if self._is_line_open:  # end the line that a killed process or a full disk left open
                line = b"\n" + line
            try:
                written = os.write(self._file, line)
            except OSError as error:
                raise self._unwritable(error.strerror or str(error)) from error
            self._is_line_open = 0 < written < len(line)
        if written != len(line):
            raise self._unwritable("the disk is full")

    def _unwritable(self, why: str) -> ConfigurationError:
        return ConfigurationError(f"the journal {self._path} cannot be written: {why}", hint=_ELSEWHERE)


NO_JOURNAL: Final = Journal(None, "", lambda: 0.0)
"""The journal of what nobody continues, such as a library's call."""


def read_journal(path: Path) -> Iterator[JournalEntry]:
    """Yield the entries of a journal; incomplete lines are skipped. Raise ConfigurationError."""
    try:
        content = read_own(path, _LARGEST)
    except OSError as error:
        raise ConfigurationError(f"the journal {path} cannot be read: {error.strerror or error}") from error
    for line in content.splitlines():
        try:
            yield msgspec.json.decode(line, type=resolved_type(JournalEntry))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # the last line of a killed run may be incomplete
