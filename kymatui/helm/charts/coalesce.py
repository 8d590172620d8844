"""Coalescing of values: those of a chart, its dependencies and the user, as in Helm.

`merge` keeps nulls (they delete values in later steps), otherwise nulls are dropped. All functions change `target` in
place; values of charts are copied first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.charts.trees import ChartNode
from kymatui.helm.govalues.printf import sprintf
from kymatui.helm.yaml.conversions import copy_plain

GLOBAL: Final = "global"

Table = dict[str, Any]


def coalesce_values(node: ChartNode, values: Mapping[str, Any]) -> Table:
    """Return the user's values over those of chart and dependencies; nulls delete. Raise HelmError."""
    return _coalesce(node, copy_plain(dict(values)), merge=False)


def merged_values(node: ChartNode) -> Table:
    """Return the values of a chart and its dependencies, with nulls. Raise HelmError."""
    return _coalesce(node, {}, merge=True)


def reuse_values(values: dict[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` over those of a release, as `helm upgrade --reset-then-reuse-values`. Raise HelmError.

    Tables are merged, lists replaced; null drops the release's value, so that the chart's default counts again.
    """
    try:
        return coalesce_tables(values, copy_plain(dict(earlier)), merge=False)
    except RecursionError as error:
        raise HelmError("values are nested too deeply") from error


def _coalesce(node: ChartNode, target: Table, *, merge: bool) -> Table:
    _coalesce_own(node, target, merge)
    for child in node.dependencies:
        name = child.name
        inner = target.setdefault(name, {})
        if not isinstance(inner, dict):
            raise HelmError(f"type mismatch on {name}: {_as_bool(inner)}")
        _coalesce_globals(inner, target)
        _coalesce(child, inner, merge=merge)
    return target


def _as_bool(value: Any) -> str:
    """Return Go's %t of a value that is no table."""
    return sprintf("%t", value)


def _coalesce_own(node: ChartNode, target: Table, merge: bool) -> None:
    children: set[str] | None = None
    for key, value in copy_plain(node.values).items():
        if key not in target:
            target[key] = value
            continue
        given = target[key]
        if given is None and not merge:
            del target[key]
        elif isinstance(given, dict) and isinstance(value, dict):
            if children is None:
                children = {child.name for child in node.dependencies}
            coalesce_tables(given, value, merge=merge or key in children)


def _coalesce_globals(target: Table, source: Table) -> None:
    """Merge the globals of a chart into those of its dependency; the chart's win."""
    own, above = target.get(GLOBAL, {}), source.get(GLOBAL, {})
    if GLOBAL in target and not isinstance(own, dict):
        return
    if GLOBAL in source and not isinstance(above, dict):
        return
    for key, value in above.items():
        if isinstance(value, dict):
            copied = dict(value)
            if key not in own:
                own[key] = copied
            elif isinstance(own[key], dict):
                coalesce_tables(copied, own[key], merge=True)
                own[key] = copied
        elif not isinstance(own.get(key), dict):
            own[key] = value
    target[GLOBAL] = own


def coalesce_tables(target: Table, source: Table, *, merge: bool) -> Table:
    """Add the entries of `source` that `target` lacks; `source` is consumed."""
    filled = {key for key, value in source.items() if value is not None}
    for key, value in target.items():
        if value is None:
            source[key] = None
    for key, value in source.items():
        if key not in target:
            target[key] = value
            continue
        given = target[key]
        if given is None and not merge and key in filled:
            del target[key]
        elif isinstance(value, dict) and isinstance(given, dict):
            coalesce_tables(given, value, merge=merge)
    return target
