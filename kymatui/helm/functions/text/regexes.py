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


# Checks of Go regular expressions, and their translation to Python's `re` for machines without RE2.
#
# A translation has the same meaning or is refused. Refused is what `re` cannot express (Unicode classes, \C, the
# ungreedy flag) and what could backtrack without limit (a repetition within a repetition).


_GO_TEXTS: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "unexpected )": "unexpected )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "invalid escape sequence": "invalid escape sequence",
    "invalid character class": "invalid character class",
    "invalid character class range": "invalid character class range",
    "invalid UTF-8": "invalid UTF-8",
}


class RegexpError(ValueError):
    """A pattern that Go refuses; the message is Go's: reason and part of the pattern."""

    def __init__(self, reason: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {reason}: `{part}`")

    @classmethod
    def of_re2(cls, text: str, pattern: str) -> RegexpError:
        """Return Go's error for an RE2 error."""
        for known in sorted(_GO_TEXTS, key=len, reverse=True):
            if text.startswith(known):
                return cls(_GO_TEXTS[known], text.removeprefix(known).removeprefix(": "))
        return cls("expression too large", pattern[:80])


# Quoted text and classes are skipped; named groups and counts are checked.
_TOKEN: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\C|\\[xpP]\{[^}]*\}|\\.|(?P<behind>\(\?<[=!])|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|(?P<name>\(\?P?<[^>=!]*>)|(?P<count>\{(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*)?)?\})",
    re.DOTALL,
)
_LONGEST_COUNT: Final = 10
_BROKEN: Final = re.compile("[\ud800-\udfff]")
_NAME: Final = re.compile(r"\(\?P?<[A-Za-z0-9_]+>")


def check_pattern(pattern: str) -> None:
    r"""Raise RegexpError for what RE2 accepts and Go refuses.

    That is a single byte (\C), group names outside ASCII, and huge counts.
    """
    if broken := _BROKEN.search(pattern):
        raise RegexpError("invalid UTF-8", pattern[broken.start() :])
    for token in _TOKEN.finditer(pattern):
        if token.group() == "\\C":
            raise RegexpError("invalid escape sequence", "\\C")
        if token["behind"]:
            end = pattern.find(">", token.start())
            raise RegexpError("invalid named capture", pattern[token.start() : end + 1 if end >= 0 else None])
        if token["name"] and not _NAME.fullmatch(token["name"]):
            raise RegexpError("invalid named capture", token["name"])
        if token["count"] and len(token["count"]) > _LONGEST_COUNT:  # too long for RE2 to be a number
            raise RegexpError("invalid repeat count", token["count"])


_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_SPACE: Final = r"\t\n\f\r "
_REPEAT: Final = re.compile(r"[*+?]|\{(\d+)(?:,(\d*))?\}")
_PLAIN_ESCAPES: Final = frozenset("aftnrv")
_GROUP: Final = re.compile(r"\((?:\?(?:P?<([A-Za-z0-9_]+)>|([imsU]*)(-[imsU]+)?([:)])|))?")


def compile_translated(pattern: str) -> re.Pattern[bytes]:
    """Return the pattern translated to `re`, for machines without RE2."""
    for token in _TOKEN.finditer(pattern):
        if token["count"] and any(int(count[:9]) > 1000 for count in re.findall(r"\d+", token["count"])):
            raise RegexpError("invalid repeat count", token["count"])
    translated = _Translation(pattern).translated()
    try:
        return re.compile(translated.encode("utf-8", "surrogateescape"), re.ASCII)
    except re.error as error:
        raise RegexpError(error.msg, pattern) from error


