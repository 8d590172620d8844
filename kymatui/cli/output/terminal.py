"""The door to standard output and standard error: nothing that a terminal acts on passes it, but kymatui's colours.

What servers, charts, files and plugins write is foreign: an escape sequence could set the title, hide lines or forge an
answer. `main` puts the door before both streams, so that libraries and tracebacks go through it as well. Whatever
stands behind it (`raw_stream`) is for the few that draw, and for contents that a person requests byte for byte.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

from kymatui.cli.output.colours import OWN_SEQUENCE, has_colours
from kymatui.domain.kubernetes.terminal_text import sanitize_lines


class GuardedStream:
    """A text stream that passes on only what `visible` leaves; everything else is the stream's own."""

    def __init__(self, raw: TextIO) -> None:
        self.raw: Final = raw

    def write(self, text: str) -> int:
        """Write and return the number of characters, as a stream does; what it cannot encode is replaced."""
        encoding = self.raw.encoding or "utf-8"
        shown = visible(text, has_colours=has_colours(self.raw))
        self.raw.write(shown.encode(encoding, "replace").decode(encoding))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def visible(text: str, *, has_colours: bool) -> str:
    """Return a text without control characters but line feeds and tabs, with kymatui's colours if there are any."""
    parts = []
    position = 0
    for match in OWN_SEQUENCE.finditer(text):
        parts.append(sanitize_lines(text[position : match.start()]))
        parts.append(f"\x1b[{match[1]}m" if has_colours else "")
        position = match.end()
    return "".join([*parts, sanitize_lines(text[position:])])


def guarded(stream: TextIO) -> TextIO:
    """Return the stream behind the door, once."""
    return stream if isinstance(stream, GuardedStream) else GuardedStream(stream)  # type: ignore[return-value]


def raw_stream(stream: TextIO) -> TextIO:
    """Return the stream before the door was put there: for what draws, and sanitizes itself what it draws."""
    return stream.raw if isinstance(stream, GuardedStream) else stream


def print_content(text: str) -> None:
    """Print a content that a person requests, such as a rendered chart: byte for byte, but not on a terminal."""
    stream = guarded(sys.stdout)
    buffer = getattr(stream, "buffer", None)
    if stream.isatty() or buffer is None:
        stream.write(text)
    else:
        stream.flush()
        buffer.write(text.encode("utf-8", "surrogateescape"))  # as Go does, whatever the locale
    stream.flush()


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Guard both streams of the process for the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(guarded, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
