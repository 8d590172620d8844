r"""Checks of Go regular expressions, and their translation to Python's `re` for machines without RE2.

A translation has the same meaning or is refused. Refused is what `re` cannot express (Unicode classes, \C, the
ungreedy flag) and what could backtrack without limit (a repetition within a repetition).
"""

from __future__ import annotations

import re
from typing import Final

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