class _Translation:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.pieces: list[str] = []
        self.multiline = [False]
        self.repeats: list[bool] = [False]  # per open group: whether it contains an unbounded repetition
        self.closed_repeats = False

    def translated(self) -> str:
        while self.position < len(self.pattern):
            self.step()
        if len(self.multiline) > 1:
            raise RegexpError("missing closing )", self.pattern)
        return "".join(self.pieces)

    def refuse(self, part: str) -> RegexpError:
        return RegexpError("not supported on this machine, which has no RE2", part)

    def step(self) -> None:
        character = self.pattern[self.position]
        if repeat := _REPEAT.match(self.pattern, self.position):
            self.repeat(repeat)
            return
        self.closed_repeats = False
        if character == "(":
            self.open_group()
        elif character == ")":
            self.close_group()
        elif character == "[":
            self.character_class()
        elif character == "\\":
            self.escape()
        else:
            self.position += 1
            self.pieces.append(self.one(character))

    def one(self, character: str) -> str:
        if character == "$":
            return "(?=\\n|\\Z)" if self.multiline[-1] else "\\Z"
        if character == "{":
            return "\\{"
        if character == ".":
            return _ANY_BUT_NEWLINE
        return character if character.isascii() else f"(?:{character})"

    def repeat(self, match: re.Match[str]) -> None:
        if not self.pieces:
            raise RegexpError("missing argument to repetition operator", match.group())
        unbounded = match.group() in "*+" or match.group(2) == ""
        if unbounded:
            if self.closed_repeats:
                raise self.refuse(self.pattern)
            self.repeats[-1] = True
        self.position = match.end()
        lazy = self.pattern[self.position : self.position + 1] == "?"
        self.position += lazy
        following = _REPEAT.match(self.pattern, self.position)
        if following:
            raise RegexpError("invalid nested repetition operator", match.group() + following.group())
        self.pieces.append(match.group() + ("?" if lazy else ""))

    def open_group(self) -> None:
        match = _GROUP.match(self.pattern, self.position)
        if match is None or (match.end() == self.position + 1 and self.pattern.startswith("(?", self.position)):
            raise RegexpError("invalid or unsupported Perl syntax", self.pattern[self.position : self.position + 3])
        name, flags, unset, end = match.groups()
        self.position = match.end()
        if name:
            self.pieces.append(f"(?P<{name}>")
        elif end is None:
            self.pieces.append("(")
        else:
            if unset or set(flags or "") - {"i", "m"} or (end == ")" and (self.pieces or len(self.multiline) > 1)):
                raise self.refuse(match.group())
            self.pieces.append(match.group())
        multiline = self.multiline[-1] or "m" in (flags or "")
        if end == ")":
            self.multiline[-1] = multiline
            return
        self.multiline.append(multiline)
        self.repeats.append(False)

    def close_group(self) -> None:
        if len(self.multiline) == 1:
            raise RegexpError("unexpected )", self.pattern)
        self.position += 1
        self.multiline.pop()
        self.closed_repeats = self.repeats.pop()
        self.repeats[-1] = self.repeats[-1] or self.closed_repeats
        self.pieces.append(")")

    def escape(self) -> None:
        escaped = self.pattern[self.position + 1 : self.position + 2]
        if not escaped:
            raise RegexpError("trailing backslash at end of expression", "")
        if escaped == "Q":
            end = self.pattern.find("\\E", self.position)
            literal = self.pattern[self.position + 2 : end if end >= 0 else None]
            self.position = end + 2 if end >= 0 else len(self.pattern)
            self.pieces.append(re.escape(literal))
            return
        self.position += 2
        self.pieces.append(self.escaped(escaped))

    def escaped(self, character: str) -> str:
        if character in "dDwWbBA" or not (character.isalnum() or character == "_"):
            return _NEGATED.get(character, "\\" + character)
        if character == "z":
            return "\\Z"
        if character in "sS":
            return f"[{_SPACE}]" if character == "s" else _NEGATED["S"]
        if character in _PLAIN_ESCAPES:
            return "\\" + character
        raise self.refuse("\\" + character)

    def character_class(self) -> None:
        start = self.position
        position = start + 1
        negated = self.pattern.startswith("^", position)
        position += negated
        members = ""
        first = True
        while first or not self.pattern.startswith("]", position):
            if position >= len(self.pattern):
                raise RegexpError("missing closing ]", self.pattern[start:])
            first = False
            piece, position = self.class_member(position)
            members += piece
        self.position = position + 1
        if not members.isascii():
            raise self.refuse(self.pattern[start : self.position])
        if negated:
            self.pieces.append(f"(?:[^{members}\\x80-\\xff]|[\\xc2-\\xf4][\\x80-\\xbf]+)")
        else:
            self.pieces.append(f"[{members}]")

    def class_member(self, position: int) -> tuple[str, int]:
        posix = re.compile(r"\[:(\^?)(\w+):\]").match(self.pattern, position)
        if posix:
            if posix.group(1) or posix.group(2) not in _POSIX:
                raise RegexpError("invalid character class range", posix.group())
            return _POSIX[posix.group(2)], posix.end()
        character = self.pattern[position]
        if character != "\\":
            return ("\\" + character if character in "[]&~|" else character), position + 1
        escaped = self.pattern[position + 1 : position + 2]
        if escaped in "dw":
            return "\\" + escaped, position + 2
        if escaped == "s":
            return _SPACE, position + 2
        if escaped in _PLAIN_ESCAPES or (escaped and not escaped.isalnum()):
            return "\\" + escaped, position + 2
        raise self.refuse("\\" + escaped)


_ANY_BUT_NEWLINE: Final = "(?:[^\\n\\x80-\\xff]|[\\xc2-\\xf4][\\x80-\\xbf]+)"
_NEGATED: Final = {
    "D": "(?:[^0-9\\x80-\\xff]|[\\xc2-\\xf4][\\x80-\\xbf]+)",
    "W": "(?:[^0-9A-Za-z_\\x80-\\xff]|[\\xc2-\\xf4][\\x80-\\xbf]+)",
    "S": f"(?:[^{_SPACE}\\x80-\\xff]|[\\xc2-\\xf4][\\x80-\\xbf]+)",
}
