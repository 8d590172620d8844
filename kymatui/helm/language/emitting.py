"""Generated Python code of a template, with the template node behind each line.

Errors look up their node by the failed line, so there is no cost without errors.
"""

from __future__ import annotations

from typing import NamedTuple

from kymatui.helm.govalues.budget import LimitError
from kymatui.helm.language.faults import TooDeepError
from kymatui.helm.language.nodes import Node

MAX_INDENT = 90
MOST_CODE = 4_000_000
"""Characters of code. 50,000 tokens make a quarter of that, unless blocks 12 deep pass on thousands of variables."""


class LineOrigin(NamedTuple):
    """The origin of a line: the node for errors (or the local with its number), and the called function.

    `called` is "" if the line calls none.
    """

    node: Node | str
    called: str = ""


class Emitter:
    """Collects lines; extracted functions precede their callers."""

    __slots__ = ("counter", "finished", "indent", "lines", "nodes", "origins", "size")

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.origins: dict[int, LineOrigin] = {}
        self.nodes: list[Node] = []
        self.lines: list[tuple[str, LineOrigin | None]] = []
        self.indent = 1
        self.counter = 0
        self.size = 0

    def name(self, prefix: str) -> str:
        """Return a new local name."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def line(self, code: str, origin: LineOrigin | None = None) -> None:
        if self.indent > MAX_INDENT:
            raise TooDeepError
        self.count(code)
        self.lines.append((" " * self.indent + code, origin))

    def count(self, code: str) -> None:
        self.size += len(code)
        if self.size > MOST_CODE:
            raise LimitError(f"a template compiles to more than {MOST_CODE} characters of code")

    def number(self, node: Node) -> int:
        """Return the number by which a local refers to a node."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def finish(self, lines: list[tuple[str, LineOrigin | None]]) -> None:
        """Append the lines of a complete function."""
        self.count(lines[0][0])
        for code, origin in lines:
            self.finished.append(code)
            if origin is not None:
                self.origins[len(self.finished)] = origin

    def source(self) -> str:
        return "\n".join(self.finished) + "\n"
