"""Lexer of templates, as text/template/parse/lex.go."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

from kymatui.helm.govalues.budget import LimitError
from kymatui.helm.govalues.quoting import is_print, quote
from kymatui.helm.language.nodes import SPACES

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
