"""Label selectors, evaluated as Kubernetes does (`matchLabels` and `matchExpressions`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.patterns import deferred

_NAME = deferred(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_PREFIX = deferred(r"(?=.{1,253}/)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*/")
_Labels = Mapping[str, str]
_Matcher = Callable[[_Labels, str, tuple[str, ...]], bool]

_OPERATORS: dict[str, tuple[bool, _Matcher]] = {
    "In": (True, lambda labels, key, values: key in labels and labels[key] in values),
    "NotIn": (True, lambda labels, key, values: key not in labels or labels[key] not in values),
    "Exists": (False, lambda labels, key, values: key in labels),
    "DoesNotExist": (False, lambda labels, key, values: key not in labels),
}


def is_label_value(text: str) -> bool:
    """Return whether a label may have this value, so that a selector may ask for it."""
    return not text or _NAME.fullmatch(text) is not None


class LabelRequirement(Struct, frozen=True):
    """One requirement on one label."""

    key: str
    operator: str
    values: tuple[str, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        return _OPERATORS[self.operator][1](labels, self.key, self.values)

    @property
    def written(self) -> str:
        """Return the requirement in the syntax of an API query."""
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
        word = "in" if self.operator == "In" else "notin"
        return f"{self.key} {word} ({','.join(self.values)})"


class LabelSelector(Struct, frozen=True):
    """A label selector: all requirements must match. An empty one matches everything, as in Kubernetes."""

    requirements: tuple[LabelRequirement, ...]

    @property
    def empty(self) -> bool:
        return not self.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels match every requirement."""
        return all(requirement.matches(labels) for requirement in self.requirements)


class InvalidSelector(Struct, frozen=True):
    """A selector that Kubernetes rejects, with the reason."""

    reason: str


def read_selector(raw: Mapping[str, Any]) -> LabelSelector | InvalidSelector:
    """Read a LabelSelector."""
    reader = JsonReader(raw)
    requirements = [
        LabelRequirement(key, "In", (value,)) for key, value in sorted(reader.labels("matchLabels").items())
    ]
    for entry in reader.children("matchExpressions"):
        requirements.append(LabelRequirement(entry.text("key"), entry.text("operator"), entry.texts("values")))
    if reader.flaws:
        return InvalidSelector(str(reader.flaws[0]))
    for requirement in requirements:
        if reason := _invalid(requirement):
            return InvalidSelector(reason)
    return LabelSelector(tuple(requirements))


def _invalid(requirement: LabelRequirement) -> str:
    if requirement.operator not in _OPERATORS:
        return f"{requirement.operator!r} is not a label selector operator"
    prefix = _PREFIX.match(requirement.key)
    if not _NAME.fullmatch(requirement.key[prefix.end() :] if prefix else requirement.key):
        return f"{requirement.key!r} is not a label key"
    wants_values = _OPERATORS[requirement.operator][0]
    if wants_values and not requirement.values:
        return f"{requirement.operator} on {requirement.key} needs values"
    if not wants_values and requirement.values:
        return f"{requirement.operator} on {requirement.key} takes no values"
    for value in requirement.values:
        if not is_label_value(value):
            return f"{value!r} is not a label value"
    return ""
