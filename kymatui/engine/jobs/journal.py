"""The journal of a run on disk: one line before and one after each step, readable after a crash.

Each line is a JSON object that one system call appends. A killed run leaves at most one incomplete last line, which
is ignored. Journals have names and messages, but no values.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from kymatui.errors import ConfigurationError
from kymatui.own_files import open_own, read_own


class JournalMark(StrEnum):
    """The marks of a line."""

    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"


RUN_STEP: Final = "run"
"""The step name of a whole run; its object is the purpose, as in "install keda"."""


class JournalEntry(msgspec.Struct, frozen=True):
    """One line; `time` is in seconds since 1970, `run` the run's identity, `on` the object."""

    time: float
    run: str
    mark: JournalMark
    what: str
    on: str = ""
    message: str = msgspec.field(default="", name="words")  # the key in the journals of today


class Journal:
    """A thread-safe writer; without a path it writes nothing. Raises ConfigurationError on creation."""

    def __init__(self, path: Path | None, run: str, now: Callable[[], float]) -> None:
        self._run, self._now = run, now
        self._lock = threading.Lock()
        self._path = path
        self._file = -1
        if path is not None:
            try:
                self._file = open_own(path)
                self._end_line()
            except OSError as error:
                raise ConfigurationError(f"the journal {path} cannot be written: {error.strerror or error}") from error

    def write(self, mark: JournalMark, what: str, on: object = "", message: str = "") -> None:
        """Write one line. Raises ConfigurationError if the disk rejects it, so that the step does not start."""
        if self._file < 0:
            return
        line = msgspec.json.encode(JournalEntry(self._now(), self._run, mark, what, str(on), message)) + b"\n"
        with self._lock:
            try:
                written = os.write(self._file, line)
            except OSError as error:
                raise ConfigurationError(f"the journal {self._path} cannot be written: {error.strerror}") from error
        if written != len(line):
            raise ConfigurationError(f"the journal {self._path} cannot be written: the disk is full")

    def settle(self) -> None:
        """Flush the file to disk, so that it survives a crash of the machine."""
        if self._file >= 0:
            os.fsync(self._file)

    def close(self) -> None:
        if self._file >= 0:
            self.settle()
            os.close(self._file)
            self._file = -1

    def _end_line(self) -> None:
        """Complete a line that a killed run left open, so that the next line is readable."""
        if os.lseek(self._file, 0, os.SEEK_END) == 0:
            return
        os.lseek(self._file, -1, os.SEEK_END)
        if os.read(self._file, 1) != b"\n":
            os.write(self._file, b"\n")


def read_journal(path: Path) -> Iterator[JournalEntry]:
    """Yield the entries of a journal; incomplete lines are skipped."""
    try:
        content = read_own(path)
    except OSError as error:
        raise ConfigurationError(f"the journal {path} cannot be read: {error.strerror or error}") from error
    for line in content.splitlines():
        try:
            yield msgspec.json.decode(line, type=JournalEntry)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # the last line of a killed run may be incomplete


def unfinished_steps(entries: Iterator[JournalEntry]) -> tuple[JournalEntry, ...]:
    """Return the steps of the last run that started and have no result."""
    by_run: dict[str, dict[tuple[str, str], JournalEntry]] = {}
    for entry in entries:
        steps = by_run.setdefault(entry.run, {})
        if entry.mark is JournalMark.BEGUN:
            steps[entry.what, entry.on] = entry
        else:
            steps.pop((entry.what, entry.on), None)
    last = next(reversed(by_run), None)
    return tuple(by_run[last].values()) if last is not None else ()
