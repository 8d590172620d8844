"""File name patterns: .helmignore (Go's filepath.Match) and .Files.Glob (gobwas/glob)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kymatui.helm.govalues.text import to_bytes
from kymatui.helm.govalues.types import FunctionError

if TYPE_CHECKING:
    from kymatui.helm.functions.text.regexes import Compiled


LONGEST_PATTERN: Final = 10_000
"""Characters of a pattern for files; longer ones are not remembered and match all, as bad ones do."""


class PatternError(ValueError):
    """A malformed pattern."""


def match_path(pattern: str, name: str) -> bool:
    r"""Match as filepath.Match: `*` and `?` within one path element, `[a-z]`, `[^a]`, `\` escapes."""
    items = _parse(pattern)
    at = position = 0
    star = mark = -1
    while position < len(name):
        item = items[at] if at < len(items) else None
        if item is not None and item[0] == "*":
            star, mark, at = at, position, at + 1
        elif item is not None and _fits(item, name[position]):
            at, position = at + 1, position + 1
        elif star >= 0 and name[mark] != "/":
            mark += 1
            at, position = star + 1, mark
        else:
            return False
    return all(item[0] == "*" for item in items[at:])


Item = tuple[str, tuple[tuple[str, str], ...]]


def _fits(item: Item, char: str) -> bool:
    kind, ranges = item
    if kind == "?":
        return char != "/"
    in_range = any(low <= char <= high for low, high in ranges)
    return in_range if kind == "[" else not in_range


@lru_cache(maxsize=512)
def _parse(pattern: str) -> list[Item]:
    items: list[Item] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            items.append(("*", ()))
            at += 1
        elif char == "?":
            items.append(("?", ()))
            at += 1
        elif char == "[":
            item, at = _parse_class(pattern, at + 1)
            items.append(item)
        else:
            literal, at = _escaped(pattern, at)
            items.append(("[", ((literal, literal),)))
    return items


def _escaped(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at] != "\\":
        return pattern[at], at + 1
    if at + 1 == len(pattern):
        raise PatternError("syntax error in pattern")
    return pattern[at + 1], at + 2


def _parse_class(pattern: str, at: int) -> tuple[Item, int]:
    kind = "["
    if pattern[at : at + 1] == "^":
        kind, at = "^", at + 1
    ranges: list[tuple[str, str]] = []
    while not (ranges and pattern[at : at + 1] == "]"):
        low, at = _class_char(pattern, at)
        high = low
        if pattern[at : at + 1] == "-":
            high, at = _class_char(pattern, at + 1)
        ranges.append((low, high))
    return (kind, tuple(ranges)), at + 1


def _class_char(pattern: str, at: int) -> tuple[str, int]:
    if at >= len(pattern) or pattern[at] in "-]":
        raise PatternError("syntax error in pattern")
    char, at = _escaped(pattern, at)
    if at >= len(pattern):
        raise PatternError("syntax error in pattern")
    return char, at


class FileGlob:
    """gobwas/glob with "/" as separator: `*`, `**`, `?`, `[abc]`, `[!a-z]`, `{a,b}`.

    A bad pattern matches all.
    """

    def __init__(self, pattern: str) -> None:
        from kymatui.helm.functions.text.regexes import compiled  # few charts use patterns

        self._compiled: Compiled | None
        try:
            if len(pattern) > LONGEST_PATTERN:
                raise PatternError("the pattern is too long")
            self._compiled = compiled(f"(?s)\\A(?:{_translate(pattern)})\\z")
        except (PatternError, FunctionError):
            self._compiled = None

    def matches(self, name: str) -> bool:
        return self._compiled is None or self._compiled.search(to_bytes(name)) is not None


@lru_cache(maxsize=512)
def file_glob(pattern: str) -> FileGlob:
    return FileGlob(pattern)


_SPECIAL: Final = frozenset("\\.+*?()|[]{}^$")


def _quoted(text: str) -> str:
    return "".join("\\" + char if char in _SPECIAL else char for char in text)


def _translate(pattern: str) -> str:
    pieces: list[str] = []
    depth = at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "{":
            depth += 1
            pieces.append("(?:")
        elif char == "," and depth:
            pieces.append("|")
        elif char == "}" and depth:
            depth -= 1
            pieces.append(")")
        elif char == "[":
            piece, at = _translate_range(pattern, at)
            pieces.append(piece)
        elif char == "?":
            pieces.append("[^/]")
        elif char == "*" and pattern[at : at + 1] == "*":
            at += 1
            pieces.append(".*")
        elif char == "*":
            pieces.append("[^/]*")
        elif char == "\\":
            pieces.append(_quoted(pattern[at : at + 1]))
            at += 1
        else:
            pieces.append(_quoted(char))
    return "".join(pieces) + ")" * depth


def _translate_range(pattern: str, at: int) -> tuple[str, int]:
    negated = pattern[at : at + 1] == "!"
    at += negated
    if pattern[at + 1 : at + 2] == "-":
        low, high = pattern[at], pattern[at + 2 : at + 3]
        if pattern[at + 3 : at + 4] != "]" or high < low:
            raise PatternError("could not parse range")
        return f"[{'^' if negated else ''}{_in_class(low)}-{_in_class(high)}]", at + 4
    chars: list[str] = []
    while at < len(pattern) and pattern[at] != "]":
        at += pattern[at] == "\\"
        chars.append(pattern[at : at + 1])
        at += 1
    if at >= len(pattern) or not chars:
        raise PatternError("unexpected end of input")
    return f"[{'^' if negated else ''}{''.join(_in_class(char) for char in chars)}]", at + 1


def _in_class(char: str) -> str:
    return "\\" + char if char in "\\]^-[" else char
