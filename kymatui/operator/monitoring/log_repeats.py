"""Which entries of the operator's log are written: what repeats is counted, and the count is written after a while."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from enum import Enum
from typing import Final, Generic, TypeVar

from msgspec import Struct

WINDOW: Final = 300.0
"""Seconds after which the number of repetitions is written."""
REMEMBERED: Final = 16_384
"""Objects; more are not remembered, so that what repeats of them is written."""
_VARYING: Final = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|\d{6,}"
    r"|(?<=:)\d{2,5}\b|\b\d+(?:\.\d+)?(?= ?m?s\b| seconds?\b)"
)
"""What differs between two messages about the same: times, identifiers, ports, seconds; no status and no version."""
E = TypeVar("E")


class Memory(Enum):
    """How long an entry is remembered."""

    WINDOW = 0  # until it does not repeat
    UNTIL_SUCCESS = 1  # the same, or until the object is reconciled: a failure
    WHILE_IT_LASTS = 2  # until the object is reconciled: a pause


class RepeatedEntry(Struct, Generic[E], frozen=True):
    """An entry to write; `count` is how often it came within `seconds`, 0 for a first one."""

    entry: E
    count: int = 0
    seconds: float = 0.0


class _Repeats(Struct, Generic[E]):
    """What was counted of one reason.

    entry    the last one; of its text, a number is kept
    written  how many were written since `since`
    run      the last reconciliation that it came from
    """

    entry: E
    text: int
    since: float
    memory: Memory
    run: str = ""
    written: int = 0
    count: int = 0


class LogRepeats(Generic[E]):
    """The memory of one log, by object and reason; not thread-safe. Times are in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, dict[str, _Repeats[E]]] = OrderedDict()

    def take(
        self,
        about: str,
        reason: str,
        text: str,
        entry: E,
        now: float,
        most: int,
        *,
        run: str = "",
        memory: Memory = Memory.WINDOW,
    ) -> Iterator[RepeatedEntry[E]]:
        """Yield what to write of a new entry: itself, unless `most` of its reason were written in this window.

        Another text is written as well, and ends the count of the one before it; of many texts, those that differ in
        numbers alone are one.
        """
        number = hash(_VARYING.sub("#", text))
        reasons = self._known.setdefault(about, {})
        self._known.move_to_end(about)
        known = reasons.get(reason)
        if known is None:
            known = reasons[reason] = _Repeats(entry, number, now, memory)
            if len(self._known) > REMEMBERED:
                for oldest in self._known.popitem(last=False)[1].values():
                    yield from _ended(oldest, now)
        elif known.text != number and known.written < 5 * most:
            yield from _ended(known, now)
            known.text, known.count, most = number, 0, known.written + 1
        known.entry, known.run = entry, run
        if known.written < most:
            known.written += 1
            yield RepeatedEntry(entry)
        else:
            known.count += 1

    def succeeded(self, about: str, run: str, now: float) -> Iterator[RepeatedEntry[E]]:
        """Yield the counts of the failures of an object that is reconciled now, and forget them and what paused it."""
        for reason, known in list(self._known.get(about, {}).items()):
            if known.memory is not Memory.WINDOW and known.run != run:
                yield from _ended(known, now)
                del self._known[about][reason]

    def due(self, now: float, *, everything: bool = False) -> Iterator[RepeatedEntry[E]]:
        """Yield the counts whose window is over, or all; what did not repeat is forgotten, unless it lasts."""
        for about, reasons in list(self._known.items()):
            for reason, known in list(reasons.items()):
                if everything or now - known.since >= WINDOW:
                    yield from _ended(known, now)
                    if known.count or known.memory is Memory.WHILE_IT_LASTS:
                        known.since, known.count, known.written = now, 0, 1
                    else:
                        del reasons[reason]
            if not reasons:
                del self._known[about]


def _ended(known: _Repeats[E], now: float) -> Iterator[RepeatedEntry[E]]:
    if known.count:
        yield RepeatedEntry(known.entry, known.count, now - known.since)
