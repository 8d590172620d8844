"""Versions as lifecycle-manager parses them, their order and their distance.

`parse_version` accepts what `NewVersion` of Masterminds/semver v3 accepts, which lifecycle-manager uses: an
optional "v", one to three numbers, an optional pre-release and build. `version_of_tag` is stricter, because
`20231106-1a2b3c4` and a commit of digits are image tags but no versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import force_setattr

from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.patterns import deferred

_PRE = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"  # a number has no leading zero
_SUFFIX = rf"(?:-({_PRE}(?:\.{_PRE})*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
_LENIENT = deferred(rf"v?([0-9]{{1,19}})(?:\.([0-9]{{1,19}}))?(?:\.([0-9]{{1,19}}))?{_SUFFIX}")
_THREE = deferred(rf"v?([0-9]{{1,19}})\.([0-9]{{1,19}})\.([0-9]{{1,19}}){_SUFFIX}")
_LONGEST = 256  # characters that patterns and int() get to see

# Semver 2.0: numbers sort before words, by value; words by ASCII. Compared as tuples.
Identifier = tuple[int, int, str]


Rank = tuple[tuple[int, int, int], bool, tuple[Identifier, ...]]


class Version(Struct, frozen=True, eq=False):
    """A version, compared by precedence: `v1.0.2`, `1.0.2` and `1.0.2+build` are equal."""

    text: str
    major: int
    minor: int
    patch: int
    prerelease: str = ""
    rank: Rank = ((0, 0, 0), False, ())

    def __post_init__(self) -> None:
        identifiers = tuple(map(_identifier, self.prerelease.split(".")))
        force_setattr(self, "rank", (self.core, not self.prerelease, identifiers))

    @property
    def core(self) -> tuple[int, int, int]:
        """Return major, minor and patch, which the downgrade guard compares."""
        return (self.major, self.minor, self.patch)

    def __eq__(self, other: object) -> bool:
        return self.rank == other.rank if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: Version) -> bool:
        return self.rank < other.rank

    def __le__(self, other: Version) -> bool:
        return self.rank <= other.rank

    def __gt__(self, other: Version) -> bool:
        return self.rank > other.rank

    def __ge__(self, other: Version) -> bool:
        return self.rank >= other.rank

    def __hash__(self) -> int:
        return hash(self.rank)

    def __str__(self) -> str:
        return self.text


def _identifier(text: str) -> Identifier:
    if text.isascii() and text.isdigit() and len(text) < _LONGEST:
        return (0, int(text), "")
    return (1, 0, text)


def _version(pattern: re.Pattern[str], text: str) -> Version | None:
    match = pattern.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    major, minor, patch = (int(part or 0) for part in match.group(1, 2, 3))
    return Version(text, major, minor, patch, match.group(4) or "")


@lru_cache(maxsize=4096)
def parse_version(text: str) -> Version | None:
    """Parse a version as lifecycle-manager does, None if invalid."""
    return _version(_LENIENT, text)


def version_of_tag(tag: str) -> Version | None:
    """Return the version of an image tag with three numbers, else None."""
    return _version(_THREE, tag)


def same_version(version: str, other: str) -> bool:
    """Return whether two texts name the same version; invalid versions are compared as text."""
    left, right = parse_version(version), parse_version(other)
    if left is None or right is None:
        return version == other
    return left == right


def version_order(text: str) -> tuple[bool, Version, str]:
    """Return a sort key for any texts; invalid versions come first, by text."""
    version = parse_version(text)
    return (version is not None, version or Version("", 0, 0, 0), text)


def newest_version(texts: Iterable[str]) -> str:
    """Return the greatest release, else the greatest pre-release, else the last text, else ""."""
    ordered = sorted(texts, key=version_order)
    releases = [text for text in ordered if (version := parse_version(text)) is not None and not version.prerelease]
    return (releases or ordered or [""])[-1]


def newest_above(installed: str, offered: Iterable[str], *, devel: bool = False) -> str:
    """Return the greatest version above the installed one, "" if there is none.

    Pre-releases count if `devel` is set or the installed version is one. Invalid versions never count.
    """
    known = parse_version(installed)
    if known is None:
        return ""
    newer = [(version, text) for text in offered if (version := parse_version(text)) is not None and version > known]
    allowed = [pair for pair in newer if devel or known.prerelease or not pair[0].prerelease]
    return max(allowed, key=lambda pair: pair[0])[1] if allowed else ""


class Distance(Struct, frozen=True):
    """The distance of two versions in the greatest part that differs: `Distance(1, "minor")`."""

    count: int
    part: str

    def __str__(self) -> str:
        if not self.count:
            return self.part
        return format_count(self.count, self.part, "patches" if self.part == "patch" else "")

    @property
    def key(self) -> str:
        """Return the distance as JSON documents have it: `2 patch`."""
        return f"{self.count} {self.part}" if self.count else self.part


def version_distance(version: str, other: str) -> Distance | None:
    """Return the distance of two versions, None if they are equal or one is invalid."""
    left, right = parse_version(version), parse_version(other)
    if left is None or right is None or left == right:
        return None
    for part, a, b in zip(("major", "minor", "patch"), left.core, right.core, strict=True):
        if a != b:
            return Distance(abs(a - b), part)
    return Distance(0, "pre-release")


def is_downgrade(new: Version, old: Version) -> bool:
    """Return whether lifecycle-manager's guard refuses the change; it ignores pre-releases."""
    return new.core < old.core
