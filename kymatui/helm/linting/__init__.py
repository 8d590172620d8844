"""`helm lint`: errors for what would fail, warnings for broken conventions.

`lint(path, values, Linting())` reads a folder or an archive and returns messages in helm's order and wording.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kymatui.errors import HelmError
from kymatui.helm.charts.archives import read_archive
from kymatui.helm.charts.chart import read_directory
from kymatui.helm.linting.chartfile import examine_chart_file
from kymatui.helm.linting.contents import examine_definitions, examine_dependencies, examine_values_file
from kymatui.helm.linting.results import Examination, Linting, LintResult, LintSeverity, Message
from kymatui.helm.linting.templates import examine_templates

__all__ = ["LintResult", "LintSeverity", "Linting", "Message", "lint"]


def lint(path: str | Path, values: Mapping[str, Any] | None = None, linting: Linting | None = None) -> LintResult:
    """Lint a folder or an archive; an unreadable one is a result, never an exception."""
    place = Path(path)
    try:
        files = _read(place)
    except (HelmError, OSError) as error:
        return LintResult(problem=f"unable to open chart {place}: {getattr(error, 'strerror', None) or error}")
    if "Chart.yaml" not in files:
        missing = place / "Chart.yaml"
        return LintResult(
            problem=f"unable to check Chart.yaml file in chart: stat {missing}: no such file or directory"
        )
    examination = Examination(place, files, values or {}, linting or Linting())
    examine_chart_file(examination)
    examine_values_file(examination)
    examine_templates(examination)
    examine_dependencies(examination)
    examine_definitions(examination)
    return LintResult(tuple(examination.messages))


def _read(root: Path) -> dict[str, bytes]:
    if not root.exists():
        return {}
    files = read_directory(root) if root.is_dir() else read_archive(root.read_bytes())
    return {file.name: file.data for file in files}
