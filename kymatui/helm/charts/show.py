"""Output of `helm show`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kymatui.helm.charts.archives import ChartFile
from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.metadata import metadata_fields
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.yaml.writing import dump_yaml

What = Literal["all", "chart", "values", "readme", "crds"]
_READMES = ("readme.md", "readme.txt", "readme")


def shown(chart: Chart, what: What) -> str:
    """Return the text of `helm show`, "" if the chart lacks that part."""
    everything = what == "all"
    text = ""
    if what in ("all", "chart"):
        text += f"{dump_yaml(metadata_fields(chart.metadata))}\n"
    if what in ("all", "values"):
        raw = next((file for file in chart.raw if file.name == "values.yaml"), None)
        if raw is not None:
            text += ("---\n" if everything else "") + f"{from_bytes(raw.data)}\n"
    if what in ("all", "readme"):
        readme = _readme(chart)
        if readme is not None:
            text += ("---\n" if everything else "") + f"{from_bytes(readme.data)}\n"
    if what in ("all", "crds"):
        text += "".join(_crd(file) for file in _crds(chart))
    return text


def _readme(chart: Chart) -> ChartFile | None:
    return next((file for file in chart.files if file.name.lower() in _READMES), None)


def _crds(chart: Chart) -> Iterator[ChartFile]:
    yield from chart.crd_files()
    for dependency in chart.dependencies:
        yield from _crds(dependency)


def _crd(file: ChartFile) -> str:
    text = from_bytes(file.data)
    return f"{'' if text.startswith('---') else chr(45) * 3 + chr(10)}{text}\n"
