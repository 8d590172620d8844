"""The order of lines of many containers, when all of them are read to their end."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from operator import attrgetter

from kymatui.domain.logs.log_lines import PodLogLine


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
