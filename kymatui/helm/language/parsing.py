"""Parser from tokens to trees, as text/template/parse/parse.go, with its messages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Final, NamedTuple

from kymatui.errors import nearest_names
from kymatui.helm.govalues.budget import LimitError, charge
from kymatui.helm.govalues.quoting import is_print, quote, unquote
from kymatui.helm.language.faults import ParseError
from kymatui.helm.language.nodes import (
    SPACES,
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


def parse(name: str, source: str, functions: Collection[str]) -> dict[str, ListNode]:
    """Return the trees of a file by name: its own, and those it defines."""
    trees: dict[str, ListNode] = {}
    _Parser(name, source, functions, trees).parse()
    return trees


class _Parser:
    def __init__(self, name: str, source: str, functions: Collection[str], trees: dict[str, ListNode]) -> None:
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
        self.open_blocks: list[tuple[str, int]] = []
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

    def fail(self, text: str, hint: str = "") -> ParseError:
        """Return a parse error with the line of the last token, as in Go."""
        return ParseError(f"template: {self.name}:{self.line(self.tokens[self.furthest].position)}: {text}", hint)

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
        self.open_blocks.append(("define", self.peek().position))
        name = self.unquoted(self.expect(("string", "raw"), context))
        self.expect(("}}",), context)
        self.add(name, self.nested(context))
        self.open_blocks.pop()

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
        word, position = self.open_blocks[-1] if self.open_blocks else ("", 0)
        raise self.fail("unexpected EOF", f"The {word} in line {self.line(position)} has no end." if word else "")

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
            self.open_blocks.append((kind, token.position))
            node = self.control(kind)
            self.open_blocks.pop()
            return node
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
                near = nearest_names(value, self.functions, 1)
                hint = f"Did you mean {near[0]}?" if near else "Does an action before it lack its }}?"
                raise self.fail(f"function {quote(value)} not defined", hint)
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


# Lexer of templates, as text/template/parse/lex.go.


KEYWORDS: Final = frozenset(
    {"block", "break", "continue", "define", "else", "end", "if", "range", "nil", "template", "with"}
)


MOST_TOKENS: Final = 50_000
"""Tokens of one file, or one text for `tpl`: the largest file of 104 public charts has 6,658."""


class Token(NamedTuple):
    """One token; `kind` is one of the following words, or a keyword itself.

    error bool char character complex = := eof field identifier {{ ( number | raw }} ) space string text variable .
    """

    kind: str
    position: int
    value: str

    def shown(self) -> str:
        """Return the token as errors quote it."""
        if self.kind == "eof":
            return "EOF"
        if self.kind == "error":
            return self.value
        if self.kind in KEYWORDS or self.kind == ".":
            return f"<{self.value}>"
        return quote(self.value[:10]) + "..." if len(self.value.encode("utf-8", "replace")) > 10 else quote(self.value)


_WORD: Final = re.compile(r"\w*")
_SPACE: Final = re.compile(r"[ \t\r\n]+")
_NUMBER: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?"
    r"|0[oO][0-7_]*(?:\.[0-7_]*)?|0[bB][01_]*(?:\.[01_]*)?"
    r"|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?"
)
_CHARACTER: Final = re.compile(r"'(?:[^'\\\n]|\\[^\n])*'")
_TERMINATORS: Final = frozenset(" \t\r\n.,|:)(")

_END: Final = r"(?=[ \t\r\n.,|:)(]|\}\}|\Z)"
_COMMON: Final = re.compile(
    r"([ \t\r\n]+(?!-\}\}))"
    rf"|(\.[A-Za-z_][A-Za-z0-9_]*{_END})"
    rf"|([A-Za-z_][A-Za-z0-9_]*{_END})"
    rf"|(\$[A-Za-z0-9_]*{_END})"
    r'|("[^"\\\n]*(?:\\[^\n][^"\\\n]*)*")'
    r"|(\|)|(\()|(\))|(:=)|(=)"
    rf"|(\.{_END})"
    r"|([0-9]+(?=[ \t\r\n|)]|\}\}))"
    r"|(`[^`]*`)"
)
"""The tokens that make up nearly all of templates; what it does not know is looked at character by character."""
_COMMON_KINDS: Final = (
    "",
    *("space", "field", "identifier", "variable", "string", "|", "(", ")", ":=", "=", ".", "number", "raw"),
)
_IDENTIFIER: Final = _COMMON_KINDS.index("identifier")
_OPEN: Final = _COMMON_KINDS.index("(")
_CLOSE: Final = _COMMON_KINDS.index(")")
_WORDS: Final = {**{word: word for word in KEYWORDS}, "true": "bool", "false": "bool"}


def tokenize(source: str) -> list[Token]:
    """Return all tokens; the last is "eof" or "error" (its value is the message)."""
    return _Lexer(source).run()


def show_rune(char: str) -> str:
    """Return %#U: U+0041 'A'."""
    code = 0xFFFD if "\udc80" <= char <= "\udcff" else ord(char)
    return f"U+{code:04X}" + (f" '{chr(code)}'" if is_print(chr(code)) else "")


