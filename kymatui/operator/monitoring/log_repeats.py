"""Which entries of the operator's log are written: what repeats is counted, and the count is written after a while."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from msgspec import Struct

WINDOW: Final = 300.0
"""Seconds after which the number of repetitions is written."""
REMEMBERED: Final = 4096
_VARYING: Final = re.compile(r"[0-9a-f]{8,}|\d+")
"""What differs between two messages about the same: ports, times, identifiers."""
E = TypeVar("E")
_Key = tuple[str, ...]


class RepeatedEntry(Struct, Generic[E], frozen=True):
    """An entry to write; `count` is how often it came within `seconds`, 0 for a first one."""

    entry: E
    count: int = 0
    seconds: float = 0.0


class _Repeats(Struct, Generic[E]):
    """What was counted of one key: `entry` is the last one, `written` how many were written since `since`."""

    entry: E
    text: str
    since: float
    written: int = 0
    count: int = 0


class LogRepeats(Generic[E]):
    """The memory of one log; not thread-safe. Times are in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, _Repeats[E]] = OrderedDict()

    def take(self, key: _Key, text: str, entry: E, now: float, most: int) -> Iterator[RepeatedEntry[E]]:
        """Yield what to write of a new entry: itself, unless `most` of its key were written in this window.

        Another text is written as well, and ends the count of the one before it; of many texts, those that differ in
        numbers alone are one.
        """
        text = _VARYING.sub("#", text)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Repeats(entry, text, now)
            if len(self._known) > REMEMBERED:
                yield from _ended(self._known.popitem(last=False)[1], now)
        elif known.text != text and known.written < 5 * most:
            yield from _ended(known, now)
            known.text, known.count, most = text, 0, known.written + 1
        known.entry = entry
        if known.written < most:
            known.written += 1
            yield RepeatedEntry(entry)
        else:
            known.count += 1

    def due(self, now: float, *, everything: bool = False) -> Iterator[RepeatedEntry[E]]:
        """Yield the counts whose window is over, or all; a key that did not repeat is forgotten."""
        for key, known in list(self._known.items()):
            if everything or now - known.since >= WINDOW:
                yield from _ended(known, now)
                if known.count:
                    known.since, known.count, known.written = now, 0, 1
                else:
                    del self._known[key]


def _ended(known: _Repeats[E], now: float) -> Iterator[RepeatedEntry[E]]:
    if known.count:
        yield RepeatedEntry(known.entry, known.count, now - known.since)
