"""Functions on semantic versions."""

from __future__ import annotations

from typing import Final

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.govalues.types import FunctionError
from kymatui.helm.semver import SemverError, Version, parse_constraint, parse_version


def semver(text: str) -> Version:
    try:
        return parse_version(text)
    except SemverError as error:
        raise FunctionError(str(error)) from error


def semver_compare(constraint: str, version: str) -> bool:
    try:
        return parse_constraint(constraint).check(parse_version(version))
    except SemverError as error:
        raise FunctionError(str(error)) from error


FUNCTIONS: Final = table((declare("semver(string)", semver), declare("semverCompare(string, string)", semver_compare)))
