"""Dependencies of a chart: enablement, aliases, and imported values.

Helm's ProcessDependencies: aliases, version ranges, tags, conditions, then import-values from the leaves up.
"""

from __future__ import annotations

from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.coalesce import Table, coalesce_tables, coalesce_values, merged_values
from kymatui.helm.charts.metadata import Dependency
from kymatui.helm.charts.trees import ChartNode
from kymatui.helm.govalues.printing import format_value
from kymatui.helm.govalues.types import TypedMap
from kymatui.helm.semver.constraints import parse_constraint
from kymatui.helm.semver.versions import SemverError, parse_version
from kymatui.helm.yaml.conversions import copy_plain

_NOTHING: Final = object()


def is_compatible(constraint: str, version: str) -> bool:
    """Return whether a version is in a range; invalid versions and ranges never match."""
    try:
        return parse_constraint(constraint).check(parse_version(version))
    except SemverError:
        return False


def process_dependencies(chart: Chart, values: Table) -> ChartNode:
    """Return the tree of enabled charts for a rendering with these values. Raise HelmError."""
    node = ChartNode.of(chart)
    try:
        _choose(node, values, "")
        _import_values(node)
    except HelmError as error:
        raise HelmError(f"chart dependencies processing failed: {error}") from error
    return node


def check_dependencies(chart: Chart) -> None:
    """Raise HelmError if charts/ lacks a dependency of Chart.yaml, as helm does before a command."""
    names = {child.name for child in chart.dependencies}
    missing = [one.name for one in chart.metadata.dependencies or () if one.name not in names]
    if missing:
        raise HelmError(
            f"found in Chart.yaml, but missing in charts/ directory: {', '.join(missing)}",
            hint="Fetch the dependencies first, as `helm dependency update` does.",
        )


def _choose(node: ChartNode, values: Table, path: str) -> None:
    wanted = node.metadata.dependencies
    if wanted is None:
        return
    children = [child for child in node.dependencies if not any(_is_meant(child, one) for one in wanted)]
    for one in wanted:
        found = next((child for child in node.dependencies if _is_meant(child, one)), None)
        if found is not None:
            children.append(found.renamed(one.alias))
        one.name = one.alias or one.name
        one.enabled = True
    node.adopt(children)
    coalesced = coalesce_values(node, values)
    _apply_tags(wanted, coalesced)
    _apply_conditions(wanted, coalesced, path)
    out = {one.name for one in wanted if not one.enabled}
    kept = [child for child in children if child.name not in out]
    for child in kept:
        _choose(child, coalesced, f"{path}{child.name}.")
    node.metadata.dependencies = [one for one in wanted if one.name not in out] or None
    node.adopt(kept)


def _is_meant(child: ChartNode, wanted: Dependency) -> bool:
    return child.name == wanted.name and is_compatible(wanted.version, child.metadata.version)


def _apply_tags(wanted: list[Dependency], values: Table) -> None:
    tags = values.get("tags")
    if not isinstance(tags, dict):
        return
    for one in wanted:
        said = [tags[tag] for tag in one.tags if isinstance(tags.get(tag), bool)]
        one.enabled = any(said) or not said


def _apply_conditions(wanted: list[Dependency], values: Table, path: str) -> None:
    for one in wanted:
        for condition in one.condition.strip().split(","):
            value = path_value(values, path + condition) if condition else _NOTHING
            if isinstance(value, bool):
                one.enabled = value
                break


def path_value(values: Table, path: str) -> Any:
    """Return the value at a dotted path unless it is a table; `_NOTHING` if there is none."""
    *above, key = path.split(".")
    table = table_at(values, above)
    if table is None or key not in table or isinstance(table[key], dict):
        return _NOTHING
    return table[key]


def table_at(values: Table, path: list[str]) -> Table | None:
    table: Any = values
    for name in path:
        table = table.get(name)
        if not isinstance(table, dict):
            return None
    return table if isinstance(table, dict) else None


def _import_values(node: ChartNode) -> None:
    for child in node.dependencies:
        _import_values(child)
    wanted = node.metadata.dependencies
    if wanted is None:
        return
    own = merged_values(node)
    imported: Table = {}
    for one in wanted:
        rules = [rule for entry in one.import_values if (rule := _rule(entry)) is not None]
        for source, place in rules:
            table = table_at(own, [*one.name.split("."), *source.split(".")])
            if table is not None:
                # As Values.AsMap, which returns an empty table as a new one: siblings must not merge into it.
                coalesce_tables(imported, _at_path(place, table or {}), merge=True)
        one.import_values = [
            TypedMap("map[string]string", {"child": source, "parent": place}) for source, place in rules
        ]
    # The imported values may share parts with the chart's own, and both are merged into each other.
    node.values = coalesce_tables(copy_plain(own), imported, merge=True)


def _rule(entry: Any) -> tuple[str, str] | None:
    """Return (table of the child, place in the parent) of an entry of import-values."""
    if isinstance(entry, str):
        return f"exports.{entry}", "."
    if isinstance(entry, dict):
        return format_value(entry.get("child")), format_value(entry.get("parent"))
    return None


def _at_path(path: str, table: Table) -> Table:
    if path == ".":
        return table
    for name in reversed(path.split(".")):
        table = {name: table}
    return table
