"""One template with the language's own functions, rendered as Helm renders a chart's file."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from kymatui.helm.govalues.types import Function
from kymatui.helm.language.environment import Environment
from kymatui.helm.language.tables import Values
from kymatui.helm.language.templates import TemplateSet

FILE: Final = "c/templates/t.txt"

VALUES: Final[dict[str, Any]] = {
    "a": "x",
    "n": None,
    "m": {"a": 1.0, "b": "two", "c": None},
    "l": ["a", "b", "c"],
    "f": 2.5,
    "s": "str",
    "e": [],
    "lm": [{"a": "x"}],
    "ln": [None, 1.0],
    "mm": {"x": {"y": {"z": None}}},
}
"""What the tables render with; numbers of a values file are floats, as in Helm."""


def render(
    template: str,
    values: dict[str, Any] | None = None,
    *,
    files: Mapping[str, str] | None = None,
    functions: Mapping[str, Function] | None = None,
    environment: Environment | None = None,
) -> str:
    """The text of `c/templates/t.txt`; HelmError as `helm template` would say it."""
    root = Values(
        {
            "Values": Values(copy.deepcopy(VALUES if values is None else values)),
            "Release": {"Name": "rel", "Namespace": "ns", "IsInstall": True, "Revision": 1, "Service": "Helm"},
            "Template": Values({"Name": FILE, "BasePath": "c/templates"}),
        }
    )
    templates = TemplateSet.parse({FILE: template, **(files or {})}, functions or {})
    return templates.execute(FILE, root, environment or Environment())
