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
from kymatui.helm.charts.warnings import Warnings
from kymatui.helm.govalues.printing import format_value
from kymatui.helm.govalues.types import TypedMap, describe_type
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


def process_dependencies(chart: Chart, values: Table, warnings: Warnings) -> ChartNode:
    """Return the tree of enabled charts for a rendering with these values. Raise HelmError."""
    node = ChartNode.of(chart)
    try:
        _choose(node, values, "", warnings)
        _import_values(node, warnings)
    except HelmError as error:
        raise HelmError(f"chart dependencies processing failed: {error}") from error
    return node


def check_installable(chart: Chart) -> None:
    """Raise HelmError for a library chart, and for one without its dependencies, as helm does before a command."""
    if chart.metadata.type not in ("", "application"):
        raise HelmError(
            f"{chart.metadata.type} charts are not installable: {chart.name}",
            hint="Install a chart that depends on it.",
        )
    check_dependencies(chart)


def check_dependencies(chart: Chart) -> None:
    """Raise HelmError if charts/ lacks a dependency of Chart.yaml, as helm does before a command."""
    names = {child.name for child in chart.dependencies}
    missing = [dependency.name for dependency in chart.metadata.dependencies or () if dependency.name not in names]
    if missing:
        raise HelmError(
            f"found in Chart.yaml, but missing in charts/ directory: {', '.join(missing)}",
            hint="Fetch the dependencies first, as `helm dependency update` does.",
        )


def _choose(node: ChartNode, values: Table, path: str, warnings: Warnings) -> None:
    dependencies = node.metadata.dependencies
    if dependencies is None:
        return
    children = [
        child for child in node.dependencies if not any(_is_meant(child, declared) for declared in dependencies)
    ]
    for dependency in dependencies:
        subchart = next((child for child in node.dependencies if _is_meant(child, dependency)), None)
        if subchart is not None:
            children.append(subchart.renamed(dependency.alias))
        dependency.name = dependency.alias or dependency.name
        dependency.enabled = True
    node.adopt(children)
    coalesced = coalesce_values(node, values)
    _apply_tags(dependencies, coalesced, warnings)
    _apply_conditions(dependencies, coalesced, path, warnings)
    out = {declared.name for declared in dependencies if not declared.enabled}
    kept = [child for child in children if child.name not in out]
    for child in kept:
        _choose(child, coalesced, f"{path}{child.name}.", warnings)
    node.metadata.dependencies = [declared for declared in dependencies if declared.name not in out] or None
    node.adopt(kept)


def _is_meant(child: ChartNode, dependency: Dependency) -> bool:
    return child.name == dependency.name and is_compatible(dependency.version, child.metadata.version)


def _apply_tags(dependencies: list[Dependency], values: Table, warnings: Warnings) -> None:
    tags = values.get("tags")
    if not isinstance(tags, dict):
        return
    for dependency in dependencies:
        set_tags = {tag: tags[tag] for tag in dependency.tags if tag in tags}
        for tag, value in set_tags.items():
            if not isinstance(value, bool):
                _warn_no_boolean(f"tags.{tag}", value, f"the tag {tag} of {dependency.name}", warnings)
        switches = {tag: value for tag, value in set_tags.items() if isinstance(value, bool)}
        dependency.enabled = any(switches.values()) or not switches
        if len(set(switches.values())) > 1:
            on = next(tag for tag, value in switches.items() if value)
            off = next(tag for tag, value in switches.items() if not value)
            warnings.add(
                f"the tags of {dependency.name} overlap: {on} enables it, although {off} is false", f"tags.{off}"
            )


def _apply_conditions(dependencies: list[Dependency], values: Table, path: str, warnings: Warnings) -> None:
    for dependency in dependencies:
        for condition in dependency.condition.strip().split(","):
            value = path_value(values, path + condition) if condition else _NOTHING
            if isinstance(value, bool):
                dependency.enabled = value
                break
            if value is not _NOTHING and value is not None:
                _warn_no_boolean(path + condition, value, f"the condition of {dependency.name}", warnings)


def _warn_no_boolean(key: str, value: Any, subject: str, warnings: Warnings) -> None:
    warnings.add(f"{subject} is ignored: the value {key} is {describe_type(value)}, not true or false", key)


def path_value(values: Table, path: str) -> Any:
    """Return the value at a dotted path unless it is a table; `_NOTHING` if there is none."""
    *above, key = path.split(".")
    table = table_at(values, above)
    if table is None or key not in table or isinstance(table[key], dict):
        return _NOTHING
    return table[key]


def has_value(values: Table, path: str) -> bool:
    *above, key = path.split(".")
    table = table_at(values, above)
    return table is not None and key in table


def table_at(values: Table, path: list[str]) -> Table | None:
    table: Any = values
    for name in path:
        table = table.get(name)
        if not isinstance(table, dict):
            return None
    return table if isinstance(table, dict) else None


def _import_values(node: ChartNode, warnings: Warnings) -> None:
    for child in node.dependencies:
        _import_values(child, warnings)
    dependencies = node.metadata.dependencies
    if dependencies is None:
        return
    own = merged_values(node)
    imported: Table = {}
    for dependency in dependencies:
        rules = [rule for entry in dependency.import_values if (rule := _rule(entry)) is not None]
        for source, parent in rules:
            table = table_at(own, [*dependency.name.split("."), *source.split(".")])
            if table is not None:
                # As Values.AsMap, which returns an empty table as a new one: siblings must not merge into it.
                coalesce_tables(imported, _at_path(parent, table or {}), merge=True)
            else:
                warnings.add(f"{node.name} imports values of {dependency.name} that do not exist there: {source}")
        dependency.import_values = [
            TypedMap("map[string]string", {"child": source, "parent": target_path}) for source, target_path in rules
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
