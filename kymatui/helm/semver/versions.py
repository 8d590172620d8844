"""Versions: parsing and precedence."""

from __future__ import annotations

from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.govalues.types import Object, Uint64
from kymatui.patterns import deferred

SEGMENT_LIMIT: Final = 1 << 64

_LOOSE: Final = deferred(
    r"v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?(?:-([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(?:\+([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?"
)
_IDENTIFIER: Final = deferred(r"[0-9A-Za-z-]+")


class SemverError(HelmError):
    """An invalid version or constraint."""


class SemanticVersion(Object):
    """A pointer to a version, the result of `semver "1.2"`; ordered by precedence."""

    __slots__ = ("major", "metadata", "minor", "original", "patch", "prerelease")
    go_type = "*semver.Version"
    go_kind = "ptr"
    go_fields = ("major", "minor", "patch", "pre", "metadata", "original")

    def __init__(
        self, major: int, minor: int, patch: int, prerelease: str = "", metadata: str = "", original: str | None = None
    ) -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.prerelease = prerelease
        self.metadata = metadata
        self.original = str(self) if original is None else original

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease:
            text += f"-{self.prerelease}"
        return f"{text}+{self.metadata}" if self.metadata else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.original!r})"

    def __lt__(self, other: SemanticVersion) -> bool:
        return self.compare(other) < 0

    def go_string(self) -> str:
        return str(self)

    def go_json(self) -> str:
        return str(self)

    def go_copy(self) -> SemanticVersion:
        """Return a deep copy, which is empty because no field is exported."""
        return type(self)(0, 0, 0, original="")

    def read_field(self, name: str) -> Any:
        value = getattr(self, {"pre": "prerelease"}.get(name, name))
        return Uint64(value) if isinstance(value, int) else value

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch

    def compare(self, other: SemanticVersion) -> int:
        """Return -1, 0 or 1 by precedence; build metadata is ignored."""
        if self.numbers != other.numbers:
            return -1 if self.numbers < other.numbers else 1
        return compare_prereleases(self.prerelease, other.prerelease, releases_last=True)


class VersionValue(SemanticVersion):
    """A version that is no pointer, such as the result of IncMajor."""

    __slots__ = ()
    go_type = "semver.Version"
    go_kind = "struct"


def parse_version(text: str) -> SemanticVersion:
    """Parse a version leniently: "1", "v1.2", "01.2.3-rc.1+build". Raise SemverError."""
    match = _LOOSE.fullmatch(text)
    if match is None:
        raise SemverError("invalid semantic version")
    major, minor, patch = (_segment((part or "0").removeprefix(".")) for part in match.group(1, 2, 3))
    prerelease, metadata = match.group(4) or "", match.group(5) or ""
    check_prerelease(prerelease)
    return SemanticVersion(major, minor, patch, prerelease, metadata, text)


def parse_strict_version(text: str) -> SemanticVersion:
    """Parse a strict semver 2.0 version: three numbers, no leading zeros, no leading v."""
    if not text:
        raise SemverError("version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("invalid semantic version")
    parts[2], plus, metadata = parts[2].partition("+")
    if plus:
        check_metadata(metadata)
    parts[2], dash, prerelease = parts[2].partition("-")
    if dash:
        check_prerelease(prerelease, empty_allowed=False)
    for part in parts:
        if not all(character in "0123456789" for character in part):
            raise SemverError("invalid characters in version")
        if len(part) > 1 and part[0] == "0":
            raise SemverError("version segment starts with 0")
    major, minor, patch = (_segment(part, "") for part in parts)
    return SemanticVersion(major, minor, patch, prerelease, metadata, text)


def _segment(digits: str, prefix: str = "error parsing version segment: ") -> int:
    if not digits:
        raise SemverError(f'{prefix}strconv.ParseUint: parsing "": invalid syntax')
    if len(digits.lstrip("0")) > 20 or int(digits[-20:]) >= SEGMENT_LIMIT:
        raise SemverError(f'{prefix}strconv.ParseUint: parsing "{digits}": value out of range')
    return int(digits[-20:])


def check_prerelease(text: str, *, empty_allowed: bool = True) -> None:
    if not text and empty_allowed:
        return
    for part in text.split("."):
        if not _IDENTIFIER.fullmatch(part):
            raise SemverError("invalid prerelease string")
        if part.isdigit() and len(part) > 1 and part[0] == "0":
            raise SemverError("version segment starts with 0")


def check_metadata(text: str) -> None:
    if not all(_IDENTIFIER.fullmatch(part) for part in text.split(".")):
        raise SemverError("invalid metadata string")


def compare_prereleases(left: str, right: str, *, releases_last: bool = False) -> int:
    """Compare "rc.1" with "rc.2" part by part; `releases_last` puts no prerelease after any."""
    if left == right:
        return 0
    if releases_last and not (left and right):
        return 1 if not left else -1
    lefts, rights = left.split("."), right.split(".")
    for position in range(max(len(lefts), len(rights))):
        order = _compare_parts(
            lefts[position] if position < len(lefts) else "", rights[position] if position < len(rights) else ""
        )
        if order:
            return order
    return 0


def _compare_parts(left: str, right: str) -> int:
    if left == right:
        return 0
    if not left or not right:
        return -1 if not left else 1
    left_number, right_number = _small_number(left), _small_number(right)
    if left_number is None and right_number is None:
        return 1 if left > right else -1
    if left_number is None or right_number is None:
        return 1 if left_number is None else -1
    return 1 if left_number > right_number else -1


def _small_number(text: str) -> int | None:
    """Return the number of a part, or None; a number beyond 64 bits is compared as a word."""
    if not text.isdigit() or len(text.lstrip("0")) > 20:
        return None
    number = int(text[-20:])
    return number if number < SEGMENT_LIMIT else None
