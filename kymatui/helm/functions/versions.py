"""Functions on semantic versions."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.govalues.types import FunctionError
from kymatui.helm.semver import methods  # noqa: F401 - gives versions their methods
from kymatui.helm.semver.constraints import parse_constraint
from kymatui.helm.semver.versions import SemanticVersion, SemverError, parse_version

_LONGEST_REMEMBERED: Final = 1_000
# Charts repeat the same few comparisons.
_constraint: Final = lru_cache(maxsize=512)(parse_constraint)
_version: Final = lru_cache(maxsize=512)(parse_version)


def semver(text: str) -> SemanticVersion:
    try:
        return parse_version(text)
    except SemverError as error:
        raise FunctionError(str(error)) from error


def semver_compare(constraint: str, version: str) -> bool:
    try:
        if len(constraint) + len(version) > _LONGEST_REMEMBERED:
            return parse_constraint(constraint).check(parse_version(version))
        return _constraint(constraint).check(_version(version))
    except SemverError as error:
        raise FunctionError(str(error)) from error


FUNCTIONS: Final = table((declare("semver(string)", semver), declare("semverCompare(string, string)", semver_compare)))
