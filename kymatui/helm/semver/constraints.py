"""Constraints: ranges and alternatives of versions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Protocol

from kymatui.helm.semver.versions import SemanticVersion, SemverError, compare_prereleases, parse_version

# White space is RE2's \s. Quantifiers of single characters are possessive: constraints are untrusted, and the
# library's patterns could backtrack without limit in Python. Quantifiers of groups are not possessive, because Python
# up to 3.11.2 has a bug there; they backtrack little, since each group has a distinct first character.
_WS: Final = r"[\t\n\f\r ]"
_LOOSE_PART: Final = r"[0-9|xX*]++"
_WANTED: Final = (
    rf"v?({_LOOSE_PART})(\.{_LOOSE_PART})?(\.{_LOOSE_PART})?"
    r"(-[0-9A-Za-z\-]++(?:\.[0-9A-Za-z\-]++)*)?(\+[0-9A-Za-z\-]++(?:\.[0-9A-Za-z\-]++)*)?"
)
_ITEM: Final = re.compile(rf"(!=|>=|=>|<=|=<|~>|=|>|<|~|\^)?{_WS}*+({_WANTED})(?=[\t\n\f\r ,]|\Z)")
_GAP: Final = re.compile(rf"{_WS}*+,{_WS}*+|{_WS}++")
_SPACE: Final = re.compile(rf"{_WS}*+")
_DASH: Final = re.compile(f"{_WS}-{_WS}")
_RANGE: Final = rf"{_WS}*+({_WANTED}){_WS}++-{_WS}++({_WANTED}){_WS}*+"
_LONGEST: Final = 8192
_WILD: Final = frozenset({"x", "X", "*"})


class Comparison:
    """One comparison: an operator and a version with optional parts ("1.x", "2")."""

    __slots__ = ("dirty", "minor_dirty", "operator", "patch_dirty", "text", "version")

    def __init__(self, operator: str, match: re.Match[str]) -> None:
        self.operator = operator
        self.text = match.group(2)
        major, minor, patch, prerelease = (match.group(number) or "" for number in (3, 4, 5, 6))
        version = self.text
        open_major = major in _WILD
        self.minor_dirty = not open_major and minor[1:] in _WILD | {""}
        self.patch_dirty = not open_major and not self.minor_dirty and patch[1:] in _WILD | {""}
        self.dirty = open_major or self.minor_dirty or self.patch_dirty
        if open_major:
            version = f"0.0.0{prerelease}"
        elif self.minor_dirty:
            version = f"{major}.0.0{prerelease}"
        elif self.patch_dirty:
            version = f"{major}{minor}.0{prerelease}"
        try:
            self.version = parse_version(version)
        except SemverError as error:
            raise SemverError("constraint parser error") from error

    def __str__(self) -> str:
        return self.operator + self.text

    def refusal(self, version: SemanticVersion, include_prereleases: bool) -> str:
        """Return the reason why a version does not match, or ""."""
        if version.prerelease and not include_prereleases:
            return f"{version} is a prerelease version and the constraint is only looking for release versions"
        reason = COMPARISONS[self.operator](version, self)
        return f"{version} {reason}" if reason else ""


class Constraint:
    """A constraint: alternatives ("||") of comparisons that must all match."""

    __slots__ = ("alternatives",)

    def __init__(self, alternatives: list[list[Comparison]]) -> None:
        self.alternatives = alternatives

    def __str__(self) -> str:
        return " || ".join(" ".join(map(str, comparisons)) for comparisons in self.alternatives)

    def check(self, version: SemanticVersion) -> bool:
        """Return whether the version matches; a prerelease matches only an alternative that names one."""
        return any(
            not any(comparison.refusal(version, _names_prerelease(alternative)) for comparison in alternative)
            for alternative in self.alternatives
        )

    def refusals(self, version: SemanticVersion) -> list[str]:
        """Return all reasons why the version does not match, [] if it does."""
        all_reasons: list[str] = []
        for alternative in self.alternatives:
            reasons = [comparison.refusal(version, _names_prerelease(alternative)) for comparison in alternative]
            if not any(reasons):
                return []
            all_reasons += [reason for reason in reasons if reason]
        return list(dict.fromkeys(all_reasons))


def _names_prerelease(alternative: list[Comparison]) -> bool:
    return any(comparison.version.prerelease for comparison in alternative)


def parse_constraint(text: str) -> Constraint:
    """Parse ">=1.2.0, <2", "^1.2 || ~2.1", "1.2 - 3", "1.x". Raise SemverError."""
    if len(text) > _LONGEST:
        raise SemverError(f"improper constraint: {text[:40]}… is longer than {_LONGEST} characters")
    return Constraint([_alternative(part) for part in _rewrite_ranges(text).split("||")])


def _alternative(text: str) -> list[Comparison]:
    matches: list[re.Match[str]] = []
    position = _end(_SPACE, text, 0)
    while item := _ITEM.match(text, position):
        matches.append(item)
        position = item.end()
        gap = _GAP.match(text, position)
        if gap is None or (gap.end() == len(text) and "," not in gap.group()):
            position = gap.end() if gap else position
            break
        position = gap.end()
    else:
        position = -1
    if position != len(text):
        raise SemverError(f"improper constraint: {text}")
    return [Comparison(item.group(1) or "", item) for item in matches]


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _rewrite_ranges(text: str) -> str:
    if not _DASH.search(text):
        return text
    rewritten = text
    for match in re.finditer(_RANGE, text):
        rewritten = rewritten.replace(match.group(), f">= {match.group(1)}, <= {match.group(7)} ", 1)
    return rewritten


class Limit(Protocol):
    """The version of a comparison, its text, and its missing parts."""

    @property
    def version(self) -> SemanticVersion: ...
    @property
    def text(self) -> str: ...
    @property
    def dirty(self) -> bool: ...
    @property
    def minor_dirty(self) -> bool: ...
    @property
    def patch_dirty(self) -> bool: ...


def _not_equal(version: SemanticVersion, bound: Limit) -> str:
    same = f"is equal to {bound.text}"
    limit = bound.version
    if bound.dirty:
        if limit.major != version.major:
            return ""
        if bound.minor_dirty:
            return same
        if limit.minor != version.minor:
            return ""
        if limit.patch != version.patch and not bound.patch_dirty:
            return ""
        if bound.patch_dirty:
            return same if compare_prereleases(version.prerelease, limit.prerelease) == 0 else ""
    return same if version.compare(limit) == 0 else ""


def _greater(version: SemanticVersion, bound: Limit) -> str:
    limit = bound.version
    if version.major != limit.major and bound.dirty:
        greater = version.major > limit.major
    elif bound.minor_dirty:
        greater = False  # 11.1.0 is not greater than 11: 12 is
    elif bound.patch_dirty:
        greater = version.minor > limit.minor
    else:
        greater = version.compare(limit) > 0
    return "" if greater else f"is less than or equal to {bound.text}"


def _less(version: SemanticVersion, bound: Limit) -> str:
    return "" if version.compare(bound.version) < 0 else f"is greater than or equal to {bound.text}"


def _greater_or_equal(version: SemanticVersion, bound: Limit) -> str:
    return "" if version.compare(bound.version) >= 0 else f"is less than {bound.text}"


def _less_or_equal(version: SemanticVersion, bound: Limit) -> str:
    limit = bound.version
    if not bound.dirty:
        less = version.compare(limit) <= 0
    elif version.major != limit.major:
        less = version.major < limit.major
    else:
        less = version.minor <= limit.minor or bound.minor_dirty
    return "" if less else f"is greater than {bound.text}"


def _tilde(version: SemanticVersion, bound: Limit) -> str:
    limit = bound.version
    if version.compare(limit) < 0:
        return f"is less than {bound.text}"
    if limit.numbers == (0, 0, 0) and not bound.minor_dirty and not bound.patch_dirty:
        return ""
    if version.major != limit.major:
        return f"does not have same major version as {bound.text}"
    if version.minor != limit.minor and not bound.minor_dirty:
        return f"does not have same major and minor version as {bound.text}"
    return ""


def _equal(version: SemanticVersion, bound: Limit) -> str:
    if bound.dirty:
        return _tilde(version, bound)
    return "" if version.compare(bound.version) == 0 else f"is not equal to {bound.text}"


def _caret(version: SemanticVersion, bound: Limit) -> str:
    limit = bound.version
    if version.compare(limit) < 0:
        return f"is less than {bound.text}"
    if version.major != limit.major:
        return f"does not have same major version as {bound.text}"
    if limit.major > 0 or bound.minor_dirty:
        return ""
    if version.minor != limit.minor:
        reason = f"does not have same minor version as {bound.text}"
        if limit.minor > 0 or bound.patch_dirty:
            reason += ". Expected minor versions to match when constraint major version is 0"
        return reason
    if limit.minor > 0 or bound.patch_dirty or version.patch == limit.patch:
        return ""
    return f"does not equal {bound.text}. Expect version and constraint to equal when major and minor versions are 0"


COMPARISONS: Final[dict[str, Callable[[SemanticVersion, Limit], str]]] = {
    "": _equal,
    "=": _equal,
    "!=": _not_equal,
    ">": _greater,
    "<": _less,
    ">=": _greater_or_equal,
    "=>": _greater_or_equal,
    "<=": _less_or_equal,
    "=<": _less_or_equal,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}
"""By operator: why a version is not wanted, or \"\"."""
