"""The operators of a constraint, for versions with missing parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from kymatui.helm.semver.versions import SemanticVersion, compare_prereleases


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
