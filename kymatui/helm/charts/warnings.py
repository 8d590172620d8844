"""Warnings of a rendering: what helm reports of values, dependencies and hooks that it leaves out, with the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kymatui.errors import nearest_names
from kymatui.helm.charts.trees import ChartNode

_MOST: Final = 50
_MOST_COMPARISONS: Final = 20_000
"""Pairs of names that one rendering compares, which takes some 0.1 s."""
_LIKENESS: Final = 0.75
"""How like a name has to be, from 0 to 1, to be what was probably meant."""


class ChartWarning(NamedTuple):
    """`message` has no value, which may be secret; `key` is the dotted key of the user's value, "" without one."""

    message: str
    key: str = ""

    @property
    def sentence(self) -> str:
        return warning_sentence(self.message)


def warning_sentence(message: str) -> str:
    """Return the message of a warning as a sentence of a plan."""
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith('?') else '.'}"


class Warnings:
    """The warnings of one rendering, each once and at most fifty."""

    def __init__(self) -> None:
        self._warnings: dict[ChartWarning, None] = {}
        self._comparisons = _MOST_COMPARISONS

    def add(self, message: str, key: str = "") -> None:
        if len(self._warnings) < _MOST:
            self._warnings[ChartWarning(message, key)] = None

    def may_compare(self, pairs: int) -> bool:
        """Return whether so many pairs of names may be compared, and count them."""
        self._comparisons -= pairs
        return self._comparisons >= 0

    def all(self) -> tuple[ChartWarning, ...]:
        return tuple(self._warnings)


def warn_of_names(root: ChartNode, values: Mapping[str, Any], warnings: Warnings) -> None:
    """Warn of values that no chart has, if another value of nearly the same name exists: it was probably meant."""
    _compare(values, root.values, {child.name for child in root.dependencies}, (), warnings)
    for child in root.dependencies:
        below = values.get(child.name)
        if isinstance(below, dict):
            _compare(
                below, child.values, {dependency.name for dependency in child.dependencies}, (child.name,), warnings
            )


def _compare(
    values: Mapping[str, Any], own: Mapping[str, Any], charts: set[str], path: tuple[str, ...], warnings: Warnings
) -> None:
    unknown = []
    for name, value in values.items():
        if name not in own:
            unknown += [name] if name not in charts and name not in ("global", "tags") else []
        elif isinstance(value, dict) and isinstance(own[name], dict) and own[name]:
            _compare(value, own[name], set(), (*path, name), warnings)
    unset = [name for name in own if name not in values] if unknown else []
    if not warnings.may_compare(len(unknown) * len(unset)):
        return
    for name in unknown:
        for likely in nearest_names(name, unset, 1, _LIKENESS):
            key, meant = ".".join((*path, name)), ".".join((*path, likely))
            warnings.add(f"the chart has no value {key}; did you mean {meant}?", key)
