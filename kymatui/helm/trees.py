"""A chart with its dependencies as one rendering has them: aliases, conditions and imports change this alone."""

from __future__ import annotations

from typing import Any

from kymatui.helm.charts import Chart
from kymatui.helm.metadata import Metadata


class ChartNode:
    """One chart in its place: its own name (an alias), its own values (imports), its own choice of dependencies."""

    __slots__ = ("chart", "dependencies", "metadata", "parent", "values")

    def __init__(self, chart: Chart, metadata: Metadata, values: dict[str, Any]) -> None:
        self.chart = chart
        self.metadata = metadata
        self.values = values
        self.dependencies: list[ChartNode] = []
        self.parent: ChartNode | None = None

    @classmethod
    def of(cls, chart: Chart) -> ChartNode:
        """The whole tree below a chart, as it was loaded."""
        node = cls(chart, chart.metadata.copy(), chart.values)
        node.adopt([cls.of(child) for child in chart.dependencies])
        return node

    def adopt(self, children: list[ChartNode]) -> None:
        self.dependencies = children
        for child in children:
            child.parent = self

    def renamed(self, alias: str) -> ChartNode:
        """A copy under an alias, or under its own name where that is empty, with copies of its dependencies."""
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
        """Where its files are in what is rendered: "parent/charts/name"."""
        return f"{self.parent.path}/charts/{self.name}" if self.parent else self.name