def _is_alphanumeric(char: str) -> bool:
    return char == "_" or unicodedata.category(char) in {"Lu", "Ll", "Lt", "Lm", "Lo", "Nd"}


class _LexError(Exception):
    """The start of the invalid token, and the message."""

    def __init__(self, position: int, text: str) -> None:
        super().__init__(text)
        self.position = position


def _too_many_tokens() -> LimitError:
    return LimitError(f"a template has more than {MOST_TOKENS} words and symbols in its actions")


class _Lexer:
    def __init__(self, source: str) -> None:
        self.source = source
        self.position = 0
        self.depth = 0
        self.tokens: list[Token] = []

    def run(self) -> list[Token]:
        try:
            while self._text():
                self._action()
                if len(self.tokens) > MOST_TOKENS:
                    raise _too_many_tokens()
        except _LexError as error:
            self.tokens.append(Token("error", error.position, str(error)))
            return self.tokens
        self._emit("eof", len(self.source), len(self.source))
        return self.tokens

    def _emit(self, kind: str, start: int, end: int) -> None:
        self.tokens.append(Token(kind, start, self.source[start:end]))
        self.position = end

    def _text(self) -> bool:
        """Read text up to the next action, skipping comments; return False at the end."""
        source = self.source
        while True:
            start = self.position
            position = source.find("{{", start)
            if position < 0:
                if start < len(source):
                    self._emit("text", start, len(source))
                return False
            trims = source[position + 2 : position + 3] == "-" and source[position + 3 : position + 4] in tuple(SPACES)
            end = len(source[start:position].rstrip(SPACES)) + start if trims else position
            if end > start:
                self._emit("text", start, end)
            inner = position + (4 if trims else 2)
            if source.startswith("/*", inner):
                self._comment(inner)
                continue
            self._emit("{{", position, position + 2)
            self.position = inner
            self.depth = 0
            return True

    def _comment(self, start: int) -> None:
        end = self.source.find("*/", start + 2)
        if end < 0:
            raise _LexError(start, "unclosed comment")
        self.position = end + 2
        if not self._right_delimiter():
            raise _LexError(start, "comment ends before closing delimiter")
        self._close()

    def _right_delimiter(self) -> bool:
        source, position = self.source, self.position
        if source.startswith("}}", position):
            return True
        return source.startswith("-}}", position + 1) and source[position] in SPACES

    def _close(self) -> int:
        """Skip the right delimiter and trimmed space; return the start of the delimiter."""
        trims = not self.source.startswith("}}", self.position)
        start = self.position + (2 if trims else 0)
        self.position = start + 2
        if trims and (space := _SPACE.match(self.source, self.position)):
            self.position = space.end()
        return start

    def _action(self) -> None:
        """Read the tokens up to and including the right delimiter."""
        while True:
            self._common()
            if self._right_delimiter():
                break
            self._inside()
        if self.depth:
            raise _LexError(self.position, "unclosed left paren")
        start = self._close()
        position = self.position
        self._emit("}}", start, start + 2)
        self.position = position

    def _common(self) -> None:
        """Read a run of common tokens."""
        source, append, match = self.source, self.tokens.append, _COMMON.match
        position = self.position
        for _ in range(MOST_TOKENS):
            if (token := match(source, position)) is None:
                break
            group, value = token.lastindex or 0, token[0]
            kind = _COMMON_KINDS[group]
            if group == _IDENTIFIER:
                kind = _WORDS.get(value, kind)
            elif group == _OPEN:
                self.depth += 1
            elif group == _CLOSE:
                self.depth -= 1
                if self.depth < 0:
                    raise _LexError(position, "unexpected right paren")
            append(Token(kind, position, value))
            position = token.end()
        else:
            raise _too_many_tokens()
        self.position = position

    def _inside(self) -> None:
        source, start = self.source, self.position
        if start >= len(source):
            raise _LexError(start, "unclosed action")
        char = source[start]
        if char == "." and not "0" <= source[start + 1 : start + 2] <= "9":
            self._name(start, "field", ".")
        elif char == "$":
            self._name(start, "variable", "variable")
        elif char == "_" or (char.isalnum() and not "0" <= char <= "9" and _is_alphanumeric(char)):
            self._identifier(start)
        elif char == '"':
            raise _LexError(start, "unterminated quoted string")
        elif char == "'":
            self._character(start)
        elif char == "`":
            raise _LexError(start, "unterminated raw quoted string")
        elif char in "+-.0123456789":
            self._number(start)
        else:
            self._operator(start, char)

    def _operator(self, start: int, char: str) -> None:
        if char == ":":
            raise _LexError(start, "expected :=")
        if " " <= char <= "~":
            self._emit("char", start, start + 1)
        else:
            raise _LexError(start, f"unrecognized character in action: {show_rune(char)}")

    def _word_end(self, position: int) -> int:
        match = _WORD.match(self.source, position)
        end = match.end() if match else position
        if self.source[position:end].isascii():
            return end
        while position < end and _is_alphanumeric(self.source[position]):
            position += 1
        return position

    def _at_terminator(self, position: int) -> bool:
        following = self.source[position : position + 1]
        return not following or following in _TERMINATORS or self.source.startswith("}}", position)

    def _name(self, start: int, kind: str, alone: str) -> None:
        if self._at_terminator(start + 1):
            self._emit(alone, start, start + 1)
            return
        end = self._word_end(start + 1)
        self._check_end(start, end)
        self._emit(kind, start, end)

    def _check_end(self, start: int, end: int) -> None:
        if not self._at_terminator(end):
            raise _LexError(start, f"bad character {show_rune(self.source[end])}")

    def _identifier(self, start: int) -> None:
        end = self._word_end(start)
        self._check_end(start, end)
        word = self.source[start:end]
        self._emit(_WORDS.get(word, "identifier"), start, end)

    def _character(self, start: int) -> None:
        match = _CHARACTER.match(self.source, start)
        if not match:
            raise _LexError(start, "unterminated character constant")
        self._emit("character", start, match.end())

    def _number(self, start: int) -> None:
        end = self._scan_number(start, start)
        if self.source[end : end + 1] not in ("+", "-"):
            self._emit("number", start, end)
            return
        end = self._scan_number(start, end)
        if self.source[end - 1] != "i":
            raise _LexError(start, f"bad number syntax: {quote(self.source[start:end])}")
        self._emit("complex", start, end)

    def _scan_number(self, start: int, position: int) -> int:
        match = _NUMBER.match(self.source, position)
        end = match.end() if match else position
        following = self.source[end : end + 1]
        if following and _is_alphanumeric(following):
            raise _LexError(start, f"bad number syntax: {quote(self.source[start : end + 1])}")
        return end
