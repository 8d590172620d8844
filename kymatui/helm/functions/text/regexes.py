"""Regular expressions of Go's regexp package on RE2, which cannot backtrack.

On machines without a google-re2 wheel, `patterns` translates patterns to an equivalent for Python's `re`, or refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar

from kymatui.helm.functions.declaring import declare, hold_list, hold_text, table
from kymatui.helm.functions.strings import STRINGS, string_list
from kymatui.helm.functions.text.patterns import RegexpError, check_pattern, compile_translated
from kymatui.helm.govalues.budget import LimitError, charge, check_budget, within_deadline
from kymatui.helm.govalues.quoting import can_backquote, quote
from kymatui.helm.govalues.text import STEP, from_bytes, to_bytes
from kymatui.helm.govalues.types import Function, FunctionError, Panic, TypedList
from kymatui.patterns import deferred

try:
    import re2
except ImportError:  # no wheel for this platform
    re2 = None

_LONGEST_PATTERN: Final = 20_000
LARGE_SEARCH: Final = 20_000_000
"""Instructions times characters that may take a tenth of a second, where RE2 cannot build its automaton."""
LARGEST_SEARCH: Final = 1_000_000_000
"""Instructions times characters that may take 7 seconds."""
MATCH: Final = 150
"""Bytes that a match takes."""
Result = TypeVar("Result")
_META: Final = deferred(r"([\\.+*?()|\[\]{}^$])")
_REFERENCE: Final = deferred(r"\$(?:\$|\{(\w+)\}|(\w+))")


class Match(Protocol):
    def span(self, group: int = 0, /) -> tuple[int, int]: ...


class Compiled(Protocol):
    """The common interface of RE2 and `re` on bytes."""

    @property
    def groupindex(self) -> Mapping[Any, int]: ...

    @property
    def groups(self) -> int: ...

    def search(self, text: bytes, pos: int = 0) -> Match | None: ...


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Compiled:
    """Return regexp.Compile. Raise FunctionError with Go's message."""
    try:
        if len(pattern) > _LONGEST_PATTERN:
            raise RegexpError("expression too large", pattern[:40] + "…")
        check_pattern(pattern)
        return _compiled_by_re2(pattern) if re2 else compile_translated(pattern)
    except RegexpError as error:
        raise FunctionError(str(error)) from error


def _compiled_by_re2(pattern: str) -> Compiled:
    options = re2.Options()
    options.log_errors = False
    try:
        regex: Compiled = re2.compile(to_bytes(pattern), options)
    except re2.error as error:
        raise RegexpError.of_re2(from_bytes(error.args[0]), pattern) from error
    return regex


def _must_compile(pattern: str) -> Compiled:
    try:
        return compiled(pattern)
    except FunctionError as error:
        quoted = f"`{pattern}`" if can_backquote(pattern) else quote(pattern)
        raise Panic(f"regexp: Compile({quoted}): {error}") from error


def _rune_width(text: bytes, position: int) -> int:
    """Return the number of bytes of the character here, 0 at the end."""
    if position >= len(text):
        return 0
    first = text[position]
    width = 1 if first < 0xC2 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4 if first < 0xF5 else 1
    if width > 1:
        try:
            text[position : position + width].decode()
        except UnicodeDecodeError:
            return 1
    return width


def _search(pattern: Compiled, text: bytes, position: int = 0) -> Match | None:
    r"""Return the first match from here on that does not start within a character, as `\B` does on bytes."""
    while (match := pattern.search(text, position)) is not None:
        start = match.span()[0]
        position = _end_of_character(text, start)
        if position == start:
            return match
    return None


def _end_of_character(text: bytes, position: int) -> int:
    """Return the end of the character around a position, the position itself if it is between characters."""
    start = position
    while start > max(position - 4, 0) and start < len(text) and text[start] & 0xC0 == 0x80:
        start -= 1
    return max(start + _rune_width(text, start), position) if start < position else position


def _pace(text: bytes) -> None:
    """Count a match, with the pieces that are made of it; each may look at the whole rest of the text."""
    charge(MATCH)
    if len(text) > STEP:
        check_budget()


def _all_matches(pattern: Compiled, text: bytes, limit: int) -> Iterator[tuple[int, int]]:
    """Yield Go's FindAllIndex: an empty match directly after a match is skipped; negative limit means all."""
    position, count, previous_end = 0, 0, -1
    while (limit < 0 or count < limit) and position <= len(text):
        _pace(text)
        match = _search(pattern, text, position)
        if match is None:
            return
        start, end = match.span()
        if end == position:
            accepted = start != previous_end
            position += _rune_width(text, position) or 1
        else:
            accepted = True
            position = end
        previous_end = end
        if accepted:
            count += 1
            yield start, end


def _replaced(pattern: Compiled, text: bytes, replacement: Callable[[Match], bytes]) -> str:
    """Return Go's ReplaceAll."""
    pieces: list[bytes] = []
    length = last_end = position = 0
    while position <= len(text):
        _pace(text)
        match = _search(pattern, text, position)
        if match is None:
            break
        start, end = match.span()
        pieces.append(text[last_end:start])
        if end > last_end or start == 0:  # skip an empty match directly after a match
            pieces.append(replacement(match))
            length += len(pieces[-1])
            hold_text(length, "regexReplaceAll: the text")
        last_end = end
        position = max(end, position + (_rune_width(text, position) or 1))
    pieces.append(text[last_end:])
    return from_bytes(b"".join(pieces))


