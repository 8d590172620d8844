"""Transfers to and from registries: bars while they last, on a terminal only, and one line about them."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from kymatui.cli.output.terminal import raw_stream
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.publishing.blob_transfer import Transfer, TransferCount

SMALLEST: Final = 1024 * 1024
"""Bytes of a blob below which a bar would only flicker."""


def transfer_line(count: TransferCount) -> str:
    """Return "2 mounted, 1 copied (10 bytes sent)"."""
    parts = [f"{count.blobs[transfer]} {transfer}" for transfer in Transfer if count.blobs[transfer]]
    return f"{', '.join(parts) or 'none'} ({format_count(count.copied_bytes, 'byte')} sent)"


@contextlib.contextmanager
def transfer_bars() -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a bar on standard error for each blob that is read or sent; yield None if that is not a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(file=raw_stream(sys.stderr)), transient=True) as bars:
        yield _Bars(bars.add_task, bars.update, bars.remove_task).report


class _Bars:
    """The bars by what they are about."""

    def __init__(self, add: Callable[..., int], update: Callable[..., None], remove: Callable[..., None]) -> None:
        self._add, self._update, self._remove = add, update, remove
        self._tasks: dict[str, int] = {}
        self._lock = threading.Lock()

    def report(self, what: str, done: int, size: int) -> None:
        if size < SMALLEST:
            return
        with self._lock:
            if what not in self._tasks:
                self._tasks[what] = self._add(shortened(what), total=size)
            self._update(self._tasks[what], completed=done)
            if done >= size:
                self._remove(self._tasks.pop(what))


def shortened(what: str) -> str:
    """Return "sending sha256:0123456789ab" for the whole digest."""
    verb, _, digest = what.partition(" ")
    algorithm, colon, value = digest.partition(":")
    return sanitize(f"{verb} {algorithm}{colon}{value[:12]}")
