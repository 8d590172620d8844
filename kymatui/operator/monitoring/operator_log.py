"""The operator's log: each decision, failure and change once, as lines for people or as JSON objects."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import cut_text, escape_json, format_count, sanitize
from kymatui.domain.objects.redaction import Redactor
from kymatui.domain.plans.backups import summarize_names
from kymatui.engine.cluster.concurrency import report_defect
from kymatui.engine.cluster.request_scope import ADOPT, ObjectChange
from kymatui.errors import ConfigurationError, ConflictError, DefectError, KymatuiError, RefusedError
from kymatui.moments import format_duration
from kymatui.operator.framework.controller import GroupNews, Reconciliation, current_reconciliation
from kymatui.operator.monitoring.event_correlation import LONGEST_MESSAGE, EventType, ObjectEvent
from kymatui.operator.monitoring.event_writer import RECONCILE_FAILED, SKIPPED
from kymatui.operator.monitoring.log_levels import LevelFile, LogLevel, LogLevels
from kymatui.operator.monitoring.log_repeats import LogRepeats, Memory, RepeatedEntry

OPERATOR: Final = "operator"
"""The name under which the level of news of the whole operator is set."""
RECONCILED: Final = "Reconciled"
ADOPTED: Final = "ObjectsAdopted"
_LONGEST: Final = 8192  # characters of an error
_LARGEST: Final = 65_536  # characters of an error in which secrets are looked for; the others are not printed
_STACK_END: Final = 6144  # of the last characters of a traceback: they say what happened
_MOST: Final = 5  # entries of one object and reason in five minutes, and of a failure or pause one
_NAMED: Final = 20  # changes in one entry
_TICK: Final = 1.0  # seconds between looks at the file of levels and at what repeats
_NEWS_LEVELS: Final = {GroupNews.LEASE_LOST: LogLevel.WARNING, GroupNews.SHARD_LEASES: LogLevel.WARNING}


class LogFormat(StrEnum):
    """The formats of the log."""

    TEXT = "text"
    JSON = "json"


class Failure(Struct, frozen=True):
    """An error without its exception, which would keep all that its frames hold: what the log prints of it.

    text     as the server or registry says it
    type     the class
    refused  it was not tried
    stack    the lines of a bug's traceback, else empty
    """

    text: str
    type: str
    refused: bool = False
    stack: tuple[str, ...] = ()

    @classmethod
    def of(cls, error: KymatuiError) -> Failure:
        text, stack = str(error), tuple[str, ...]()
        if isinstance(error, DefectError):
            text = f"{text}; {error.hint}"
            if error.__cause__ is not None:
                lines = traceback.format_exception(error.__cause__)
                stack = tuple(printable("".join(lines), end=_STACK_END).splitlines())
        return cls(printable(text), type(error).__name__, isinstance(error, RefusedError), stack)


class LogEntry(Struct, frozen=True):
    """One entry.

    subject  the object; None: the operator
    reason   the decision, in the words of Events and metrics
    failure  why it failed
    retry    seconds until the next try
    seconds  how long the reconciliation took
    changes  what it wrote
    """

    level: LogLevel
    reason: str
    text: str = ""
    subject: ObjectRef | None = None
    controller: str = ""
    reconciliation: str = ""
    failure: Failure | None = None
    retry: float | None = None
    seconds: float | None = None
    changes: Sequence[ObjectChange] = ()


def printable(text: str, end: int = 0) -> str:
    """Return what the log may print of a text that others may have written: no secrets, and no more than fits.

    Errors quote servers, charts and registries, and with them logins and tokens: the rules are those of `diagnose`.
    They apply before the text is cut, as half of a token is none by these rules. `end` is how many of the last
    characters stay of a text that is cut.
    """
    hidden = Redactor().text(text[:_LARGEST])
    last = hidden[-end:] if end and len(hidden) > _LONGEST else ""
    return cut_text(hidden, _LONGEST - len(last)) + last


class OperatorLog:
    """Writes the entries; `write` gets each line, from any thread.

    Control characters are removed from text, so that none forges a line, and escaped in JSON.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        form: LogFormat = LogFormat.TEXT,
        levels: LogLevels | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write, self._form, self._clock = write, form, clock
        self.levels = levels or LogLevels()
        self._lock = threading.Lock()
        self._repeats: LogRepeats[LogEntry] = LogRepeats()
        self._here = threading.local()

    # the reports of a group

    def news(self, news: GroupNews, text: str) -> None:
        """Write what happened to the operator as a whole."""
        level = _NEWS_LEVELS.get(news, LogLevel.INFO)
        self._add(LogEntry(level, news, text, controller=OPERATOR), 2 * _MOST)

    def head(self, words: str) -> None:
        """Write a line of the start, for people without the time."""
        if self._form is LogFormat.JSON:
            self.news(GroupNews.STARTED, words)
        else:
            self._write(sanitize(words))

    def decided(self, ref: ObjectRef, event: ObjectEvent) -> None:
        """Write a decision. A warning waits for the end: it may be the error of its reconciliation, which says more."""
        self._flush_warning()
        level = LogLevel.WARNING if event.type is EventType.WARNING else LogLevel.INFO
        entry = _of_reconciliation(LogEntry(level, event.reason, event.message, ref))
        if level is LogLevel.WARNING and entry.reconciliation:
            self._here.warning = entry
        else:
            self._add(entry, 1 if event.reason == SKIPPED else _MOST)

    def finished(self, reconciliation: Reconciliation) -> None:
        """Write what a reconciliation has written; one without a change is of level debug."""
        changes, error = reconciliation.changes, reconciliation.error
        entry = LogEntry(
            LogLevel.INFO if changes else LogLevel.DEBUG,
            RECONCILED,
            subject=reconciliation.ref,
            controller=reconciliation.controller,
            reconciliation=reconciliation.id,
            seconds=reconciliation.seconds,
            changes=changes,
        )
        if error is not None:
            self._here.ended = entry  # `failed` follows
            return
        self._flush_warning()
        with self._lock:
            self._print_counts(self._repeats.succeeded(_about(entry), entry.reconciliation, self._clock()))
        self._add_adopted(entry)
        self._add(entry, 2 * _MOST)

    def failed(self, ref: ObjectRef, error: KymatuiError, seconds: float | None) -> None:
        """Write a failure; `seconds` until the next try, None if there is none. A conflict is only tried again."""
        warning: LogEntry | None = getattr(self._here, "warning", None)
        ended: LogEntry = getattr(self._here, "ended", None) or LogEntry(LogLevel.ERROR, RECONCILE_FAILED)
        self._here.ended = None
        reason = RECONCILE_FAILED
        if warning is not None and (warning.subject, warning.text) == (ref, cut_text(str(error), LONGEST_MESSAGE)):
            reason, self._here.warning = warning.reason, None
        self._flush_warning()
        self._add_adopted(ended)
        level = LogLevel.INFO if isinstance(error, RefusedError) else LogLevel.ERROR
        level = LogLevel.DEBUG if isinstance(error, ConflictError) else level
        entry = replace(_of_reconciliation(ended), level=level, reason=reason, subject=ref, retry=seconds)
        if self._is_wanted(entry):
            self._add(replace(entry, failure=Failure.of(error)), 1)

    def _flush_warning(self) -> None:
        warning: LogEntry | None = getattr(self._here, "warning", None)
        self._here.warning = None
        if warning is not None:
            self._add(warning, _MOST)

    def _add_adopted(self, ended: LogEntry) -> None:
        if adopted := [change.ref for change in ended.changes if change.verb == ADOPT]:
            text = f"manages {format_count(len(adopted), 'object')} that existed before: {summarize_names(adopted)}"
            self._add(replace(ended, level=LogLevel.INFO, reason=ADOPTED, text=text, changes=()), _MOST)

    # what is written, and when

    def _add(self, entry: LogEntry, most: int) -> None:
        """Write an entry of a level that is written, or count it if more than `most` say the same."""
        if not self._is_wanted(entry):
            return
        memory = Memory.WHILE_IT_LASTS if entry.reason == SKIPPED else Memory.WINDOW
        if entry.failure is not None:
            text, memory = entry.failure.text, Memory.UNTIL_SUCCESS
        else:
            text = f"{entry.text}{[*map(str, entry.changes)] if entry.changes else ''}"
        run, now = entry.reconciliation, self._clock()
        with self._lock:
            if entry.level is LogLevel.DEBUG:
                self._print(RepeatedEntry(entry))
                return
            new = self._repeats.take(_about(entry), entry.reason, text, entry, now, most, run=run, memory=memory)
            for repeated in new:
                self._print(repeated)

    def write_counts(self, *, everything: bool = False) -> None:
        """Write how often entries were repeated, once their five minutes are over."""
        with self._lock:
            self._print_counts(self._repeats.due(self._clock(), everything=everything))

    def _print_counts(self, counts: Iterator[RepeatedEntry[LogEntry]]) -> None:
        """Write counts of levels that are written; those of a pause say nothing, and no count has a next try."""
        for repeated in counts:
            entry = repeated.entry
            if entry.reason != SKIPPED and self._is_wanted(entry):
                self._print(replace(repeated, entry=replace(entry, retry=None)))

    def _is_wanted(self, entry: LogEntry) -> bool:
        return entry.level >= self.levels.of(entry.controller)

    @contextlib.contextmanager
    def running(
        self, stopped: threading.Event, file: LevelFile | None, hangup: threading.Event, why: Callable[[], str]
    ) -> Iterator[None]:
        """Write counts, follow the file of levels, and tell the end of a block, which sets `stopped`."""
        ended, began = threading.Event(), time.monotonic()

        def run() -> None:
            while not ended.wait(_TICK):
                try:
                    self.write_counts()
                    if file is not None:
                        self._follow(file, hangup)
                except Exception as error:  # noqa: BLE001 (the log goes on)
                    report_defect(error)

        def tell_end() -> None:
            stopped.wait()
            self.news(GroupNews.STOPPING, f"stopping: {why()}")

        threads = [threading.Thread(target=work, name="log", daemon=True) for work in (run, tell_end)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            stopped.set()
            for thread in threads:
                thread.join()
            self.write_counts(everything=True)
            self.news(GroupNews.STOPPED, f"stopped after {format_duration(time.monotonic() - began)}")

    def _follow(self, file: LevelFile, hangup: threading.Event) -> None:
        """Take the levels of a file that has changed, or after SIGHUP; an unusable one changes nothing."""
        again = hangup.is_set()
        hangup.clear()
        try:
            levels = file.read(again=again)
        except ConfigurationError as error:
            failure = Failure.of(error)
            self._add(LogEntry(LogLevel.ERROR, GroupNews.LEVELS, controller=OPERATOR, failure=failure), 1)
            return
        if levels is not None and (again or levels != self.levels):
            self.levels = levels
            self.news(GroupNews.LEVELS, f"levels of the log: {levels}")

    def _print(self, repeated: RepeatedEntry[LogEntry]) -> None:
        entry = repeated.entry
        if self._form is LogFormat.JSON:
            self._write(escape_json(json.dumps(_document(repeated), ensure_ascii=False)))
            return
        self._write(sanitize(f"{time.strftime('%H:%M:%S')} {_line(repeated)}"))
        for line in entry.failure.stack if entry.failure is not None else ():
            self._write(sanitize(f"  {line}"))


def _about(entry: LogEntry) -> str:
    return f"{entry.controller} {entry.subject}"


def _of_reconciliation(entry: LogEntry) -> LogEntry:
    controller, number = current_reconciliation()
    return entry if entry.reconciliation else replace(entry, controller=controller, reconciliation=number)


def _named_changes(entry: LogEntry) -> list[str]:
    changes = [str(change) for change in entry.changes if change.verb != ADOPT]
    more = len(changes) - _NAMED
    return [*changes[:_NAMED], f"{more} more"] if more > 0 else changes


def _line(repeated: RepeatedEntry[LogEntry]) -> str:
    """Return an entry for people: what happened first, then the fields by which it is found."""
    entry = repeated.entry
    if entry.subject is None:
        text = entry.failure.text if entry.failure is not None else printable(entry.text)
    elif entry.failure is not None:
        mark = "skipped" if entry.failure.refused else "failed"
        text = f"{entry.subject} {mark}: {entry.failure.text}"
    else:
        text = f"{entry.subject} {entry.reason}" + (f": {printable(entry.text)}" if entry.text else "")
    if entry.retry is not None:
        text += f"; retry in {entry.retry:.{0 if entry.retry >= 1 else 1}f} s"
    if repeated.count:
        text += f"; repeated {format_count(repeated.count, 'time')} in {format_duration(repeated.seconds)}"
    if changes := _named_changes(entry):
        text += f"; wrote: {', '.join(changes)}"
    fields = {
        "reason": entry.reason if entry.failure is not None else "",
        "controller": entry.controller if entry.subject is not None else "",
        "reconcileID": entry.reconciliation[:8],
        "seconds": f"{entry.seconds:.2f}" if entry.seconds is not None else "",
    }
    level = "" if entry.level is LogLevel.INFO else f"{entry.level.word} "
    return f"{level}{text} {' '.join(f'{name}={value}' for name, value in fields.items() if value)}".rstrip()


def _document(repeated: RepeatedEntry[LogEntry]) -> dict[str, Any]:
    """Return an entry as JSON; the names are controller-runtime's where it has one."""
    entry = repeated.entry
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = printable(entry.text) or ("reconciled" if entry.reason == RECONCILED else entry.reason)
    document: dict[str, Any] = {"date": moment, "level": entry.level.word, "msg": text, "reason": entry.reason}
    if entry.subject is not None:
        ref = entry.subject
        document |= {"controller": entry.controller, "reconcileID": entry.reconciliation}
        document["object"] = {"kind": ref.kind.kind, "namespace": ref.namespace, "name": ref.name}
    if (failure := entry.failure) is not None:
        mark = "skipped" if failure.refused else "failed"
        document["msg"] = f"reconciliation {mark}" if entry.subject is not None else text
        document |= {"error": failure.text, "errorType": failure.type}
    if entry.retry is not None:
        document["retrySeconds"] = round(entry.retry, 1)
    if entry.seconds is not None:
        document["seconds"] = round(entry.seconds, 3)
    if changes := _named_changes(entry):
        document["wrote"] = changes
    if repeated.count:
        document |= {"repeated": repeated.count, "repeatedSeconds": round(repeated.seconds)}
    if failure is not None and failure.stack:
        document["stacktrace"] = "\n".join(failure.stack)
    return document
