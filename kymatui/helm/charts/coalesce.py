"""Coalescing of values: those of a chart, its dependencies and the user, as in Helm.

`merge` keeps nulls (they delete values in later steps), otherwise nulls are dropped. All functions change `target` in
place; values of charts are copied first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.charts.trees import ChartNode
from kymatui.helm.charts.warnings import Warnings
from kymatui.helm.govalues.printf import sprintf
from kymatui.helm.govalues.types import describe_type
from kymatui.helm.yaml.conversions import copy_plain

GLOBAL: Final = "global"

Table = dict[str, Any]


def coalesce_values(node: ChartNode, values: Mapping[str, Any], warnings: Warnings | None = None) -> Table:
    """Return the user's values over those of chart and dependencies; nulls delete. Raise HelmError."""
    return _coalesce(node, copy_plain(dict(values)), "", warnings or Warnings(), merge=False)


def merged_values(node: ChartNode) -> Table:
    """Return the values of a chart and its dependencies, with nulls. Raise HelmError."""
    return _coalesce(node, {}, "", Warnings(), merge=True)


def reuse_values(values: dict[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` over those of a release, as `helm upgrade --reset-then-reuse-values`. Raise HelmError.

    Tables are merged, lists replaced; null drops the release's value, so that the chart's default counts again.
    """
    try:
        return coalesce_tables(values, copy_plain(dict(earlier)), merge=False)
    except RecursionError as error:
        raise HelmError("values are nested too deeply") from error


def _coalesce(node: ChartNode, target: Table, path: str, warnings: Warnings, *, merge: bool) -> Table:
    _coalesce_own(node, target, path, warnings, merge)
    for child in node.dependencies:
        name = child.name
        inner = target.setdefault(name, {})
        if not isinstance(inner, dict):
            raise HelmError(f"type mismatch on {name}: {_as_bool(inner)}")
        below = f"{path}{name}."
        _coalesce_globals(inner, target, below, warnings)
        _coalesce(child, inner, below, warnings, merge=merge)
    return target


def _as_bool(value: Any) -> str:
    """Return Go's %t of a value that is no table."""
    return sprintf("%t", value)


def _coalesce_own(node: ChartNode, target: Table, path: str, warnings: Warnings, merge: bool) -> None:
    children: set[str] | None = None
    for key, value in copy_plain(node.values).items():
        if key not in target:
            target[key] = value
            continue
        current = target[key]
        if current is None and not merge:
            del target[key]
        elif isinstance(current, dict) and isinstance(value, dict):
            if children is None:
                children = {child.name for child in node.dependencies}
            coalesce_tables(current, value, merge=merge or key in children, path=f"{path}{key}.", warnings=warnings)
        elif isinstance(current, dict) and value is not None:
            _warn_not_a_table(f"{path}{key}", value, warnings)


def _warn_not_a_table(key: str, default: Any, warnings: Warnings) -> None:
    warnings.add(f"the value {key} is a table, but the chart has {describe_type(default)} there, which is dropped", key)


def _coalesce_globals(target: Table, source: Table, path: str, warnings: Warnings) -> None:
    """Merge the globals of a chart into those of its dependency; the chart's win."""
    own, above = target.get(GLOBAL, {}), source.get(GLOBAL, {})
    if GLOBAL in target and not isinstance(own, dict):
        key = f"{path}{GLOBAL}"
        warnings.add(f"the value {key} is no table: the globals of the chart above are left out", key)
        return
    if GLOBAL in source and not isinstance(above, dict):
        warnings.add(f"the value {GLOBAL} is no table: {path.rstrip('.')} gets no globals", GLOBAL)
        return
    for key, value in above.items():
        if isinstance(value, dict):
            copied = dict(value)
            if key not in own:
                own[key] = copied
            elif isinstance(own[key], dict):
                coalesce_tables(copied, own[key], merge=True)
                own[key] = copied
            else:
                _warn_not_a_table(f"{GLOBAL}.{key}", own[key], warnings)
        elif not isinstance(own.get(key), dict):
            own[key] = value
        else:
            warnings.add(f"the value {GLOBAL}.{key} is no table, but one in {path.rstrip('.')}, which keeps it", GLOBAL)
    target[GLOBAL] = own


def coalesce_tables(
    target: Table, source: Table, *, merge: bool, path: str = "", warnings: Warnings | None = None
) -> Table:
    """Add the entries of `source` that `target` lacks; `source` is consumed. `path` ends with a dot in `warnings`."""
    filled = {key for key, value in source.items() if value is not None}
    for key, value in target.items():
        if value is None:
            source[key] = None
    for key, value in source.items():
        if key not in target:
            target[key] = value
            continue
        current = target[key]
        if current is None and not merge and key in filled:
            del target[key]
        elif isinstance(value, dict) and isinstance(current, dict):
            coalesce_tables(current, value, merge=merge, path=f"{path}{key}." if warnings else "", warnings=warnings)
        elif warnings is not None and isinstance(value, dict) and current is not None:
            name = f"{path}{key}"
            warnings.add(f"the value {name} is {describe_type(current)} and replaces a table of the chart", name)
        elif warnings is not None and isinstance(current, dict) and value is not None:
            _warn_not_a_table(f"{path}{key}", value, warnings)
    return target
