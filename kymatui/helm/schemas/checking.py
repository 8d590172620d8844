"""Validation of a chart tree's values with the schemas of its charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.charts.trees import ChartNode
from kymatui.helm.govalues.types import go_type

_HEADLINE: Final = "values don't meet the specifications of the schema(s) in the following chart(s):\n"


def check_schemas(node: ChartNode, values: Mapping[str, Any]) -> None:
    """Validate the values of a chart and its dependencies. Raise HelmError."""
    if problems := _problems(node, values):
        raise HelmError(_HEADLINE + problems)


def _problems(node: ChartNode, values: Mapping[str, Any]) -> str:
    found = ""
    if node.chart.schema is not None:
        from kymatui.helm.schemas.validating import validate  # takes 60 ms to import, and most charts have no schema

        problem = validate(values, node.chart.schema)
        found = f"{node.name}:\n{problem}" if problem else ""
    for child in node.dependencies:
        inner = values.get(child.name)
        if isinstance(inner, dict):
            found += _problems(child, inner)
        elif inner is not None:
            found += f"{child.name}:\ninvalid type for values: expected object (map), got {go_type(inner)}\n"
    return found
