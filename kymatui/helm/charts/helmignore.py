""".helmignore: the files of a directory that do not belong to the chart."""

from __future__ import annotations

import posixpath
from typing import NamedTuple

from kymatui.errors import HelmError
from kymatui.helm.charts.glob_patterns import PatternError, match_path


class Rule(NamedTuple):
    """One line: whether it is negated (`!`), for directories only (trailing `/`), and where it matches."""

    pattern: str
    negated: bool
    directories: bool
    base_only: bool

    def matches(self, path: str) -> bool:
        return match_path(self.pattern, posixpath.basename(path) if self.base_only else path)


class IgnoreRules:
    """The rules of a .helmignore and Helm's rule for dot files in templates/.

    The first decisive rule wins.
    """

    def __init__(self, text: str = "") -> None:
        lines = text.removeprefix("\ufeff").split("\n")
        self.rules = [rule for line in [*lines, "templates/.?*"] if (rule := _parse(line)) is not None]

    def ignores(self, path: str, is_directory: bool) -> bool:
        for rule in self.rules:
            wrong_kind = rule.directories and not is_directory
            if rule.negated:
                if wrong_kind or not rule.matches(path):
                    return True
            elif not wrong_kind and rule.matches(path):
                return True
        return False


def _parse(line: str) -> Rule | None:
    line = line.strip()
    if not line or line.startswith("#"):
        return None
    if "**" in line:
        raise HelmError("double-star (**) syntax is not supported", hint="Write .helmignore without `**`.")
    try:
        match_path(line, "abc")
    except PatternError as error:
        raise HelmError(str(error), hint=f"The pattern {line} in .helmignore has no end.") from error
    negated = line.startswith("!")
    pattern = line.removeprefix("!")
    directories = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if pattern.startswith("/"):
        return Rule(pattern[1:], negated, directories, base_only=False)
    return Rule(pattern, negated, directories, base_only="/" not in pattern)
