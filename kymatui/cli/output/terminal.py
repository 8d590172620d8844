"""The door to standard output and standard error: nothing that a terminal acts on passes it, but kymatui's colours.

What servers, charts, files and plugins write is foreign: an escape sequence could set the title, hide lines or forge an
answer. `main` puts the door before both streams, so that libraries and tracebacks go through it as well. Whatever
stands behind it (`raw_stream`) is for the few that draw, and for contents that a person requests byte for byte.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Final, TextIO

from kymatui.domain.kubernetes.terminal_text import error_reason, sanitize_lines
from kymatui.patterns import deferred


class OutputError(OSError):
    """Standard output cannot be written: its disk is full, or it is closed."""


class _Door:
    """What a text that goes to the terminal passes; "" says that something else draws from now on, or nothing."""

    passing: Callable[[str], AbstractContextManager[object]] = nullcontext


DOOR: Final = _Door()


def display_waits() -> None:
    """Display from now on what the command waits for; on a terminal only."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from kymatui.cli.output.wait_line import WaitLine

        DOOR.passing = WaitLine(raw_stream(sys.stderr)).start()


def end_waits() -> None:
    """Leave the terminal to something else that draws, or to the shell."""
    with DOOR.passing(""):
        DOOR.passing = nullcontext


class GuardedStream:
    """A text stream that passes on only what `visible` leaves; everything else is the stream's own.

    `is_answer`: what cannot be written is an OutputError. Messages are lost instead: an installation goes on.
    """

    def __init__(self, raw: TextIO, *, is_answer: bool = True) -> None:
        self.raw: Final = raw
        self._is_answer = is_answer
        self._failure = ""

    def write(self, text: str) -> int:
        """Write and return the number of characters, as a stream does; what it cannot encode is replaced."""
        encoding = self.raw.encoding or "utf-8"
        shown = visible(text, has_colours=has_colours(self.raw))
        with DOOR.passing(shown), self._written():
            self.raw.write(shown.encode(encoding, "replace").decode(encoding))
        return len(text)

    def write_content(self, content: bytes) -> None:
        """Write bytes as they are; a stream without bytes, such as a test's, gets them as text."""
        with DOOR.passing("\n"), self._written():
            self.raw.flush()
            buffer = getattr(self.raw, "buffer", None)
            if buffer is None:
                self.raw.write(content.decode("utf-8", "replace"))
            else:
                buffer.write(content)

    def flush(self) -> None:
        """Flush. Raise OutputError also after a failure of `write`, which argparse ignores."""
        with self._written():
            self.raw.flush()
        if self._failure:
            raise OutputError(self._failure)

    def abandon(self) -> None:
        """Point the stream to /dev/null, so that its flush at the end of the process does not fail again."""
        self._failure, self._is_answer = "", False
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.raw.fileno())

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # the reader, such as `head`, has read enough
            if self._is_answer:
                raise
        except (OSError, ValueError) as error:  # ValueError: the stream was closed
            if self._is_answer:
                self._failure = error_reason(error)
                raise OutputError(self._failure) from error

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


def guarded(stream: TextIO, *, is_answer: bool = True) -> TextIO:
    """Return the stream behind the door, once."""
    if isinstance(stream, GuardedStream):
        return stream
    return GuardedStream(stream, is_answer=is_answer)  # type: ignore[return-value]


def guard_process() -> None:
    """Guard both streams of the process for good. A descriptor that the caller closed is reserved.

    Otherwise the next file that is opened, such as a journal, would be standard output to libraries and children.
    """
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= _LAST_STREAM:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or io.StringIO()
    sys.stdout = guarded(sys.stdout or _Closed())
    sys.stderr = guarded(sys.stderr or _Closed(), is_answer=False)


def abandon_output() -> None:
    """Give up standard output, whose reader (head, less) is gone, or whose disk is full."""
    if isinstance(sys.stdout, GuardedStream):
        sys.stdout.abandon()


class _Closed(io.StringIO):
    """Standard output or standard error of a process that was started without it."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


_LAST_STREAM: Final = 2


def raw_stream(stream: TextIO) -> TextIO:
    """Return the stream before the door was put there: for what draws, and sanitizes itself what it draws."""
    end_waits()
    return stream.raw if isinstance(stream, GuardedStream) else stream


def print_content(text: str) -> None:
    """Print a content that a person requests, such as a rendered chart: byte for byte, but not on a terminal."""
    stream = sys.stdout if isinstance(sys.stdout, GuardedStream) else GuardedStream(sys.stdout)
    if stream.isatty():
        stream.write(text)
    else:
        stream.write_content(text.encode("utf-8", "surrogateescape"))  # as Go does, in every locale
    stream.flush()


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Guard both streams of the process for the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = guarded(sys.stdout), guarded(sys.stderr, is_answer=False)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, DIM = "31", "32", "33", "34", "35", "36", "2"
STATE_COLOURS: Final[Mapping[str, str]] = {
    "Ready": GREEN,
    "Processing": CYAN,
    "Warning": YELLOW,
    "Error": RED,
    "Deleting": MAGENTA,
    "Unknown": BLUE,
    "Unmanaged": DIM,
    "not installed": DIM,
    "unconfigured": DIM,
    "orphan": YELLOW,
    "managed twice": YELLOW,
}
COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(("STATE", "KYMA", "MANIFEST", "MODULE CR", "MANAGER"), STATE_COLOURS),
    "SEVERITY": {"error": RED, "warning": YELLOW, "info": DIM},
    "TYPE": {"Warning": YELLOW},
    "VERDICT": {"not intended": RED, "unknown": BLUE, "under way": CYAN},
    "HEALTH": {"broken": RED, "unknown": BLUE, "healthy": GREEN},
    "STATUS": {"missing": RED, "left over": YELLOW, "unknown": BLUE},
}
"""By column the words that have a colour; others, and other columns, have none."""
ACCENTS: Final[Mapping[str, str]] = {
    "red": "97;41",
    "orange": "97;48;5;130",
    "yellow": "30;43",
    "green": "30;42",
    "blue": "97;44",
    "purple": "97;45",
    "grey": "97;100",
}
"""By accent of a context the colours of the lines that name it; the terminal has no orange of its own."""
_OWN: Final = f"\x1b{os.urandom(8).hex()}"
"""The start of a sequence of kymatui's own, which no foreign text can have; the door writes its colour."""
OWN_SEQUENCE = deferred(rf"{_OWN}\[([0-9;]*)m")


class _Choice:
    """The value of `--color`; auto until a command line says otherwise."""

    when = "auto"


CHOICE = _Choice()


def choose_colours(when: str) -> None:
    """Remember `--color` for what this process prints."""
    CHOICE.when = when


def has_colours(stream: TextIO | None = None) -> bool:
    """Return whether text for this stream, by default standard output, may have colours."""
    if CHOICE.when != "auto":
        return CHOICE.when == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (stream or sys.stdout).isatty()


def coloured(title: str, cell: str, padded: str) -> str:
    """Return a padded cell in the colour that its column gives to its word; "Ready (deleting)" is Ready."""
    colour = COLUMNS.get(title, {}).get(cell.partition(" (")[0].strip())
    return _painted(colour, padded) if colour else padded


def accented(accent: str, text: str) -> str:
    """Return the lines of a text in the accent of a context."""
    colour = ACCENTS.get(accent)
    return "\n".join(_painted(colour, line) for line in text.split("\n")) if colour else text


def _painted(colour: str, text: str) -> str:
    """Return the text between two sequences that the door (`terminal.visible`) turns into those of the terminal."""
    return f"{_OWN}[{colour}m{text}{_OWN}[0m"
