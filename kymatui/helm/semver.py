"""Versions and constraints as Masterminds/semver v3.4 reads them: `semverCompare`, dependency ranges, `kubeVersion`.

`parse_version("v1.2")` is lenient, as Helm is: a leading v, missing parts, leading zeros. `parse_constraint(">=1.2-0")`
gives something to `check` a version with. Both raise SemverError with the library's own text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.govalues.types import BYTES, Function, FunctionError, Object, TypedList, Uint8, Uint64

_SEGMENT_LIMIT: Final = 1 << 64

_LOOSE: Final = re.compile(
    r"v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?(?:-([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(?:\+([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?"
)
_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]+")


class SemverError(HelmError):
    """A version or a constraint that cannot be read."""


class Version(Object):
    """A pointer to a version, which is what `semver "1.2"` gives to a template; ordered by precedence."""

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

    def __lt__(self, other: Version) -> bool:
        return self.compare(other) < 0

    def go_string(self) -> str:
        return str(self)

    def go_json(self) -> str:
        return str(self)

    def go_copy(self) -> Version:
        """What a deep copy keeps: nothing, for no field is exported."""
        return type(self)(0, 0, 0, original="")

    def read_field(self, name: str) -> Any:
        value = getattr(self, {"pre": "prerelease"}.get(name, name))
        return Uint64(value) if isinstance(value, int) else value

    @property
    def numbers(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch

    def compare(self, other: Version) -> int:
        """-1, 0 or 1 by precedence; build metadata does not count."""
        if self.numbers != other.numbers:
            return -1 if self.numbers < other.numbers else 1
        return compare_prereleases(self.prerelease, other.prerelease, releases_last=True)


class VersionValue(Version):
    """A version that is no pointer: what IncMajor and its like give to a template."""

    __slots__ = ()
    go_type = "semver.Version"
    go_kind = "struct"


def parse_version(text: str) -> Version:
    """Reads a version leniently: "1", "v1.2", "01.2.3-rc.1+build"."""
    match = _LOOSE.fullmatch(text)
    if match is None:
        raise SemverError("invalid semantic version")
    major, minor, patch = (_segment((part or "0").removeprefix(".")) for part in match.group(1, 2, 3))
    prerelease, metadata = match.group(4) or "", match.group(5) or ""
    _check_prerelease(prerelease)
    return Version(major, minor, patch, prerelease, metadata, text)


def parse_strict_version(text: str) -> Version:
    """Reads a version by the letter of semver 2.0: three numbers without leading zeros, no leading v."""
    if not text:
        raise SemverError("version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("invalid semantic version")
    parts[2], plus, metadata = parts[2].partition("+")
    if plus:
        _check_metadata(metadata)
    parts[2], dash, prerelease = parts[2].partition("-")
    if dash:
        _check_prerelease(prerelease, empty_allowed=False)
    for part in parts:
        if not all(character in "0123456789" for character in part):
            raise SemverError("invalid characters in version")
        if len(part) > 1 and part[0] == "0":
            raise SemverError("version segment starts with 0")
    major, minor, patch = (_segment(part, "") for part in parts)
    return Version(major, minor, patch, prerelease, metadata, text)


def _segment(digits: str, prefix: str = "error parsing version segment: ") -> int:
    if not digits:
        raise SemverError(f'{prefix}strconv.ParseUint: parsing "": invalid syntax')
    if len(digits.lstrip("0")) > 20 or int(digits[-20:]) >= _SEGMENT_LIMIT:
        raise SemverError(f'{prefix}strconv.ParseUint: parsing "{digits}": value out of range')
    return int(digits[-20:])


def _check_prerelease(text: str, *, empty_allowed: bool = True) -> None:
    if not text and empty_allowed:
        return
    for part in text.split("."):
        if not _IDENTIFIER.fullmatch(part):
            raise SemverError("invalid prerelease string")
        if part.isdigit() and len(part) > 1 and part[0] == "0":
            raise SemverError("version segment starts with 0")


def _check_metadata(text: str) -> None:
    if not all(_IDENTIFIER.fullmatch(part) for part in text.split(".")):
        raise SemverError("invalid metadata string")


def compare_prereleases(left: str, right: str, *, releases_last: bool = False) -> int:
    """Compares "rc.1" with "rc.2" part by part; with `releases_last`, no prerelease at all comes after any."""
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
    """The number that a part is, or None: a number that does not fit 64 bits is compared as a word."""
    if not text.isdigit() or len(text.lstrip("0")) > 20:
        return None
    number = int(text[-20:])
    return number if number < _SEGMENT_LIMIT else None


# Constraints. White space is RE2's \s. Quantifiers are possessive: a constraint comes from outside, and the patterns as
# the library writes them would backtrack without end in Python.
_WS: Final = r"[\t\n\f\r ]"
_LOOSE_PART: Final = r"[0-9|xX*]++"
_WANTED: Final = (
    rf"v?({_LOOSE_PART})(\.{_LOOSE_PART})?+(\.{_LOOSE_PART})?+"
    r"(-[0-9A-Za-z\-]++(?:\.[0-9A-Za-z\-]++)*+)?+(\+[0-9A-Za-z\-]++(?:\.[0-9A-Za-z\-]++)*+)?+"
)
_ITEM: Final = re.compile(rf"(!=|>=|=>|<=|=<|~>|=|>|<|~|\^)?+{_WS}*+({_WANTED})(?=[\t\n\f\r ,]|\Z)")
_GAP: Final = re.compile(rf"{_WS}*+,{_WS}*+|{_WS}++")
_SPACE: Final = re.compile(rf"{_WS}*+")
_RANGE: Final = re.compile(rf"{_WS}*+({_WANTED}){_WS}++-{_WS}++({_WANTED}){_WS}*+")
_LONGEST: Final = 8192
_WILD: Final = frozenset({"x", "X", "*"})


class Wanted:
    """One comparison of a constraint: an operator and a version of which parts may be left open ("1.x", "2")."""

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

    def refusal(self, version: Version, include_prereleases: bool) -> str:
        """Why a version is not wanted, or ""."""
        if version.prerelease and not include_prereleases:
            return f"{version} is a prerelease version and the constraint is only looking for release versions"
        reason = _CHECKS[self.operator](version, self)
        return f"{version} {reason}" if reason else ""


class Constraint:
    """What a version must be: alternatives ("||"), each of comparisons that must all hold."""

    __slots__ = ("alternatives",)

    def __init__(self, alternatives: list[list[Wanted]]) -> None:
        self.alternatives = alternatives

    def __str__(self) -> str:
        return " || ".join(" ".join(map(str, wanted)) for wanted in self.alternatives)

    def check(self, version: Version) -> bool:
        """Whether the version will do; prereleases do only where an alternative itself names one."""
        return any(
            not any(wanted.refusal(version, _names_prerelease(alternative)) for wanted in alternative)
            for alternative in self.alternatives
        )

    def refusals(self, version: Version) -> list[str]:
        """Every reason why the version will not do; empty when it does."""
        found: list[str] = []
        for alternative in self.alternatives:
            reasons = [wanted.refusal(version, _names_prerelease(alternative)) for wanted in alternative]
            if not any(reasons):
                return []
            found += [reason for reason in reasons if reason]
        return list(dict.fromkeys(found))


def _names_prerelease(alternative: list[Wanted]) -> bool:
    return any(wanted.version.prerelease for wanted in alternative)


def parse_constraint(text: str) -> Constraint:
    """Reads ">=1.2.0, <2", "^1.2 || ~2.1", "1.2 - 3", "1.x"."""
    if len(text) > _LONGEST:
        raise SemverError(f"improper constraint: {text[:40]}… is longer than {_LONGEST} characters")
    return Constraint([_alternative(part) for part in _rewrite_ranges(text).split("||")])


def _alternative(text: str) -> list[Wanted]:
    found: list[re.Match[str]] = []
    position = _end(_SPACE, text, 0)
    while item := _ITEM.match(text, position):
        found.append(item)
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
    return [Wanted(item.group(1) or "", item) for item in found]


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _rewrite_ranges(text: str) -> str:
    rewritten = text
    for match in _RANGE.finditer(text):
        rewritten = rewritten.replace(match.group(), f">= {match.group(1)}, <= {match.group(7)} ", 1)
    return rewritten


def _not_equal(version: Version, wanted: Wanted) -> str:
    same = f"is equal to {wanted.text}"
    limit = wanted.version
    if wanted.dirty:
        if limit.major != version.major:
            return ""
        if wanted.minor_dirty:
            return same
        if limit.minor != version.minor:
            return ""
        if limit.patch != version.patch and not wanted.patch_dirty:
            return ""
        if wanted.patch_dirty:
            return same if compare_prereleases(version.prerelease, limit.prerelease) == 0 else ""
    return same if version.compare(limit) == 0 else ""


def _greater(version: Version, wanted: Wanted) -> str:
    limit = wanted.version
    if version.major != limit.major and wanted.dirty:
        greater = version.major > limit.major
    elif wanted.minor_dirty:
        greater = False  # 11.1.0 is not above 11: 12 is
    elif wanted.patch_dirty:
        greater = version.minor > limit.minor
    else:
        greater = version.compare(limit) > 0
    return "" if greater else f"is less than or equal to {wanted.text}"


def _less(version: Version, wanted: Wanted) -> str:
    return "" if version.compare(wanted.version) < 0 else f"is greater than or equal to {wanted.text}"


def _greater_or_equal(version: Version, wanted: Wanted) -> str:
    return "" if version.compare(wanted.version) >= 0 else f"is less than {wanted.text}"


def _less_or_equal(version: Version, wanted: Wanted) -> str:
    limit = wanted.version
    if not wanted.dirty:
        less = version.compare(limit) <= 0
    elif version.major != limit.major:
        less = version.major < limit.major
    else:
        less = version.minor <= limit.minor or wanted.minor_dirty
    return "" if less else f"is greater than {wanted.text}"


def _tilde(version: Version, wanted: Wanted) -> str:
    limit = wanted.version
    if version.compare(limit) < 0:
        return f"is less than {wanted.text}"
    if limit.numbers == (0, 0, 0) and not wanted.minor_dirty and not wanted.patch_dirty:
        return ""
    if version.major != limit.major:
        return f"does not have same major version as {wanted.text}"
    if version.minor != limit.minor and not wanted.minor_dirty:
        return f"does not have same major and minor version as {wanted.text}"
    return ""


def _equal(version: Version, wanted: Wanted) -> str:
    if wanted.dirty:
        return _tilde(version, wanted)
    return "" if version.compare(wanted.version) == 0 else f"is not equal to {wanted.text}"


def _caret(version: Version, wanted: Wanted) -> str:
    limit = wanted.version
    if version.compare(limit) < 0:
        return f"is less than {wanted.text}"
    if version.major != limit.major:
        return f"does not have same major version as {wanted.text}"
    if limit.major > 0 or wanted.minor_dirty:
        return ""
    if version.minor != limit.minor:
        reason = f"does not have same minor version as {wanted.text}"
        if limit.minor > 0 or wanted.patch_dirty:
            reason += ". Expected minor versions to match when constraint major version is 0"
        return reason
    if limit.minor > 0 or wanted.patch_dirty or version.patch == limit.patch:
        return ""
    return f"does not equal {wanted.text}. Expect version and constraint to equal when major and minor versions are 0"


_CHECKS: Final[dict[str, Callable[[Version, Wanted], str]]] = {
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


def _raised(version: Version, numbers: tuple[int, int, int], prerelease: str = "", metadata: str = "") -> VersionValue:
    major, minor, patch = (number % _SEGMENT_LIMIT for number in numbers)
    raised = VersionValue(major, minor, patch, prerelease, metadata)
    if version.original.startswith("v"):
        raised.original = f"v{raised}"
    return raised


def _next_patch(version: Version) -> VersionValue:
    return _raised(version, (version.major, version.minor, version.patch + (not version.prerelease)))


def _with_prerelease(version: Version, prerelease: str) -> VersionValue:
    try:
        _check_prerelease(prerelease)
    except SemverError as error:
        raise FunctionError(str(error)) from error
    return _raised(version, version.numbers, prerelease, version.metadata)


def _with_metadata(version: Version, metadata: str) -> VersionValue:
    if metadata and not all(_IDENTIFIER.fullmatch(part) for part in metadata.split(".")):
        raise FunctionError("invalid metadata string")
    return _raised(version, version.numbers, version.prerelease, metadata)


def _method(name: str, call: Callable[..., Any], *params: str) -> Function:
    return Function(name, params, False, call)


def _value_methods() -> dict[str, Function]:
    methods = (
        _method("String", Version.__str__),
        _method("Major", lambda version: Uint64(version.major)),
        _method("Minor", lambda version: Uint64(version.minor)),
        _method("Patch", lambda version: Uint64(version.patch)),
        _method("Prerelease", lambda version: version.prerelease),
        _method("Metadata", lambda version: version.metadata),
        _method("IncMajor", lambda version: _raised(version, (version.major + 1, 0, 0))),
        _method("IncMinor", lambda version: _raised(version, (version.major, version.minor + 1, 0))),
        _method("IncPatch", _next_patch),
        _method("Value", Version.__str__),
        _method("MarshalText", lambda version: TypedList(BYTES, map(Uint8, str(version).encode()))),
        _method("MarshalJSON", lambda version: TypedList(BYTES, map(Uint8, f'"{version}"'.encode()))),
        _method("SetPrerelease", _with_prerelease, "string"),
        _method("SetMetadata", _with_metadata, "string"),
    )
    return {method.name: method for method in methods}


def _pointer_methods() -> dict[str, Function]:
    pointer = Version.go_type
    methods = (
        _method("Original", lambda version: version.original),
        _method("Compare", Version.compare, pointer),
        _method("Equal", lambda version, other: version.compare(other) == 0, pointer),
        _method("LessThan", lambda version, other: version.compare(other) < 0, pointer),
        _method("LessThanEqual", lambda version, other: version.compare(other) <= 0, pointer),
        _method("GreaterThan", lambda version, other: version.compare(other) > 0, pointer),
        _method("GreaterThanEqual", lambda version, other: version.compare(other) >= 0, pointer),
    )
    return {method.name: method for method in methods}


VersionValue.go_methods = _value_methods()
Version.go_methods = {**VersionValue.go_methods, **_pointer_methods()}
