"""Validation of a chart tree's values with the schemas of its charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.charts.trees import ChartNode
from kymatui.helm.govalues.types import go_type
from kymatui.helm.language.caching import CodeFolder

_HEADLINE: Final = "values don't meet the specifications of the schema(s) in the following chart(s):\n"


def check_schemas(node: ChartNode, values: Mapping[str, Any], folder: CodeFolder | None = None) -> None:
    """Validate the values of a chart and its dependencies. Raise HelmError.

    `folder` remembers the schemas that were accepted.
    """
    if problems := list(_problems(node, values, folder)):
        text = "".join(problem if problem.endswith("\n") else f"{problem}\n" for problem in problems[:-1])
        hint = "Correct the values, or use --skip-schema-validation."
        raise HelmError(_HEADLINE + text + problems[-1], hint=hint)


def _problems(node: ChartNode, values: Mapping[str, Any], folder: CodeFolder | None) -> Iterator[str]:
    if node.chart.schema is not None and (problem := _problem(values, node.chart.schema, folder)):
        yield f"{node.name}:\n{problem}"
    for child in node.dependencies:
        inner = values.get(child.name)
        if isinstance(inner, dict):
            yield from _problems(child, inner, folder)
        elif inner is not None:
            yield f"{child.name}:\ninvalid type for values: expected object (map), got {go_type(inner)}\n"


def _problem(values: Mapping[str, Any], schema: bytes, folder: CodeFolder | None) -> str:
    from kymatui.helm.schemas.quick_check import KnownSchemas, is_surely_valid  # most charts have no schema

    known = KnownSchemas(folder) if folder is not None else None
    if known is not None and known.has(schema) and is_surely_valid(values, schema):
        return ""
    from kymatui.helm.schemas.validating import validate  # takes 60 ms to import

    problem = validate(values, schema)
    if known is not None and not problem:
        known.add(schema)
    return problem
