"""The newest lines of many containers in the order of their times, bounded in number and size."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from kymatui.domain.logs.log_lines import PodLogLine

MOST_LINES: Final = 50_000  # of all containers of a screen; the oldest is dropped
MOST_BYTES: Final = 32 * 1024 * 1024
"""Memory of the texts: 50,000 lines of 600 bytes; logs of longer lines keep fewer."""

_time = attrgetter("at")
LineFilter = Callable[[PodLogLine], bool]


class LogRing:
    """Lines of all containers. Those that the filter accepts are in `shown`, in the same order.

    Lines of one container keep their order, and lines of the same time the order in which they were added.
    """

    def __init__(self, most: int = MOST_LINES, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._size = 0
        self._accepts: LineFilter | None = None
        self.lines: list[PodLogLine] = []
        self.shown: list[PodLogLine] = self.lines
        self.dropped = 0
        """How many lines the ring had and dropped, the oldest first."""

    def add(self, batch: Sequence[PodLogLine]) -> None:
        """Add lines of one container, which are ordered."""
        if not batch:
            return
        _merge(self.lines, batch)
        if self._accepts is not None:
            _merge(self.shown, [line for line in batch if self._accepts(line)])
        self._size += sum(map(_weight, batch))
        self._trim()

    def filter(self, accepts: LineFilter | None) -> None:
        """Display only the lines that a filter accepts; None displays all."""
        self._accepts = accepts
        self.shown = self.lines if accepts is None else [line for line in self.lines if accepts(line)]

    def clear(self) -> None:
        self.lines, self._size, self.dropped = [], 0, 0
        self.filter(self._accepts)

    def place(self, line: PodLogLine) -> int:
        """Return where a line is in `shown`; where it would be, if it is not there any more."""
        shown = self.shown
        start = bisect_left(shown, line.at, key=_time)
        for index in range(start, len(shown)):
            if shown[index] is line:
                return index
            if shown[index].at != line.at:
                break
        return start

    def _trim(self) -> None:
        """Drop the oldest lines that are too many or too large; the newest line always stays."""
        count = max(len(self.lines) - self._most, 0)
        size = self._size - sum(map(_weight, self.lines[:count]))
        while size > self._most_bytes and count < len(self.lines) - 1:
            size -= _weight(self.lines[count])
            count += 1
        if not count:
            return
        gone = self.lines[:count]
        if self.shown is not self.lines:
            dropped = 0
            for line in gone:
                dropped += dropped < len(self.shown) and self.shown[dropped] is line
            del self.shown[:dropped]
        del self.lines[:count]
        self._size = size
        self.dropped += count


def _merge(lines: list[PodLogLine], batch: Sequence[PodLogLine]) -> None:
    """Merge an ordered batch; only what is newer than its first line moves."""
    if not batch:
        return
    if lines and batch[0].at < lines[-1].at:
        start = bisect_right(lines, batch[0].at, key=_time)
        tail = [*lines[start:], *batch]
        tail.sort(key=_time)  # stable, and fast on two ordered runs
        lines[start:] = tail
    else:
        lines.extend(batch)


def _weight(line: PodLogLine) -> int:
    """Return about how much memory a line takes: an object, a text, and its time as a text."""
    return 250 + (len(line.text) if line.text.isascii() else 4 * len(line.text))
