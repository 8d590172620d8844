"""Parser from tokens to trees, as text/template/parse/parse.go, with its messages."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from kymatui.helm.govalues.budget import charge
from kymatui.helm.govalues.quoting import quote, unquote
from kymatui.helm.language.faults import ParseError
from kymatui.helm.language.lexing import Token, tokenize
from kymatui.helm.language.nodes import (
    ActionNode,
    Bool,
    Branch,
    Call,
    Chain,
    CommandNode,
    Dot,
    End,
    Field,
    Identifier,
    Jump,
    ListNode,
    Nil,
    Node,
    Number,
    Pipe,
    String,
    Text,
    Variable,
    is_empty,
)
from kymatui.helm.language.numbers import NumberError, parse_number

_OPERANDS: Final = frozenset(
    {"bool", "character", "complex", ".", "field", "identifier", "number", "nil", "raw", "string", "variable", "("}
)
_CONSTANTS: Final = (Bool, Dot, Nil, Number, String)
# Go allows 10,000; each level costs several frames of Python's stack here and in the compiler.
MAX_PARENTHESES: Final = 100

TOKEN: Final = 300
"""Bytes that a token takes, with its part of the tree."""


def parse(name: str, source: str, functions: Container[str]) -> dict[str, ListNode]:
    """Return the trees of a file by name: its own, and those it defines."""
    trees: dict[str, ListNode] = {}
    _Parser(name, source, functions, trees).parse()
    return trees


class _Parser:
    def __init__(self, name: str, source: str, functions: Container[str], trees: dict[str, ListNode]) -> None:
        self.name = name
        self.source = source
        self.functions = functions
        self.trees = trees
        self.tokens = tokenize(source)
        charge(len(self.tokens) * TOKEN)
        self.last = len(self.tokens) - 1
        self.index = 0
        self.furthest = 0
        self.variables = ["$"]
        self.action_start = -1
        self.range_depth = 0
        self.stack_depth = 0

    # --- tokens

    def next(self) -> Token:
        index = self.index
        if index > self.furthest:
            self.furthest = index
        if index < self.last:
            self.index = index + 1
        return self.tokens[index]

    def peek(self) -> Token:
        if self.index > self.furthest:
            self.furthest = self.index
        return self.tokens[self.index]

    def next_non_space(self) -> Token:
        token = self.next()
        return self.next() if token.kind == "space" else token

    def peek_non_space(self) -> Token:
        token = self.peek()
        if token.kind == "space":
            self.index += 1
            token = self.peek()
        return token

    def line(self, position: int) -> int:
        return self.source.count("\n", 0, position) + 1

    def fail(self, text: str) -> ParseError:
        """Return a parse error with the line of the last token, as in Go."""
        return ParseError(f"template: {self.name}:{self.line(self.tokens[self.furthest].position)}: {text}")

    def unexpected(self, token: Token, context: str) -> ParseError:
        if token.kind != "error":
            return self.fail(f"unexpected {token.shown()} in {context}")
        extra = ""
        started = self.line(self.action_start)
        if self.action_start >= 0 and started != self.line(token.position):
            extra = f" in action started at {self.name}:{started}"
            if token.value.endswith(" action"):
                extra = extra.removeprefix(" in action")
        return self.fail(token.value + extra)

    def expect(self, kinds: tuple[str, ...], context: str) -> Token:
        token = self.next_non_space()
        if token.kind not in kinds:
            raise self.unexpected(token, context)
        return token

    def unquoted(self, token: Token) -> str:
        try:
            return unquote(token.value)
        except ValueError as error:
            raise self.fail(str(error)) from None

    # --- the structure

    def parse(self) -> None:
        root = ListNode(self.peek().position)
        while self.peek().kind != "eof":
            if self.peek().kind == "{{":
                start = self.index
                self.next()
                if self.next_non_space().kind == "define":
                    self.definition()
                    continue
                self.index = start
            node = self.text_or_action()
            if isinstance(node, End):
                raise self.fail(f"unexpected {node.text()}")
            root.nodes.append(node)
        self.add(self.name, root)

    def add(self, name: str, root: ListNode) -> None:
        known = self.trees.get(name)
        if known is None or is_empty(known):
            self.trees[name] = root
        elif not is_empty(root):
            raise self.fail(f"template: multiple definition of template {quote(name)}")

    def definition(self) -> None:
        context = "define clause"
        name = self.unquoted(self.expect(("string", "raw"), context))
        self.expect(("}}",), context)
        self.add(name, self.nested(context))

    def nested(self, context: str) -> ListNode:
        """Parse the body of a define or block, without the outer variables and loops."""
        around = self.variables, self.range_depth, self.action_start
        self.variables, self.range_depth, self.action_start = ["$"], 0, -1
        root, end = self.item_list()
        if end.word != "end":
            raise self.fail(f"unexpected {end.text()} in {context}")
        self.variables, self.range_depth, self.action_start = around
        return root

    def item_list(self) -> tuple[ListNode, End]:
        block = ListNode(self.peek_non_space().position)
        while self.peek_non_space().kind != "eof":
            node = self.text_or_action()
            if isinstance(node, End):
                return block, node
            block.nodes.append(node)
        raise self.fail("unexpected EOF")

    def text_or_action(self) -> Node:
        token = self.next_non_space()
        if token.kind == "text":
            return Text(token.position, token.value)
        if token.kind != "{{":
            raise self.unexpected(token, "input")
        self.action_start = token.position
        node = self.action()
        self.action_start = -1
        return node

    def action(self) -> Node:
        token = self.peek_non_space()
        kind = token.kind
        if kind in ("if", "range", "with"):
            self.next()
            return self.control(kind)
        if kind in ("break", "continue"):
            self.next()
            return self.jump(token)
        if kind == "else":
            self.next()
            return self.otherwise()
        if kind == "end":
            self.next()
            return End(self.expect(("}}",), "end").position, "end")
        if kind == "template":
            self.next()
            return self.template()
        if kind == "block":
            self.next()
            return self.block()
        return ActionNode(token.position, self.pipeline("command", "}}"))

    def jump(self, token: Token) -> Node:
        following = self.next_non_space()
        if following.kind != "}}":
            raise self.unexpected(following, "{{" + token.kind + "}}")
        if self.range_depth == 0:
            raise self.fail("{{" + token.kind + "}} outside {{range}}")
        return Jump(token.position, token.kind)

    def otherwise(self) -> Node:
        token = self.peek_non_space()
        if token.kind not in ("if", "with"):
            token = self.expect(("}}",), "else")
        return End(token.position, "else")

    def control(self, word: str) -> Branch:
        visible = len(self.variables)
        pipe = self.pipeline(word, "}}")
        if word == "range":
            self.range_depth += 1
        body, end = self.item_list()
        if word == "range":
            self.range_depth -= 1
        otherwise = None
        if end.word == "else":
            otherwise = self.else_list(word, end)
        del self.variables[visible:]
        return Branch(pipe.position, word, pipe, body, otherwise)

    def else_list(self, word: str, end: End) -> ListNode:
        if word in ("if", "with") and self.peek().kind == word:
            self.next()
            return ListNode(end.position, [self.control(word)])
        block, end = self.item_list()
        if end.word != "end":
            raise self.fail(f"expected end; found {end.text()}")
        return block

    def template(self) -> Call:
        context = "template clause"
        token, name = self.template_name(context)
        pipe = None
        if self.peek_non_space().kind == "}}":
            self.next()
        else:
            pipe = self.pipeline(context, "}}")
        return Call(token.position, name, pipe)

    def block(self) -> Call:
        context = "block clause"
        token, name = self.template_name(context)
        pipe = self.pipeline(context, "}}")
        self.add(name, self.nested(context))
        return Call(token.position, name, pipe)

    def template_name(self, context: str) -> tuple[Token, str]:
        token = self.next_non_space()
        if token.kind not in ("string", "raw"):
            raise self.unexpected(token, context)
        return token, self.unquoted(token)

    # --- pipelines

    def pipeline(self, context: str, end: str) -> Pipe:
        pipe = Pipe(self.peek_non_space().position)
        self.declarations(pipe, context)
        while True:
            token = self.peek_non_space()
            if token.kind == end:
                self.next()
                self.check_pipeline(pipe, context)
                return pipe
            if token.kind not in _OPERANDS:
                self.next()
                raise self.unexpected(token, context)
            pipe.commands.append(self.command())

    def declarations(self, pipe: Pipe, context: str) -> None:
        while (token := self.peek_non_space()).kind == "variable":
            start = self.index
            self.next()
            following = self.peek_non_space()
            if following.kind not in ("=", ":=") and (following.kind, following.value) != ("char", ","):
                self.index = start
                return
            self.next()
            pipe.variables.append(Variable(token.position, [token.value]))
            self.variables.append(token.value)
            if following.kind != "char":
                pipe.assigns = following.kind == "="
                return
            if context != "range" or len(pipe.variables) >= 2:
                raise self.fail(f"too many declarations in {context}")
            if self.peek_non_space().kind not in ("variable", "}}", ")"):
                raise self.fail("range can only initialize variables")

    def check_pipeline(self, pipe: Pipe, context: str) -> None:
        if not pipe.commands:
            raise self.fail(f"missing value for {context}")
        for stage, command in enumerate(pipe.commands[1:], 2):
            if isinstance(command.args[0], _CONSTANTS):
                raise self.fail(f"non executable command in pipeline stage {stage}")

    def command(self) -> CommandNode:
        command = CommandNode(self.peek_non_space().position)
        while True:
            self.peek_non_space()
            operand = self.operand()
            if operand is not None:
                command.args.append(operand)
            token = self.peek()
            if token.kind == "space":
                self.next()
                continue
            if token.kind == "|":
                self.next()
            elif token.kind not in ("}}", ")"):
                self.next()
                raise self.unexpected(token, "operand")
            break
        if not command.args:
            raise self.fail("empty command")
        return command

    def operand(self) -> Node | None:
        node = self.term()
        if node is None or self.peek().kind != "field":
            return node
        chain = Chain(self.peek().position, node)
        while self.peek().kind == "field":
            chain.names.append(self.next().value[1:])
        if isinstance(node, Field):
            return Field(chain.position, node.names + chain.names)
        if isinstance(node, Variable):
            return Variable(chain.position, node.names + chain.names)
        if isinstance(node, _CONSTANTS):
            raise self.fail(f"unexpected . after term {quote(node.text())}")
        return chain

    def term(self) -> Node | None:
        token = self.peek_non_space()
        kind, position, value = token.kind, token.position, token.value
        if kind not in _OPERANDS:
            return None
        self.next()
        if kind == "identifier":
            if value not in self.functions:
                raise self.fail(f"function {quote(value)} not defined")
            return Identifier(position, value)
        if kind == "field":
            return Field(position, [value[1:]])
        if kind == "variable":
            return self.use_variable(position, value)
        if kind == "(":
            return self.parenthesized()
        if kind in ("string", "raw"):
            return String(position, value, self.unquoted(token))
        return self.literal(token)

    def literal(self, token: Token) -> Node:
        if token.kind == ".":
            return Dot(token.position)
        if token.kind == "nil":
            return Nil(token.position)
        if token.kind == "bool":
            return Bool(token.position, token.value == "true")
        try:
            return parse_number(token.position, token.value, token.kind)
        except NumberError as error:
            raise self.fail(str(error)) from None

    def parenthesized(self) -> Pipe:
        if self.stack_depth >= MAX_PARENTHESES:
            raise self.fail("max expression depth exceeded")
        self.stack_depth += 1
        pipe = self.pipeline("parenthesized pipeline", ")")
        self.stack_depth -= 1
        return pipe

    def use_variable(self, position: int, name: str) -> Variable:
        if name not in self.variables:
            raise self.fail(f"undefined variable {quote(name)}")
        return Variable(position, [name])
