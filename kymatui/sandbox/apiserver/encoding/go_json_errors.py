"""Error messages of Go's encoding/json: its scanner, state by state."""

from __future__ import annotations

import re

_SPACE = " \t\r\n"
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_NUMBER_END = re.compile(r"[0-9]*")
_DEEPEST = 10_000
_END = "unexpected end of JSON input"


class _SyntaxError(ValueError):
    pass


def go_json_error(text: str) -> str:
    """Return Go's message for text that is not JSON, "" for JSON."""
    try:
        _Scanner(text).scan()
    except _SyntaxError as error:
        return str(error)
    return ""


def _quoted(char: str) -> str:
    if char == "'":
        return "'\\''"
    if char == '"':
        return "'\"'"
    if char in "\t\n\r\a\b\f\v\\":
        return {"\t": "'\\t'", "\n": "'\\n'", "\r": "'\\r'", "\a": "'\\a'", "\b": "'\\b'"}.get(
            char, {"\f": "'\\f'", "\v": "'\\v'", "\\": "'\\\\'"}.get(char, "")
        )
    if ord(char) < 0x20 or ord(char) == 0x7F:
        return f"'\\x{ord(char):02x}'"
    return f"'{chr(char.encode()[0])}'" if ord(char) > 0x7F else f"'{char}'"


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open: list[str] = []

    def scan(self) -> None:
        """Read the whole text. Raise `_SyntaxError`."""
        self._value()
        while self._open:
            self._space()
            char = self._peek()
            if self._open[-1] == "{":
                if char == ",":
                    self._at += 1
                    self._key()
                    self._value()
                elif char == "}":
                    self._close()
                else:
                    raise self._wrong("after object key:value pair")
            elif char == ",":
                self._at += 1
                self._value()
            elif char == "]":
                self._close()
            else:
                raise self._wrong("after array element")
        self._space()
        if self._at < len(self._text):
            raise self._wrong("after top-level value")

    def _peek(self) -> str:
        """Return the current character. Raise `_SyntaxError` at the end."""
        if self._at >= len(self._text):
            raise _SyntaxError(_END)
        return self._text[self._at]

    def _wrong(self, context: str) -> _SyntaxError:
        return _SyntaxError(f"invalid character {_quoted(self._peek())} {context}")

    def _space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _close(self) -> None:
        self._open.pop()
        self._at += 1

    def _key(self) -> None:
        self._space()
        if self._peek() != '"':
            raise self._wrong("looking for beginning of object key string")
        self._string()
        self._space()
        if self._peek() != ":":
            raise self._wrong("after object key")
        self._at += 1

    def _value(self) -> None:
        """Read a scalar, an empty collection, or all brackets in front of the first scalar."""
        while True:
            self._space()
            char = self._peek()
            if char not in "{[":
                self._scalar(char)
                return
            self._open.append(char)
            if len(self._open) > _DEEPEST:
                raise _SyntaxError("exceeded max depth")
            self._at += 1
            self._space()
            if self._peek() == ("}" if char == "{" else "]"):
                self._close()
                return
            if char == "{":
                self._key()

    def _scalar(self, char: str) -> None:
        if char == '"':
            self._string()
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        elif char == "-" or (char.isascii() and char.isdigit()):
            self._number()
        else:
            raise self._wrong("looking for beginning of value")

    def _string(self) -> None:
        self._at += 1
        while (char := self._peek()) != '"':
            if ord(char) < 0x20:
                raise self._wrong("in string literal")
            self._at += 1
            if char == "\\":
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        char = self._peek()
        if char not in 'bfnrt\\/"u':
            raise self._wrong("in string escape code")
        self._at += 1
        if char == "u":
            for _ in range(4):
                if self._peek() not in "0123456789abcdefABCDEF":
                    raise self._wrong("in \\u hexadecimal character escape")
                self._at += 1

    def _literal(self, word: str) -> None:
        for expected in word:
            if self._peek() != expected:
                raise self._wrong(f"in literal {word} (expecting '{expected}')")
            self._at += 1

    def _digits(self) -> None:
        match = _NUMBER_END.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _digit(self, context: str) -> None:
        if not "0" <= self._peek() <= "9":
            raise self._wrong(context)
        self._digits()

    def _number(self) -> None:
        if self._peek() == "-":
            self._at += 1
            if not "0" <= self._peek() <= "9":
                raise self._wrong("in numeric literal")
        if self._peek() == "0":
            self._at += 1
        else:
            self._digits()
        if self._text.startswith(".", self._at):
            self._at += 1
            self._digit("after decimal point in numeric literal")
        if self._text[self._at : self._at + 1] in ("e", "E"):
            self._at += 1
            if self._peek() in "+-":
                self._at += 1
            self._digit("in exponent of numeric literal")
