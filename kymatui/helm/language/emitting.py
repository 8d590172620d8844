"""The Python text that a template becomes, line by line, and which node of the template stands behind each line.

Errors look their node up by the line that failed, so nothing is paid for them while all goes well.
"""

from __future__ import annotations

from typing import NamedTuple

from kymatui.helm.language.faults import TooDeepError
from kymatui.helm.language.nodes import Node

MAX_INDENT = 90


class LineOrigin(NamedTuple):
    """What stands behind a line: the node that errors name (or the local that knows its number in `nodes`), and the
    function or method that the line calls, "" where it calls none."""

    node: Node | str
    called: str = ""


class Emitter:
    """Collects lines; functions that are made on the way are put before those that call them."""

    __slots__ = ("counter", "finished", "indent", "lines", "nodes", "origins")

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.origins: dict[int, LineOrigin] = {}
        self.nodes: list[Node] = []
        self.lines: list[tuple[str, LineOrigin | None]] = []
        self.indent = 1
        self.counter = 0

    def name(self, prefix: str) -> str:
        """A new local name."""
        self.counter += 1
        return f"{prefix}{self.counter}"

    def line(self, code: str, origin: LineOrigin | None = None) -> None:
        if self.indent > MAX_INDENT:
            raise TooDeepError
        self.lines.append((" " * self.indent + code, origin))

    def number(self, node: Node) -> int:
        """The number under which a local can hold a node."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def finish(self, lines: list[tuple[str, LineOrigin | None]]) -> None:
        """Puts the lines of one function behind those that stand."""
        for code, origin in lines:
            self.finished.append(code)
            if origin is not None:
                self.origins[len(self.finished)] = origin

    def source(self) -> str:
        return "\n".join(self.finished) + "\n"
