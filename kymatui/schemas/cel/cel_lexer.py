"""Lexer of CEL."""

from __future__ import annotations

import re
from typing import NamedTuple


class CelSyntaxError(ValueError):
    """An expression that is not CEL or outside the supported subset; `at` is the position from 0."""

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.at = at


class CelToken(NamedTuple):
    """One token; `kind` is "int", "uint", "float", "string", "bytes", "name", "op" or "end"."""

    kind: str
    text: str
    at: int


_TOKENS = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<string>[rR]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<int>0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<op>&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens(text: str) -> list[CelToken]:
    """Return all tokens and an end token. Raise `CelSyntaxError`."""
    lexemes: list[CelToken] = []
    at = 0
    while at < len(text):
        match = _TOKENS.match(text, at)
        if match is None:
            raise CelSyntaxError(f"Syntax error: token recognition error at: '{text[at]}'", at)
        if match.lastgroup != "space":
            lexemes.append(CelToken(match.lastgroup or "", match[0], at))
        at = match.end()
    lexemes.append(CelToken("end", "", len(text)))
    return lexemes


_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def string_value(token: CelToken) -> str:
    """Return the value of a string literal. Raise `CelSyntaxError` for an escape of no character."""
    text = token.text
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    quotes = 3 if body[:3] in ('"""', "'''") else 1
    body = body[quotes:-quotes]
    if raw:
        return body

    def replace(match: re.Match[str]) -> str:
        for index in (1, 2, 3):
            if match[index]:
                return chr(int(match[index], 16))
        if match[4]:
            return chr(int(match[4], 8))
        return _PLAIN.get(match[5], match[5])

    try:
        return _ESCAPE.sub(replace, body)
    except (ValueError, OverflowError):
        raise CelSyntaxError("illegal character in the escapes of a string", token.at) from None
