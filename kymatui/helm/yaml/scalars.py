"""go-yaml's output of strings: style, escapes, line breaks.

The rules are those of libyaml's emitter in go-yaml v2 and v3 (`emitterc.go`, `encode.go`).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from kymatui.helm.govalues.budget import paced, watched
from kymatui.helm.govalues.text import substituted
from kymatui.helm.yaml.resolving import HINTS, OLD_BOOLEANS, STR, is_sexagesimal, resolve_plain
from kymatui.patterns import deferred

# Positive character classes: the equivalent negated ones take ten times as long to compile.
_SPECIAL: Final = deferred("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe-\U0010ffff]")
_BREAK: Final = deferred("[\n\u2028\u2029]")
_SPACE_BREAK: Final = deferred(" [\n\u2028\u2029]")
_BREAK_SPACE: Final = deferred("[\n\u2028\u2029] ")
_INDICATED: Final = deferred(
    r"[#,\[\]{}&*!|>'\"%@`]|[?:-](?:[ \t]|\Z)|---|\.\.\."  # at the start
    r"|.*?(?::(?:[ \t]|\Z)|[ \t\r\n\u0085\u2028\u2029]\#)",  # further on
    re.DOTALL,
)
_EASY: Final = deferred(r"[A-Za-z/_][A-Za-z0-9/_.=+-]*\Z", re.ASCII)
_SINGLE_SPACE: Final = deferred("(?<! ) (?! )")
_SPACES: Final = deferred("( +)")
_LINE: Final = deferred("([^\n\u2028\u2029]*)([\n\u2028\u2029]|\\Z)")
_ESCAPED: Final = deferred('[\x00-\x1f"\\\\\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe-\U0010ffff]')
_ANY: Final = deferred(".", re.DOTALL)
_SHORT_ESCAPES: Final = {
    "\0": "\\0",
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    "\x1b": "\\e",
    '"': '\\"',
    "\\": "\\\\",
    "\x85": "\\N",
    "\xa0": "\\_",
    "\u2028": "\\L",
    "\u2029": "\\P",
}


class ScalarStyle(enum.Enum):
    PLAIN = "plain"
    SINGLE = "'"
    DOUBLE = '"'
    LITERAL = "|"


class Timestamp(str):
    """A time, which go-yaml v3 writes without quotes."""

    __slots__ = ()


class Dialect(NamedTuple):
    """Differences of go-yaml v2 and v3: `plain` tests for unquoted text, `tabs` allows tabs."""

    plain: Callable[[str], bool]
    tabs: bool


def _plain_v2(text: str) -> bool:
    if text and text[0] not in HINTS:
        return True
    return resolve_plain(text)[0] == STR and not is_sexagesimal(text)


def _plain_v3(text: str) -> bool:
    return text not in OLD_BOOLEANS and _plain_v2(text)


V2: Final = Dialect(_plain_v2, tabs=False)
V3: Final = Dialect(_plain_v3, tabs=True)


def scalar_style(text: str, dialect: Dialect) -> ScalarStyle:
    """Return the style of a value or key in block context."""
    return _remembered_style(text, dialect) if len(text) <= 128 else _style(text, dialect)


@lru_cache(maxsize=8192)
def _remembered_style(text: str, dialect: Dialect) -> ScalarStyle:
    return _style(text, dialect)


def _style(text: str, dialect: Dialect) -> ScalarStyle:
    if _EASY.match(text) and dialect.plain(text):
        return ScalarStyle.PLAIN
    tabs = "\t" in text
    special = _SPECIAL.search(text) is not None or (tabs and not dialect.tabs)
    space_break = _SPACE_BREAK.search(text) is not None
    if "\n" in text:
        fits = not (special or space_break or text.endswith(" "))
        return ScalarStyle.LITERAL if fits else ScalarStyle.DOUBLE
    if not dialect.plain(text) or special or tabs or space_break or _BREAK_SPACE.search(text):
        return ScalarStyle.DOUBLE
    if text[0] == " " or text[-1] == " " or _BREAK.search(text) or _INDICATED.match(text):
        return ScalarStyle.SINGLE
    return ScalarStyle.PLAIN


def is_multiline(text: str) -> bool:
    """Return whether a key does not fit on one line before its colon."""
    return _MULTILINE.search(text) is not None


_MULTILINE: Final = deferred("[\r\n\x85\u2028\u2029]")


def write_scalar(text: str, dialect: Dialect, indent: int, column: int, width: int) -> str:
    """Return a string that starts at a column; lines are indented and break at spaces beyond the width."""
    style = scalar_style(text, dialect)
    if style is ScalarStyle.PLAIN:
        return _fold(text, indent, column, width) if column + len(text) > width else text
    if style is ScalarStyle.LITERAL:
        return _literal(text, indent)
    if style is ScalarStyle.SINGLE:
        return _single_quoted(text, indent, column + 1, width)
    return _double_quoted(text, indent, column + 1, width)


def _fold(text: str, indent: int, column: int, width: int) -> str:
    if " " not in text:
        return text
    pieces: list[str] = []
    done = 0
    for space in paced(_SINGLE_SPACE.finditer(text)):
        at = space.start()
        column += at - done
        pieces.append(text[done:at])
        if column > width and 0 < at < len(text) - 1:
            pieces.append("\n" + " " * indent)
            column = indent
        else:
            pieces.append(" ")
            column += 1
        done = at + 1
    pieces.append(text[done:])
    return "".join(pieces)


def _single_quoted(text: str, indent: int, column: int, width: int) -> str:
    quoted = text.replace("'", "''")
    if _BREAK.search(text):
        return f"'{_broken(quoted, indent, column, width)}'"
    if column + len(quoted) > width:
        # The position of a space counts without the doubled quotes: only the ends matter.
        quoted = _fold(quoted, indent, column, width)
    return f"'{quoted}'"


def _broken(text: str, indent: int, column: int, width: int) -> str:
    """Write line separators within single quotes unchanged, followed by the indentation."""
    pieces: list[str] = []
    after_break = False
    for match in paced(_LINE.finditer(text)):
        line, end = match[1], match[2]
        if line:
            if after_break:
                pieces.append(" " * indent)
                column = indent
            pieces.append(_fold(line, indent, column, width))
        pieces.append(end)
        after_break = after_break or bool(end)
    return "".join(pieces)


def _literal(text: str, indent: int) -> str:
    hint = "2" if text[0] in " \n\u2028\u2029" else ""
    chomp = ""
    if text[-1] not in "\n\u2028\u2029":
        chomp = "-"
    elif len(text) == 1 or text[-2] in "\n\u2028\u2029":
        chomp = "+"
    pad = " " * indent
    pieces = [f"|{hint}{chomp}\n"]
    if "\u2028" not in text and "\u2029" not in text:
        body = "\n".join([pad + line if line else "" for line in watched(text.split("\n"))])
        return pieces[0] + body
    for match in paced(_LINE.finditer(text)):
        pieces.append((pad + match[1] if match[1] else "") + match[2])
    return "".join(pieces)


def _double_quoted(text: str, indent: int, column: int, width: int) -> str:
    if text.startswith("\ufeff"):  # go-yaml takes every character of such a text for a byte order mark
        return f'"{substituted(_ANY, _escape, text)}"'
    if " " not in text:
        return f'"{substituted(_ESCAPED, _escape, text)}"'
    pieces: list[str] = []
    at = 0
    for part in watched(_SPACES.split(text)):
        if not part:
            continue
        if part[0] != " ":
            piece = substituted(_ESCAPED, _escape, part)
            column += len(piece)
        elif column > width and 0 < at < len(text) - 1:
            rest = " " * (len(part) - 1)
            piece = "\n" + " " * indent + ("\\" + rest if rest else "")
            column = indent + (len(part) if rest else 0)
        else:
            piece = part
            column += len(part)
        pieces.append(piece)
        at += len(part)
    return '"' + "".join(pieces) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    short = _SHORT_ESCAPES.get(char)
    if short:
        return short
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
