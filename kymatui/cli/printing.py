"""Answers on standard output: tables, Markdown, JSON and YAML.

Text from a cluster is somebody else's: control characters are taken out where a terminal would act on them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from kymatui.domain.texts import plain

FORMATS = ("table", "wide", "json", "yaml", "md")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned by what a terminal shows of them, three spaces apart, as kubectl does it."""
    from rich.cells import cell_len

    cells = [[plain(cell) or "-" for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(header, *cells, strict=True)]
    lines = []
    for line in (header, *cells):
        padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)]
        lines.append("   ".join(padded).rstrip())
    return "\n".join(lines)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of GitHub's Markdown."""
    lines = [list(header), ["---"] * len(header), *[[_escaped(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _escaped(cell: str) -> str:
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", plain(cell)) or "-"


def document(value: Mapping[str, Any], form: str, *, one_line: bool = False) -> str:
    """JSON or YAML; `one_line` for a stream of JSON documents, a line each."""
    if form == "yaml":
        from kymatui.wiring.dumping import dump

        return dump(dict(value)).rstrip("\n")
    return json.dumps(value, ensure_ascii=False, indent=None if one_line else 2)


class _Answer:
    """Whether standard output has an answer: whoever reads a document there shall find one, whatever happens."""

    given = False


ANSWER = _Answer()


def say(text: str, stream: TextIO | None = None) -> None:
    """Prints and flushes, so that a pipe sees it now; what the terminal cannot show is replaced."""
    out = stream or sys.stdout
    if out is sys.stdout:
        ANSWER.given = True
    encoding = out.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), file=out, flush=True)
