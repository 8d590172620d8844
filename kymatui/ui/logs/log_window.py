"""The part of a ring that a screen displays: at its end, or at a line that stays while others come and go."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len, chop_cells

from kymatui.domain.logs.log_lines import PodLogLine
from kymatui.domain.logs.log_ring import LogRing

_SEARCHED = 4096  # characters of a line: the rest of a longer one is rarely read, and never searched


class LogRow(Struct, frozen=True):
    """One row of the screen; a wrapped line has several, of which the first one has the label."""

    line: PodLogLine
    text: str
    is_first: bool


class LogWindow:
    """Position and size over a ring. Every method reads the ring: hold its lock."""

    def __init__(self, ring: LogRing) -> None:
        self._ring = ring
        self.width, self.height = 80, 24
        self.is_wrapped = False
        self.has_times = False
        self.is_following = True
        self._top: tuple[PodLogLine, int] | None = None  # a line, and how many of its rows are above the window

    @property
    def lines(self) -> Sequence[PodLogLine]:
        return self._ring.shown

    def rows(self) -> list[LogRow]:
        """Return the rows of the window from top to bottom."""
        index, skipped = self._place()
        found: list[LogRow] = []
        while index < len(self.lines) and len(found) < self.height:
            line = self.lines[index]
            rows = [LogRow(line, text, number == 0) for number, text in enumerate(self._texts(line))]
            found += rows[skipped:]
            index, skipped = index + 1, 0
        return found[: self.height]

    def text_of(self, line: PodLogLine) -> str:
        """Return a line with its time, if times are displayed."""
        return f"{line.stamp} {line.text}" if self.has_times and line.stamp else line.text

    # movement

    def move(self, by: int) -> None:
        """Scroll by rows; stop at both ends. Upwards ends the following."""
        index, skipped = self._place()
        self.is_following = self.is_following and by >= 0
        if not self.lines or self.is_following:
            return
        skipped += by
        while skipped < 0 and index > 0:
            index -= 1
            skipped += len(self._texts(self.lines[index]))
        while index < len(self.lines) - 1 and skipped >= (rows := len(self._texts(self.lines[index]))):
            index, skipped = index + 1, skipped - rows
        self._stand(*min((index, max(skipped, 0)), self._bottom()))

    def first(self) -> None:
        self.is_following = False
        self._stand(0, 0)

    def last(self) -> None:
        """Go to the newest line and follow."""
        self.is_following = True

    def stop_following(self) -> None:
        """Keep the lines that are displayed now."""
        place = self._place()
        self.is_following = False
        self._stand(*place)

    def reveal(self, line: PodLogLine) -> None:
        """Scroll to a line, to the middle of the window if it is outside."""
        self.stop_following()
        if any(row.line is line for row in self.rows()):
            return
        self._stand(self._ring.place(line), 0)
        self.move(-(self.height // 2))

    # search

    def find(self, pattern: re.Pattern[str], start: PodLogLine | None, by: int) -> PodLogLine | None:
        """Return the next match after a line (`by` 1) or before it (-1), from the other end if there is none."""
        lines = self.lines
        if not lines:
            return None
        at = self._ring.place(start) if start is not None else (len(lines) if by < 0 else -1)
        order = [*range(at + 1, len(lines)), *range(at + 1)] if by > 0 else [*range(at - 1, -1, -1)]
        order += [] if by > 0 else [*range(len(lines) - 1, at - 1, -1)]
        return next((lines[n] for n in order if 0 <= n < len(lines) and self.matches(pattern, lines[n])), None)

    def matches(self, pattern: re.Pattern[str], line: PodLogLine) -> bool:
        return pattern.search(self.text_of(line)[:_SEARCHED]) is not None

    # rows of lines

    def _texts(self, line: PodLogLine) -> list[str]:
        text = self.text_of(line)
        if not self.is_wrapped or len(text) * 2 <= self.width or cell_len(text) <= self.width:
            return [text]
        if text.isascii():
            return [text[start : start + self.width] for start in range(0, len(text), self.width)]
        return chop_cells(text, max(self.width, 2))

    def _place(self) -> tuple[int, int]:
        """Return the index of the top line, and how many of its rows are above the window."""
        if self.is_following or self._top is None:
            return self._bottom()
        line, skipped = self._top
        index = self._ring.place(line)
        if index >= len(self.lines) or self.lines[index] is not line:
            skipped = 0
        return min((index, skipped), self._bottom())

    def _bottom(self) -> tuple[int, int]:
        """Return the place at which the newest row is the last one of the window."""
        index, left = len(self.lines), self.height
        while index > 0 and left > 0:
            index -= 1
            left -= len(self._texts(self.lines[index]))
        return index, max(-left, 0)

    def _stand(self, index: int, skipped: int) -> None:
        self._top = (self.lines[index], skipped) if index < len(self.lines) else None
        if self._top is None:
            self.is_following = self.is_following or not self.lines
