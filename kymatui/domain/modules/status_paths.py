"""Paths into an object, in two syntaxes.

lifecycle-manager never supported JSONPath: it splits the text at its dots and walks through objects (`klm`).
kymatui also accepts `$.a.b`, `.a.b`, `a['b.c']` and `a[0]` (`extended`), and reports when lifecycle-manager would
not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import json_type
from kymatui.patterns import deferred


class PathResultKind(StrEnum):
    """The kinds of results of a path."""

    VALUE = "value"
    EMPTY = "empty string"
    MISSING = "no such path"
    NOT_TEXT = "not a string"
    INVALID = "not a path"


class PathResult(Struct, frozen=True):
    """The result of a path; `text` is the string, `type` the JSON type, `at` the part that exists."""

    kind: PathResultKind
    text: str = ""
    type: str = ""
    at: str = ""

    @property
    def found(self) -> bool:
        """Return whether the path leads to a string."""
        return self.kind in (PathResultKind.VALUE, PathResultKind.EMPTY)


class PathEvaluation(Struct, frozen=True):
    """A path evaluated in both syntaxes; `klm_reads` tells whether both mean the same."""

    path: str
    klm: PathResult
    extended: PathResult
    klm_reads: bool


PathStep = str | int

_MISSING = object()
_TOKEN = deferred(
    r"\.?\[\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|(-?[0-9]{1,9}))\s*\]|(?:^|\.)([^.\[\]'\"]+)", re.DOTALL
)


def evaluate_path(path: str, resource: object) -> PathEvaluation:
    """Evaluate a path in both syntaxes; never raises."""
    steps = extended_steps(path)
    extended = PathResult(PathResultKind.INVALID) if steps is None else _walk(steps, resource)
    return PathEvaluation(path, evaluate_klm_path(path, resource), extended, steps == tuple(path.split(".")))


def evaluate_klm_path(path: str, resource: object) -> PathResult:
    """Return lifecycle-manager's result: Go's `NestedString` with the parts between the dots."""
    value = resource
    walked: list[str] = []
    for part in path.split("."):
        if value is None:
            return PathResult(PathResultKind.MISSING, at=".".join(walked))
        if not isinstance(value, Mapping):
            return PathResult(PathResultKind.NOT_TEXT, type=json_type(value), at=".".join(walked))
        if part not in value:
            return PathResult(PathResultKind.MISSING, at=".".join(walked))
        value = value[part]
        walked.append(part)
    return _found_value(value, path)


def _found_value(value: object, at: str) -> PathResult:
    if not isinstance(value, str):
        return PathResult(PathResultKind.NOT_TEXT, text=_shown(value), type=json_type(value), at=at)
    return PathResult(PathResultKind.VALUE if value else PathResultKind.EMPTY, value, json_type(value), at)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""


@lru_cache(maxsize=1024)
def extended_steps(path: str) -> tuple[PathStep, ...] | None:
    """Return the steps of an extended path, None if invalid."""
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1].strip()
    text = text.removeprefix("$").removeprefix(".")
    steps: list[PathStep] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        steps.append(_step(match))
        position = match.end()
    return tuple(steps) or None


def _step(match: re.Match[str]) -> PathStep:
    single, double, index, word = match.groups()
    if index is not None:
        return int(index)
    if word is not None:
        return word
    return re.sub(r"\\(.)", r"\1", single if single is not None else double, flags=re.DOTALL)


def _walk(steps: tuple[PathStep, ...], resource: object) -> PathResult:
    value = resource
    walked = ""
    for step in steps:
        below = _below(value, step)
        if below is _MISSING:
            if value is not None and not isinstance(value, Mapping | list | tuple):
                return PathResult(PathResultKind.NOT_TEXT, type=json_type(value), at=walked)
            return PathResult(PathResultKind.MISSING, at=walked)
        value = below
        walked += f"[{step}]" if isinstance(step, int) else f".{step}" if walked else step
    return PathResult(PathResultKind.MISSING, at=walked) if value is None else _found_value(value, walked)


def _below(value: object, step: PathStep) -> object:
    if isinstance(step, int):
        if isinstance(value, list | tuple) and -len(value) <= step < len(value):
            return value[step]
        return _MISSING
    return value.get(step, _MISSING) if isinstance(value, Mapping) else _MISSING
