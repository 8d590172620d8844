"""The parse tree of a template, with Go's own way of writing each node back (errors quote it)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kymatui.helm.govalues.quoting import quote

SPACES: Final = " \t\r\n"


@dataclass(eq=False, repr=False, match_args=False)
class Node:
    """`position` is the offset in characters in the file's text."""

    position: int

    def text(self) -> str:
        """The node as Go's String() writes it."""
        return ""


@dataclass(eq=False, repr=False, match_args=False)
class Text(Node):
    value: str

    def text(self) -> str:
        return self.value


@dataclass(eq=False, repr=False, match_args=False)
class Block(Node):
    """A list of nodes."""

    nodes: list[Node] = field(default_factory=list)

    def text(self) -> str:
        return "".join([node.text() for node in self.nodes])


@dataclass(eq=False, repr=False, match_args=False)
class Dot(Node):
    def text(self) -> str:
        return "."


@dataclass(eq=False, repr=False, match_args=False)
class Nil(Node):
    def text(self) -> str:
        return "nil"


@dataclass(eq=False, repr=False, match_args=False)
class Bool(Node):
    value: bool

    def text(self) -> str:
        return "true" if self.value else "false"


@dataclass(eq=False, repr=False, match_args=False)
class Number(Node):
    """A number under every type that can hold it; None where none can."""

    source: str
    integer: int | None = None
    unsigned: int | None = None
    real: float | None = None
    imaginary: complex | None = None

    def text(self) -> str:
        return self.source


@dataclass(eq=False, repr=False, match_args=False)
class String(Node):
    quoted: str
    value: str

    def text(self) -> str:
        return self.quoted


@dataclass(eq=False, repr=False, match_args=False)
class Identifier(Node):
    name: str

    def text(self) -> str:
        return self.name


@dataclass(eq=False, repr=False, match_args=False)
class Field(Node):
    names: list[str]

    def text(self) -> str:
        return "".join(["." + name for name in self.names])


@dataclass(eq=False, repr=False, match_args=False)
class Variable(Node):
    """A variable, perhaps with fields: the first name has its dollar sign."""

    names: list[str]

    def text(self) -> str:
        return ".".join(self.names)


@dataclass(eq=False, repr=False, match_args=False)
class Chain(Node):
    """Fields of a parenthesized pipeline, or of a function's result."""

    node: Node
    names: list[str] = field(default_factory=list)

    def text(self) -> str:
        inner = f"({self.node.text()})" if isinstance(self.node, Pipe) else self.node.text()
        return inner + "".join(["." + name for name in self.names])


@dataclass(eq=False, repr=False, match_args=False)
class Command(Node):
    args: list[Node] = field(default_factory=list)

    def text(self) -> str:
        return " ".join([f"({arg.text()})" if isinstance(arg, Pipe) else arg.text() for arg in self.args])


@dataclass(eq=False, repr=False, match_args=False)
class Pipe(Node):
    assigns: bool = False
    variables: list[Variable] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)

    def text(self) -> str:
        commands = " | ".join([command.text() for command in self.commands])
        if not self.variables:
            return commands
        names = ", ".join([variable.text() for variable in self.variables])
        return f"{names} {'=' if self.assigns else ':='} {commands}"


@dataclass(eq=False, repr=False, match_args=False)
class Action(Node):
    pipe: Pipe

    def text(self) -> str:
        return "{{" + self.pipe.text() + "}}"


@dataclass(eq=False, repr=False, match_args=False)
class Branch(Node):
    """if, with or range."""

    word: str
    pipe: Pipe
    body: Block
    otherwise: Block | None

    def text(self) -> str:
        otherwise = "" if self.otherwise is None else "{{else}}" + self.otherwise.text()
        return "{{" + f"{self.word} {self.pipe.text()}" + "}}" + self.body.text() + otherwise + "{{end}}"


@dataclass(eq=False, repr=False, match_args=False)
class Call(Node):
    """{{template "name" pipeline}}"""

    name: str
    pipe: Pipe | None

    def text(self) -> str:
        argument = "" if self.pipe is None else " " + self.pipe.text()
        return "{{template " + quote(self.name) + argument + "}}"


@dataclass(eq=False, repr=False, match_args=False)
class Jump(Node):
    """break or continue."""

    word: str

    def text(self) -> str:
        return "{{" + self.word + "}}"


@dataclass(eq=False, repr=False, match_args=False)
class End(Node):
    """{{end}} or {{else}}; never part of a tree."""

    word: str

    def text(self) -> str:
        return "{{" + self.word + "}}"


def is_empty(node: Node) -> bool:
    """Whether a tree has nothing but space in it: such a definition does not replace another."""
    if isinstance(node, Block):
        return all(map(is_empty, node.nodes))
    return isinstance(node, Text) and not node.value.strip(_GO_SPACE)


_GO_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
