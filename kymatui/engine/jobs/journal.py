"""What a run did, step by step, on disk: a line before each step and a line after it, readable whatever happened.

A line is one JSON object, written by one system call to the end of the file; a run that is killed leaves at most a last
line without its end, which is not read. Journals hold names and words, no values.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from kymatui.errors import ConfigurationError


class JournalMark(StrEnum):
    """Where a line stands to its step."""

    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"


RUN_STEP: Final = "run"
"""What the lines say that stand around a whole run; the object is its purpose, as in "install keda"."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line: `time` in seconds since 1970, `run` the run's own name, `what` as in "create", `on` an object."""

    time: float
    run: str
    mark: JournalMark
    what: str
    on: str = ""
    words: str = ""


class Journal:
    """Appends to a file, from any thread; without a path nothing is written. Raises ConfigurationError at once."""

    def __init__(self, path: Path | None, run: str, now: Callable[[], float]) -> None:
        self._run, self._now = run, now
        self._lock = threading.Lock()
        self._path = path
        self._file = -1
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                self._end_line(path)
            except OSError as error:
                raise ConfigurationError(f"the journal {path} cannot be written: {error.strerror or error}") from error

    def write(self, mark: JournalMark, what: str, on: object = "", words: str = "") -> None:
        """One line. Raises ConfigurationError where the disk takes no more: a step without its line is not begun."""
        if self._file < 0:
            return
        line = msgspec.json.encode(JournalEntry(self._now(), self._run, mark, what, str(on), words)) + b"\n"
        with self._lock:
            try:
                written = os.write(self._file, line)
            except OSError as error:
                raise ConfigurationError(f"the journal {self._path} cannot be written: {error.strerror}") from error
        if written != len(line):
            raise ConfigurationError(f"the journal {self._path} cannot be written: the disk is full")

    def settle(self) -> None:
        """What was written survives the machine, too."""
        if self._file >= 0:
            os.fsync(self._file)

    def close(self) -> None:
        if self._file >= 0:
            self.settle()
            os.close(self._file)
            self._file = -1

    def _end_line(self, path: Path) -> None:
        """A run that was killed in the middle of a line does not spoil the next one."""
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                os.write(self._file, b"\n")


def read_journal(path: Path) -> Iterator[JournalEntry]:
    """The entries of a journal in their order; lines that were cut off are left out."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the journal {path} cannot be read: {error.strerror or error}") from error
    for line in content.splitlines():
        try:
            yield msgspec.json.decode(line, type=JournalEntry)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue


def unfinished_steps(entries: Iterator[JournalEntry]) -> tuple[JournalEntry, ...]:
    """The steps of the last run that were begun, and of which nothing more is known."""
    by_run: dict[str, dict[tuple[str, str], JournalEntry]] = {}
    for entry in entries:
        steps = by_run.setdefault(entry.run, {})
        if entry.mark is JournalMark.BEGUN:
            steps[entry.what, entry.on] = entry
        else:
            steps.pop((entry.what, entry.on), None)
    last = next(reversed(by_run), None)
    return tuple(by_run[last].values()) if last is not None else ()
