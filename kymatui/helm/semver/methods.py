"""Methods of versions in templates; importing this module adds them to the classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kymatui.helm.govalues.types import BYTES, Function, FunctionError, TypedList, Uint8, Uint64
from kymatui.helm.semver.versions import (
    SEGMENT_LIMIT,
    SemanticVersion,
    SemverError,
    VersionValue,
    check_metadata,
    check_prerelease,
)


def _raised(
    version: SemanticVersion, numbers: tuple[int, int, int], prerelease: str = "", metadata: str = ""
) -> VersionValue:
    major, minor, patch = (number % SEGMENT_LIMIT for number in numbers)
    raised = VersionValue(major, minor, patch, prerelease, metadata)
    if version.original.startswith("v"):
        raised.original = f"v{raised}"
    return raised


def _next_patch(version: SemanticVersion) -> VersionValue:
    return _raised(version, (version.major, version.minor, version.patch + (not version.prerelease)))


def _with_prerelease(version: SemanticVersion, prerelease: str) -> VersionValue:
    try:
        check_prerelease(prerelease)
    except SemverError as error:
        raise FunctionError(str(error)) from error
    return _raised(version, version.numbers, prerelease, version.metadata)


def _with_metadata(version: SemanticVersion, metadata: str) -> VersionValue:
    try:
        if metadata:
            check_metadata(metadata)
    except SemverError as error:
        raise FunctionError(str(error)) from error
    return _raised(version, version.numbers, version.prerelease, metadata)


def _method(name: str, call: Callable[..., Any], *params: str) -> Function:
    return Function(name, params, False, call)


def _value_methods() -> dict[str, Function]:
    methods = (
        _method("String", SemanticVersion.__str__),
        _method("Major", lambda version: Uint64(version.major)),
        _method("Minor", lambda version: Uint64(version.minor)),
        _method("Patch", lambda version: Uint64(version.patch)),
        _method("Prerelease", lambda version: version.prerelease),
        _method("Metadata", lambda version: version.metadata),
        _method("IncMajor", lambda version: _raised(version, (version.major + 1, 0, 0))),
        _method("IncMinor", lambda version: _raised(version, (version.major, version.minor + 1, 0))),
        _method("IncPatch", _next_patch),
        _method("Value", SemanticVersion.__str__),
        _method("MarshalText", lambda version: TypedList(BYTES, map(Uint8, str(version).encode()))),
        _method("MarshalJSON", lambda version: TypedList(BYTES, map(Uint8, f'"{version}"'.encode()))),
        _method("SetPrerelease", _with_prerelease, "string"),
        _method("SetMetadata", _with_metadata, "string"),
    )
    return {method.name: method for method in methods}


def _pointer_methods() -> dict[str, Function]:
    pointer = SemanticVersion.go_type
    methods = (
        _method("Original", lambda version: version.original),
        _method("Compare", SemanticVersion.compare, pointer),
        _method("Equal", lambda version, other: version.compare(other) == 0, pointer),
        _method("LessThan", lambda version, other: version.compare(other) < 0, pointer),
        _method("LessThanEqual", lambda version, other: version.compare(other) <= 0, pointer),
        _method("GreaterThan", lambda version, other: version.compare(other) > 0, pointer),
        _method("GreaterThanEqual", lambda version, other: version.compare(other) >= 0, pointer),
    )
    return {method.name: method for method in methods}


VersionValue.go_methods = _value_methods()
SemanticVersion.go_methods = {**VersionValue.go_methods, **_pointer_methods()}
