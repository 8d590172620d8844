"""helm lint on values.yaml, dependencies and crds/."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.errors import HelmError
from kymatui.helm.charts.archives import ChartFile
from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.coalesce import coalesce_tables
from kymatui.helm.charts.values import load_values, split_documents
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.linting.results import Examination, LintSeverity
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_yaml


def examine_values_file(examined: Examination) -> None:
    name = "values.yaml"
    try:
        data = examined.raw(name)
        if data is None:
            examined.add(LintSeverity.INFO, name, "file does not exist")
            return
        values = load_values(data)
    except (YamlError, HelmError) as error:
        reason = error.__cause__ if isinstance(error.__cause__, YamlError) else error
        examined.add(LintSeverity.ERROR, name, f"unable to parse YAML: {reason}")
        return
    schema = examined.raw("values.schema.json")
    if schema and examined.linting.check_schema:
        from kymatui.helm.schemas.validating import validate

        merged = coalesce_tables(dict(examined.values), values, merge=False)
        problem = validate(merged, schema)
        if problem:
            examined.add(LintSeverity.ERROR, name, problem)


def examine_dependencies(examined: Examination) -> None:
    try:
        chart = examined.load()
    except (HelmError, YamlError) as error:
        examined.add(LintSeverity.ERROR, "", f"unable to load chart\n\t{error}")
        return
    dependencies = chart.metadata.dependencies or []
    names, chart_names = (
        [dependency.name for dependency in dependencies],
        [subchart.name for subchart in chart.dependencies],
    )
    where = str(examined.path.absolute())
    unknown = [name for name in chart_names if name not in names]
    if unknown:
        examined.add(LintSeverity.ERROR, where, f"chart metadata is missing these dependencies: {','.join(unknown)}")
    keys = [dependency.alias or dependency.name for dependency in dependencies]
    twice = [key for index, key in enumerate(keys) if key in keys[:index]]
    if twice:
        examined.add(LintSeverity.ERROR, where, f"multiple dependencies with name or alias: {','.join(twice)}")
    absent = [name for name in names if name not in chart_names]
    if absent:
        examined.add(LintSeverity.WARNING, where, f"chart directory is missing these dependencies: {','.join(absent)}")


def examine_definitions(examined: Examination) -> None:
    """Lint the chart's crds/ and, if it exists, those of its dependencies under the same names."""
    if not any(name.startswith("crds/") for name in examined.files):
        return
    try:
        chart = examined.load()
    except (HelmError, YamlError) as error:
        examined.add(LintSeverity.ERROR, "crds/", str(error))
        return
    for name, data in _crd_files(chart):
        try:
            for document in split_documents(data):
                body = load_yaml(from_bytes(document))
                if isinstance(body, dict):
                    _definition(examined, name, body)
        except YamlError as error:
            examined.add(LintSeverity.ERROR, name, f"unable to parse YAML: {error}")
            return


def _crd_files(chart: Chart) -> Iterator[ChartFile]:
    yield from chart.crd_files()
    for child in chart.dependencies:
        yield from _crd_files(child)


def _definition(examined: Examination, name: str, body: Mapping[str, Any]) -> None:
    if not str(body.get("apiVersion") or "").startswith("apiextensions.k8s.io"):
        examined.add(LintSeverity.ERROR, name, "apiVersion is not in 'apiextensions.k8s.io'")
    if body.get("kind") != "CustomResourceDefinition":
        examined.add(LintSeverity.ERROR, name, "object kind is not 'CustomResourceDefinition'")
