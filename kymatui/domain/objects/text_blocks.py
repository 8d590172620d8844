"""Secrets in texts of several lines: the value of a line, or the block below it, whose name says that it is secret."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from kymatui.domain.objects.redaction_rules import ASSIGNMENT, redacted
from kymatui.domain.objects.sensitive_names import Sensitivity, sensitivity

_LINE: Final = re.compile(
    r"""(?P<indent>[ \t]*)(?P<list>(?:-[ \t]+)*)"""
    r"""(?P<verb>(?:export|set|setenv|ENV|ARG|local|declare|readonly|\?)[ \t]+)?"""
    r"""(?P<quote>["']?)(?P<name>[\w.$@/-]{1,200})(?P=quote)"""
    r"""(?P<sign>[ \t]*(?::(?=[ \t]|$)|=>|[?+:]?=)|[ \t]+(?=\S*[^\s.,:;!?)][ \t]*$)|[ \t]*$)"""
    r"""[ \t]*(?P<rest>.*)"""
)
_BLOCK: Final = re.compile(r"(?:[&!]\S*[ \t]+)*[|>][-+0-9]*[ \t]*(?:#.*)?|(?:[&!]\S*[ \t]*)+")
_HEREDOC: Final = re.compile(r"""<<[-~]?\s*["']?(\w+)["']?""")
_CONSTANT: Final = re.compile(r"(?:true|false|null|nil|none|~|yes|no)?[,;]?[ \t]*(?:#.*)?", re.I)
_HIDDEN: Final = re.compile(r"\(redacted: [a-z-]+\)")


def redact_lines(text: str, hits: Counter[str]) -> str:
    """Return a text without the values of sensitive names at the start of a line, and the blocks below these."""
    lines = _Lines(hits)
    for line in text.split("\n"):
        lines.add(line)
    return "\n".join(lines.kept)


class _Lines:
    """Reads line by line; a block is hidden while lines are indented more than its name, or until a text ends it."""

    def __init__(self, hits: Counter[str]) -> None:
        self.kept: list[str] = []
        self._hits = hits
        self._block: int | None = None
        self._is_marked = False
        self._until = ""
        self._continues = False

    def add(self, line: str) -> None:
        body = line.rstrip("\r")
        if self._is_below(body):
            if not self._is_marked:
                self._is_marked = True
                self.kept.append(line[: len(line) - len(line.lstrip())] + self._replace())
            return
        match = _LINE.fullmatch(body)
        level = sensitivity(match["name"]) if match else Sensitivity.NONE
        if match is None or level is Sensitivity.NONE or (not match["sign"].strip() and not match["rest"]):
            is_question = match is not None and bool(match["verb"] and match["verb"].startswith("?"))
            if is_question and level is not Sensitivity.NONE and match is not None:
                self._start(match, marked=False)
            self.kept.append(line)
            return
        self._add_value(line, match, level)

    def _add_value(self, line: str, match: re.Match[str], level: Sensitivity) -> None:
        rest = match["rest"].strip()
        if not rest:
            if level is Sensitivity.DEEP:
                self._start(match, marked=False)
            self.kept.append(line)
        elif _CONSTANT.fullmatch(rest) or _HIDDEN.fullmatch(rest):
            self.kept.append(line)
        else:
            self.kept.append(line[: match.start("rest")] + self._replace())
            self._start(match, marked=True)
            self._follow(rest)

    def _start(self, match: re.Match[str], *, marked: bool) -> None:
        self._block = len((match["indent"] + match["list"]).expandtabs(8))
        self._is_marked = marked

    def _follow(self, rest: str) -> None:
        """Note what hides the following lines, too: an open quote, a heredoc, a backslash."""
        if heredoc := _HEREDOC.match(rest):
            self._until = heredoc[1]
        elif (quote := rest[:3]) in ('"""', "'''") or (quote := rest[0]) in "\"'":
            self._until = quote if rest.count(quote) == 1 else ""
        self._continues = rest.endswith("\\")

    def _is_below(self, line: str) -> bool:
        if self._until:
            if self._until in line:
                self._until = ""
            return True
        if self._continues:
            self._continues = line.rstrip().endswith("\\")
            return True
        if self._block is None:
            return False
        body = line.lstrip()
        if not body:
            return False
        indent = len(line[: len(line) - len(body)].expandtabs(8))
        is_item = body.startswith(("- ", ": ")) or body == "-"
        if indent > self._block or (indent == self._block and is_item):
            return True
        self._block = None
        return False

    def _replace(self) -> str:
        self._hits[ASSIGNMENT.name] += 1
        return redacted(ASSIGNMENT)
