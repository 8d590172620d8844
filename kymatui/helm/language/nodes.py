"""Parse tree nodes, with Go's String() of each, which errors quote."""

from __future__ import annotations

from typing import Final

from kymatui.helm.govalues.quoting import quote

SPACES: Final = " \t\r\n"


class Node:
    """A node; `position` is the offset in characters in the file."""

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position

    def text(self) -> str:
        """Return the node as Go's String()."""
        return ""


class Text(Node):
    __slots__ = ("value",)

    def __init__(self, position: int, value: str) -> None:
        self.position = position
        self.value = value

    def text(self) -> str:
        return self.value


class ListNode(Node):
    __slots__ = ("nodes",)

    def __init__(self, position: int, nodes: list[Node] | None = None) -> None:
        self.position = position
        self.nodes = [] if nodes is None else nodes

    def text(self) -> str:
        return "".join([node.text() for node in self.nodes])


class Dot(Node):
    __slots__ = ()

    def text(self) -> str:
        return "."


class Nil(Node):
    __slots__ = ()

    def text(self) -> str:
        return "nil"


class Bool(Node):
    __slots__ = ("value",)

    def __init__(self, position: int, value: bool) -> None:
        self.position = position
        self.value = value

    def text(self) -> str:
        return "true" if self.value else "false"


class Number(Node):
    """A number in every type that can hold it, None for the others."""

    __slots__ = ("imaginary", "integer", "real", "source", "unsigned")

    def __init__(
        self,
        position: int,
        source: str,
        integer: int | None = None,
        unsigned: int | None = None,
        real: float | None = None,
        imaginary: complex | None = None,
    ) -> None:
        self.position = position
        self.source = source
        self.integer = integer
        self.unsigned = unsigned
        self.real = real
        self.imaginary = imaginary

    def text(self) -> str:
        return self.source


class String(Node):
    __slots__ = ("quoted", "value")

    def __init__(self, position: int, quoted: str, value: str) -> None:
        self.position = position
        self.quoted = quoted
        self.value = value

    def text(self) -> str:
        return self.quoted


class Identifier(Node):
    __slots__ = ("name",)

    def __init__(self, position: int, name: str) -> None:
        self.position = position
        self.name = name

    def text(self) -> str:
        return self.name


class Field(Node):
    __slots__ = ("names",)

    def __init__(self, position: int, names: list[str]) -> None:
        self.position = position
        self.names = names

    def text(self) -> str:
        return "".join(["." + name for name in self.names])


class Variable(Node):
    """A variable with optional fields; the first name includes the dollar sign."""

    __slots__ = ("names",)

    def __init__(self, position: int, names: list[str]) -> None:
        self.position = position
        self.names = names

    def text(self) -> str:
        return ".".join(self.names)


class Chain(Node):
    """Fields of a parenthesized pipeline or of a function's result."""

    __slots__ = ("names", "node")

    def __init__(self, position: int, node: Node) -> None:
        self.position = position
        self.node = node
        self.names: list[str] = []

    def text(self) -> str:
        inner = f"({self.node.text()})" if isinstance(self.node, Pipe) else self.node.text()
        return inner + "".join(["." + name for name in self.names])


class CommandNode(Node):
    __slots__ = ("args",)

    def __init__(self, position: int) -> None:
        self.position = position
        self.args: list[Node] = []

    def text(self) -> str:
        return " ".join([f"({arg.text()})" if isinstance(arg, Pipe) else arg.text() for arg in self.args])


class Pipe(Node):
    __slots__ = ("assigns", "commands", "variables")

    def __init__(self, position: int, assigns: bool = False) -> None:
        self.position = position
        self.assigns = assigns
        self.variables: list[Variable] = []
        self.commands: list[CommandNode] = []

    def text(self) -> str:
        commands = " | ".join([command.text() for command in self.commands])
        if not self.variables:
            return commands
        names = ", ".join([variable.text() for variable in self.variables])
        return f"{names} {'=' if self.assigns else ':='} {commands}"


class ActionNode(Node):
    __slots__ = ("pipe",)

    def __init__(self, position: int, pipe: Pipe) -> None:
        self.position = position
        self.pipe = pipe

    def text(self) -> str:
        return "{{" + self.pipe.text() + "}}"


class Branch(Node):
    """if, with or range."""

    __slots__ = ("body", "otherwise", "pipe", "word")

    def __init__(self, position: int, word: str, pipe: Pipe, body: ListNode, otherwise: ListNode | None) -> None:
        self.position = position
        self.word = word
        self.pipe = pipe
        self.body = body
        self.otherwise = otherwise

    def text(self) -> str:
        otherwise = "" if self.otherwise is None else "{{else}}" + self.otherwise.text()
        return "{{" + f"{self.word} {self.pipe.text()}" + "}}" + self.body.text() + otherwise + "{{end}}"


class Call(Node):
    """{{template "name" pipeline}}."""

    __slots__ = ("name", "pipe")

    def __init__(self, position: int, name: str, pipe: Pipe | None) -> None:
        self.position = position
        self.name = name
        self.pipe = pipe

    def text(self) -> str:
        argument = "" if self.pipe is None else " " + self.pipe.text()
        return "{{template " + quote(self.name) + argument + "}}"


class Jump(Node):
    """break or continue."""

    __slots__ = ("word",)

    def __init__(self, position: int, word: str) -> None:
        self.position = position
        self.word = word

    def text(self) -> str:
        return "{{" + self.word + "}}"


class End(Node):
    """{{end}} or {{else}}; never part of a tree."""

    __slots__ = ("word",)

    def __init__(self, position: int, word: str) -> None:
        self.position = position
        self.word = word

    def text(self) -> str:
        return "{{" + self.word + "}}"


def is_empty(node: Node) -> bool:
    """Return whether a tree has only white space: such a definition does not replace another."""
    if isinstance(node, ListNode):
        return all(map(is_empty, node.nodes))
    return isinstance(node, Text) and not node.value.strip(_GO_SPACE)


_GO_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
