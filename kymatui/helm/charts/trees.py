"""A chart tree of one rendering; aliases, conditions and imports change only this tree."""

from __future__ import annotations

from typing import Any

from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.metadata import Metadata


class ChartNode:
    """One chart in the tree: with its own name (alias), values (imports) and dependencies."""

    __slots__ = ("chart", "dependencies", "metadata", "parent", "values")

    def __init__(self, chart: Chart, metadata: Metadata, values: dict[str, Any]) -> None:
        self.chart = chart
        self.metadata = metadata
        self.values = values
        self.dependencies: list[ChartNode] = []
        self.parent: ChartNode | None = None

    @classmethod
    def of(cls, chart: Chart) -> ChartNode:
        """Return the whole tree of a loaded chart."""
        node = cls(chart, chart.metadata.copy(), chart.values)
        node.adopt([cls.of(child) for child in chart.dependencies])
        return node

    def adopt(self, children: list[ChartNode]) -> None:
        self.dependencies = children
        for child in children:
            child.parent = self

    def renamed(self, alias: str) -> ChartNode:
        """Return a copy under an alias (or the same name for ""), with copies of its dependencies."""
        metadata = self.metadata.copy()
        if alias:
            metadata.name = alias
        node = ChartNode(self.chart, metadata, self.values)
        node.adopt([child.duplicate() for child in self.dependencies])
        return node

    def duplicate(self) -> ChartNode:
        node = ChartNode(self.chart, self.metadata.copy(), self.values)
        node.adopt([child.duplicate() for child in self.dependencies])
        return node

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def is_root(self) -> bool:
        return self.parent is None

    @property
    def path(self) -> str:
        """Return the path of its files in rendered output: "parent/charts/name"."""
        return f"{self.parent.path}/charts/{self.name}" if self.parent else self.name
