"""Answers on standard output: tables, Markdown, JSON and YAML.

Text from a cluster is somebody else's: control characters are taken out where a terminal would act on them.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from itertools import zip_longest
from typing import Any, Final, TextIO

from kymatui.cli.output import terminal
from kymatui.cli.output.terminal import guarded
from kymatui.domain.kubernetes.terminal_text import escape_json, sanitize, sanitize_lines
from kymatui.patterns import deferred

PLUGIN: Final = "kubectl kymatui"
_IN_TEXT = deferred(r"`kymatui (?=[a-z-])")
_IN_EXAMPLE = deferred(r"(?<![\w./-])kymatui(?=\s)")


class _Program:
    """The name of this process."""

    name = "kymatui"


PROGRAM = _Program()


def as_started(text: str) -> str:
    """Return a text in which commands between backticks begin with the words that started this process."""
    return text if PROGRAM.name == "kymatui" else _IN_TEXT.sub(f"`{PROGRAM.name} ", text)


def example_as_started(line: str) -> str:
    """Return an example with the words that started this process."""
    return line if PROGRAM.name == "kymatui" else _IN_EXAMPLE.sub(PROGRAM.name, line, count=1)


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    spare: Sequence[str] = (),
    headers: bool = True,
    folds: bool = True,
) -> str:
    """Return columns aligned by what a terminal shows of them, three spaces apart, as kubectl does it.

    On a terminal that is too narrow the widest cells go on in the next line, between two words, unless `folds` is
    False; where that is not enough, the columns in `spare` are left out, one after the other.
    """
    cells = [[sanitize(cell) or "-" for cell in row] for row in rows]
    widths = [max(map(_cell_width, column)) for column in zip(header, *cells, strict=True)]
    gap = "   "
    if folds and sys.stdout.isatty():
        room = shutil.get_terminal_size().columns - len(gap) * (len(header) - 1)
        if spare and sum(_narrowest(header, cells)) > room:
            kept = [at for at, name in enumerate(header) if name != spare[0]]
            some = [header[at] for at in kept], [[row[at] for at in kept] for row in rows]
            return table(*some, spare=spare[1:], headers=headers)
        cells, widths = _folded(header, cells, widths, room)
    lines, has_colours = [], terminal.has_colours()
    for line in (header, *cells) if headers else cells:
        padded = [cell + " " * (width - _cell_width(cell)) for cell, width in zip(line, widths, strict=True)]
        padded[-1] = line[-1]
        if has_colours and line is not header:
            padded = [terminal.coloured(*cell) for cell in zip(header, line, padded, strict=True)]
        lines.append(gap.join(padded).rstrip())
    return "\n".join(lines)


def wrapped(text: str, stream: TextIO | None = None) -> str:
    """Return sentences in lines that end between words on a terminal; unchanged where the output is no terminal.

    A word longer than a line stays whole, so that addresses can be copied.
    """
    if not (stream or sys.stdout).isatty():
        return text
    columns = shutil.get_terminal_size().columns
    lines = ([line] if _cell_width(line) <= columns else _wrapped(line, columns) for line in text.split("\n"))
    return "\n".join(part for parts in lines for part in parts)


def _cell_width(text: str) -> int:
    """Return how many cells of a terminal a text without control characters takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _folded(
    header: Sequence[str], cells: list[list[str]], widths: list[int], room: int
) -> tuple[list[list[str]], list[int]]:
    """Return the same in `room` characters, as far as words can be parted: the widest columns give way first."""
    tries = (_narrowest(header, cells, longest) for longest in (_LONGEST_WORD, 24, 16, 12))
    least = next((column_widths for column_widths in tries if sum(column_widths) <= room), [])
    if not least:
        return cells, widths  # the terminal parts the lines
    narrow = list(widths)
    while sum(narrow) > room:
        able = (at for at, width in enumerate(narrow) if width > least[at])
        narrow[max(able, key=lambda at: narrow[at])] -= 1
    if narrow == widths:
        return cells, widths
    rows = []
    for row in cells:
        parts = [_wrapped(cell, width, divides=True) for cell, width in zip(row, narrow, strict=True)]
        rows += [list(line) for line in zip_longest(*parts, fillvalue="")]
    return rows, narrow


_LONGEST_WORD = 34  # cells; longer words are divided when a table is wider than the terminal