def _expander(pattern: Compiled, template: str, text: bytes) -> Callable[[Match], bytes]:
    """Return an expander of $1, ${1}, $name, ${name} and $$; any other dollar is literal."""
    parts: list[bytes | int] = []
    position = 0
    for match in _REFERENCE.finditer(template):
        parts.append(to_bytes(template[position : match.start()]))
        name = match.group(1) or match.group(2)
        parts.append(_group_number(pattern, name) if name else b"$")
        position = match.end()
    parts.append(to_bytes(template[position:]))

    def expand(match: Match) -> bytes:
        return b"".join(part if isinstance(part, bytes) else _group_text(match, part, text) for part in parts)

    return expand


def _group_number(pattern: Compiled, name: str) -> int:
    """Return the number of a group, -1 if the expression lacks it."""
    if name.isascii() and name.isdigit() and (name == "0" or name[0] != "0"):
        number = int(name[:9])
        return number if number <= pattern.groups else -1
    for known, number in pattern.groupindex.items():
        if (known if isinstance(known, str) else known.decode()) == name:
            return number
    return -1


def _group_text(match: Match, group: int, text: bytes) -> bytes:
    start, end = match.span(group) if group >= 0 else (-1, -1)
    return text[start:end] if start >= 0 else b""


def _bounded(call: Callable[..., Result], pattern: Compiled, text: str, *arguments: Any) -> Result:
    """Return the call's result. Raise LimitError at the rendering's deadline, and for work without end."""
    cost = search_cost(pattern, len(text))
    if cost > LARGEST_SEARCH:
        raise LimitError(f"a regular expression takes too long for a text of {len(text)} characters")
    if cost > LARGE_SEARCH:
        return within_deadline(call, pattern, text, *arguments)
    return call(pattern, text, *arguments)


def search_cost(pattern: Any, length: int) -> int:
    """Return how many steps a search takes at most in a text of this length."""
    if isinstance(pattern, re.Pattern):  # each repetition may begin and end anywhere
        return int(length ** (1 + sum(map(pattern.pattern.count, (b"*", b"+", b",}")))))
    # Where RE2 cannot build its automaton, each instruction looks at each character.
    return int(length * pattern._regexp.ProgramSize())


def _find(pattern: Compiled, text: str) -> str:
    data = to_bytes(text)
    match = _search(pattern, data)
    if match is None:
        return ""
    start, end = match.span()
    return from_bytes(data[start:end])


def find_all(pattern: Compiled, text: str, limit: int) -> TypedList:
    """Return the first matches, all for a negative limit."""
    data = to_bytes(text)
    matches = []
    for start, end in _all_matches(pattern, data, limit):
        matches.append(from_bytes(data[start:end]))
        hold_list(len(matches), "regexFindAll: the list")
    return string_list(matches) if matches else TypedList(STRINGS, is_nil=True)


def _replace_all(pattern: Compiled, text: str, replacement: str) -> str:
    data = to_bytes(text)
    return _replaced(pattern, data, _expander(pattern, replacement, data))


def _replace_all_literal(pattern: Compiled, text: str, replacement: str) -> str:
    data = to_bytes(replacement)
    return _replaced(pattern, to_bytes(text), lambda match: data)


def _split(pattern: Compiled, text: str, limit: int, empty_pattern: bool) -> TypedList:
    """Return Go's Split: at most `limit` pieces, all if it is negative, none if it is 0."""
    if limit == 0:
        return TypedList(STRINGS, is_nil=True)
    if not text and not empty_pattern:
        return string_list([""])
    data = to_bytes(text)
    pieces: list[bytes] = []
    begin = end = 0
    for start, behind in _all_matches(pattern, data, limit):
        if 0 < limit == len(pieces) + 1:
            break
        end = start
        if behind != 0:
            pieces.append(data[begin:end])
            hold_list(len(pieces), "regexSplit: the list")
        begin = behind
    if end != len(data):
        pieces.append(data[begin:])
    return string_list(map(from_bytes, pieces))


Compiler = Callable[[str], Compiled]


def _match(pattern: str, text: str) -> bool:
    try:
        return _must_match(pattern, text)
    except FunctionError:
        return False


def _must_match(pattern: str, text: str) -> bool:
    return occurs(compiled(pattern), text)


def occurs(pattern: Compiled, text: str) -> bool:
    """Return whether a pattern occurs in a text. Raise LimitError."""
    return _bounded(_occurs, pattern, text)


def _occurs(pattern: Compiled, text: str) -> bool:
    return _search(pattern, to_bytes(text)) is not None


def _quote_meta(text: str) -> str:
    return _META.sub(r"\\\1", text)


def _family(prefix: str, compile_pattern: Compiler) -> Iterator[Function]:
    """Yield functions that fail on an invalid pattern: they panic, "must" ones return an error, as in Go."""
    name = "regex" if not prefix else f"{prefix}Regex"
    yield declare(f"{name}Find(string, string)", lambda pattern, text: _bounded(_find, compile_pattern(pattern), text))
    yield declare(
        f"{name}FindAll(string, string, int)",
        lambda pattern, text, limit: _bounded(find_all, compile_pattern(pattern), text, limit),
    )
    yield declare(
        f"{name}ReplaceAll(string, string, string)",
        lambda pattern, text, new: _bounded(_replace_all, compile_pattern(pattern), text, new),
    )
    yield declare(
        f"{name}ReplaceAllLiteral(string, string, string)",
        lambda pattern, text, new: _bounded(_replace_all_literal, compile_pattern(pattern), text, new),
    )
    yield declare(
        f"{name}Split(string, string, int)",
        lambda pattern, text, limit: _bounded(_split, compile_pattern(pattern), text, limit, not pattern),
    )


FUNCTIONS: Final = table(
    (
        declare("regexMatch(string, string)", _match),
        declare("mustRegexMatch(string, string)", _must_match),
        declare("regexQuoteMeta(string)", _quote_meta),
        *_family("", _must_compile),
        *_family("must", compiled),
    )
)
