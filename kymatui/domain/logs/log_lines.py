"""Lines of a log: split from the bytes that arrive, with their times, and without what a terminal acts on.

The newest lines of many containers in the order of their times, bounded in number and size.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.logs.log_sources import LogSource
from kymatui.moments import parse_moment

LONGEST_LINE: Final = 64 * 1024
"""Bytes of a line that are read; the rest is cut. Container runtimes join longer lines from parts of 16 KiB."""
CUT: Final = " … (cut)"

_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |$)", re.ASCII)
# CSI sequences such as colours, OSC sequences such as titles, and other escapes of two characters
_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")


class PodLogLine(NamedTuple):
    """One line; `at` is in nanoseconds of the Unix clock, and never less than that of the container's line before."""

    at: int
    source: LogSource
    stamp: str
    text: str


class LineSplitter:
    """Cuts the bytes of a stream into lines, the last one without an end included; too long lines are cut."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._rest = b""
        self._is_cut = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk ends."""
        first, *others = chunk.split(b"\n")
        self._keep(first)
        if not others:
            return []
        *complete, rest = others
        lines = [self._take(), *map(self._within, complete)]
        self._keep(rest)
        return lines

    def end(self) -> list[bytes]:
        """Return the line that the stream ended in, if there is one."""
        return [self._take()] if self._rest else []

    def _keep(self, part: bytes) -> None:
        room = self._longest - len(self._rest)
        self._is_cut = self._is_cut or len(part) > room
        self._rest += part[:room]

    def _take(self) -> bytes:
        line = self._rest + (CUT.encode() if self._is_cut else b"")
        self._rest, self._is_cut = b"", False
        return line

    def _within(self, line: bytes) -> bytes:
        return line if len(line) <= self._longest else line[: self._longest] + CUT.encode()


class LineReader:
    """Reads the lines of one container; after `resume`, lines that were read before are left out."""

    def __init__(self, source: LogSource) -> None:
        self.source = source
        self.last: int | None = None
        """The time of the newest line, None before the first."""
        self._same = 0  # lines of that time
        self._until: int | None = None
        self._left_out = 0

    def resume(self) -> None:
        """Expect a new stream that starts at or before the newest line."""
        self._until, self._left_out = self.last, self._same

    def read(self, lines: Iterable[bytes]) -> list[PodLogLine]:
        """Return the lines with their times; a line without a time has that of the line before."""
        entries = []
        for raw in lines:
            at, stamp, start = _time_of(raw)
            if self._until is not None and at is not None and self._is_known(at):
                continue
            at = max(at if at is not None else 0, self.last or 0)
            self._same = self._same + 1 if at == self.last else 1
            self.last = at
            entries.append(PodLogLine(at, self.source, stamp, clean_log_text(raw[start:].decode(errors="replace"))))
        return entries

    def _is_known(self, at: int) -> bool:
        assert self._until is not None
        if at < self._until:
            return True
        if at == self._until and self._left_out:
            self._left_out -= 1
            return True
        self._until = None
        return False


def _time_of(raw: bytes) -> tuple[int | None, str, int]:
    """Return a line's time in nanoseconds, the same as text, and where the text of the line starts."""
    match = _STAMP.match(raw)
    if match is None:
        return None, "", 0
    second, fraction, zone = match.groups()
    seconds = _second(second + zone)
    if seconds is None:
        return None, "", 0
    return seconds + int((fraction or b"").ljust(9, b"0")), raw[: match.end()].rstrip().decode(), match.end()


@lru_cache(maxsize=1024)
def _second(text: bytes) -> int | None:
    """Return a time without a fraction in nanoseconds; None for the 31st of February."""
    try:
        return int(parse_moment(text.decode().replace("Z", "+00:00")).timestamp()) * 1_000_000_000
    except (ValueError, OverflowError):
        return None


def clean_log_text(text: str) -> str:
    """Return a line without colours and control characters; tabs become spaces."""
    if text.isprintable():
        return text
    return sanitize(_ESCAPES.sub("", text).rstrip("\r").expandtabs(8))


# The order of lines of many containers, when all of them are read to their end.


def interleave(streams: Iterable[Iterable[PodLogLine]]) -> Iterator[PodLogLine]:
    """Yield the lines of ordered streams by time, reading no more of a stream than its next line.

    Lines of the same time come in the order of the streams.
    """
    return heapq.merge(*streams, key=attrgetter("at"))


def prefix_of(line: PodLogLine) -> str:
    """Return the prefix of a line among those of other containers, as `kubectl logs --prefix` prints it."""
    return f"[pod/{line.source.pod}/{line.source.container}] "


def format_line(line: PodLogLine, *, prefix: bool = False, timestamps: bool = False) -> str:
    """Return a line for a file or a terminal."""
    stamp = f"{line.stamp} " if timestamps and line.stamp else ""
    return f"{prefix_of(line) if prefix else ''}{stamp}{line.text}"


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