def _narrowest(header: Sequence[str], cells: Sequence[Sequence[str]], longest: int = _LONGEST_WORD) -> list[int]:
    """Return the least widths of the columns: their longest words; paths and names can be parted, URLs cannot.

    In the last column a URL may be longer than the line: the terminal wraps it, so that it can be copied.
    """
    *others, last = zip(header, *cells, strict=True)
    widths = [
        max((len(w) if _is_url(w) else min(len(w), longest) for w in _cell_words(column)), default=1)
        for column in others
    ]
    return [*widths, max((min(len(word), longest) for word in _cell_words(last)), default=1)]


def _cell_words(column: Sequence[str]) -> Iterator[str]:
    return (word for cell in column for word in cell.split())


def _is_url(word: str) -> bool:
    return "://" in word


def _wrapped(text: str, width: int, *, divides: bool = False) -> list[str]:
    """Return the lines of a text; with `divides`, a longer word is divided, first after the signs of paths and names.

    URLs are never divided.
    """
    indent = " " * (len(text) - len(text.lstrip()))
    lines = [indent]
    for word in text.split():
        divided = divides and not _is_url(word)
        parts = [word]
        if divided and len(word) > width - len(indent):
            parts = re.findall(r"[^./\-\]]+[./\-\]]?|[./\-\]]", word)
        for number, part in enumerate(parts):
            joint = " " if number == 0 and lines[-1].strip() else ""
            if lines[-1].strip() and _cell_width(lines[-1] + joint + part) > width:
                lines.append(indent)
                joint = ""
            lines[-1] += joint + part
            while divided and len(lines[-1]) > width:
                lines[-1:] = [lines[-1][:width], indent + lines[-1][width:]]
    return lines


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of GitHub's Markdown."""
    lines = [list(header), ["---"] * len(header), *[[escaped(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def escaped(cell: str) -> str:
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", sanitize(cell)) or "-"


def paragraph(text: str, form: str) -> str:
    """Return a sentence of a plan or a report: wrapped for a terminal, escaped for Markdown, where it may be a link.

    Names and messages in it have no line breaks: those would make another sentence.
    """
    return escaped(text) if form == "md" else wrapped(sanitize(text))


def document(value: Mapping[str, Any], form: str, *, one_line: bool = False) -> str:
    """Return a value as JSON or YAML; `one_line` is for a stream of JSON documents, one on each line."""
    if form == "yaml":
        from kymatui.engine.cluster.yaml_output import dump_yaml

        return dump_yaml(dict(value)).rstrip("\n")
    return escape_json(json.dumps(value, ensure_ascii=False, indent=None if one_line else 2))


class _Answer:
    """Whether standard output has an answer: whoever reads a document there shall find one, whatever happens."""

    given = False


ANSWER = _Answer()


CAPTURED: ContextVar[list[str] | None] = ContextVar("captured", default=None)
"""Where a thread collects its answer instead of printing it: of one context among many."""


def print_text(text: str, stream: TextIO | None = None, *, end: str = "\n") -> None:
    """Print through the door and flush, so that a pipe sees it now. The text is a block that may have several lines."""
    out = stream or sys.stdout
    if (captured := CAPTURED.get()) is not None and out is sys.stdout:
        captured.append(text + end)
        return
    if out is sys.stdout:
        ANSWER.given = True
    print(as_started(text), file=guarded(out), end=end, flush=True)


def print_line(text: str, stream: TextIO | None = None) -> None:
    """Print a sentence with foreign names or messages in it, whose line breaks must not make another line."""
    print_text(sanitize(text), stream)


def print_message(text: str, hint: str = "") -> None:
    """Print `kymatui: TEXT` and a hint on standard error. Further lines are indented, so that they forge no message."""
    for part in (f"kymatui: {text}", f"  hint: {hint}" if hint else ""):
        if part:
            print_text(wrapped(_indented(part), sys.stderr), sys.stderr)


def print_sentences(*lines: str) -> None:
    """Print whole sentences on standard error, which need no name of the program in front."""
    for line in filter(None, lines):
        print_text(wrapped(_indented(line), sys.stderr), sys.stderr)


def _indented(text: str) -> str:
    return "\n".join(_CONTINUED * bool(at) + line for at, line in enumerate(sanitize_lines(text).split("\n")))


_CONTINUED = "    "  # deeper than a hint
