"""helm lint on templates: renders them and checks the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from kymatui.errors import HelmError
from kymatui.helm.charts.chart import Chart
from kymatui.helm.charts.structs import decode_yaml, struct
from kymatui.helm.charts.structs import text as text_field
from kymatui.helm.charts.values import split_documents
from kymatui.helm.govalues.text import from_bytes, to_bytes
from kymatui.helm.linting.deprecations import deprecation
from kymatui.helm.linting.results import Examination, Linting, LintSeverity
from kymatui.helm.rendering.capabilities import KUBE_VERSION
from kymatui.helm.rendering.object_names import name_problems
from kymatui.helm.rendering.render import render_to_lint
from kymatui.helm.semver.versions import parse_version
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_yaml


def examine_templates(examined: Examination) -> None:
    where = "templates/"
    if not any(name.startswith("templates/") for name in examined.files):
        examined.add(LintSeverity.WARNING, where, "directory does not exist")
        return
    try:
        chart = examined.load()
        files = _render(chart, examined)
    except (HelmError, YamlError) as error:
        examined.add(LintSeverity.ERROR, where, str(error))
        return
    for template in chart.templates:
        if not _template(examined, template.name, files.get(f"{chart.name}/{template.name}", "")):
            return


def _render(chart: Chart, examined: Examination) -> dict[str, str]:
    linting = examined.linting
    return render_to_lint(
        chart,
        examined.values,
        namespace=linting.namespace,
        kube_version=linting.kube_version or KUBE_VERSION,
        check_schema=linting.check_schema,
    )


def _template(examined: Examination, name: str, text: str) -> bool:
    """Check one rendered template; return False if it is unreadable, which ends the checks as in helm."""
    ending = Path(name).suffix
    if ending not in (".yaml", ".yml", ".tpl", ".txt"):
        message = f"file extension '{ending}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"
        examined.add(LintSeverity.ERROR, name, message)
    if ending.lower() not in (".yaml", ".yml") or not text.strip():
        return True
    first = next(line for line in text.splitlines() if line.strip())
    if first.startswith((" ", "\t")):
        message = f'document starts with an illegal indent: "{first}", which may cause parsing problems'
        examined.add(LintSeverity.WARNING, name, message)
    try:
        for document in split_documents(to_bytes(text)):
            head = decode_yaml(document, _HEAD)
            if head is not None:
                _object(examined, name, head, load_yaml(from_bytes(document)), text)
    except YamlError as error:
        examined.add(LintSeverity.ERROR, name, f"unable to parse YAML: {error}")
        return False
    return True


class _Head(NamedTuple):
    """What helm lint reads of an object."""

    api_version: str
    kind: str
    name: str


_METADATA: Final = struct(
    "rules.k8sYamlMetadata", {"Namespace": text_field, "Name": text_field}, lambda fields: fields.get("Name", "")
)
_HEAD: Final = struct(
    "rules.k8sYamlStruct",
    {"apiVersion": text_field, "Kind": text_field, "Metadata": _METADATA},
    lambda fields: _Head(fields.get("apiVersion", ""), fields.get("Kind", ""), fields.get("Metadata", "")),
)


def _object(examined: Examination, where: str, head: _Head, body: Mapping[str, Any], text: str) -> None:
    kind, name = head.kind, head.name
    for problem in name_problems(kind, name):
        quoted = f'metadata.name: Invalid value: "{name}": {problem}'
        text_ = f'object name does not conform to Kubernetes naming requirements: "{name}": {quoted}'
        examined.add(LintSeverity.WARNING, where, text_)
    old = deprecation(head.api_version, kind, _kubernetes(examined.linting))
    if old is not None:
        examined.add(LintSeverity.WARNING, where, str(old))
    selects = "matchLabels" in text or "matchExpressions" in text
    if kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet") and not selects:
        message = f'a {kind} must contain matchLabels or matchExpressions, and "{name}" does not'
        examined.add(LintSeverity.ERROR, where, message)
    if kind == "List" and any("helm.sh/resource-policy" in _annotations(item) for item in body.get("items") or ()):
        examined.add(LintSeverity.ERROR, where, "annotation 'helm.sh/resource-policy' within List objects are ignored")


def _annotations(body: object) -> Mapping[str, Any]:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    values = metadata.get("annotations") if isinstance(metadata, dict) else None
    return values if isinstance(values, dict) else {}


def _kubernetes(linting: Linting) -> tuple[int, int]:
    version = parse_version(linting.kube_version or KUBE_VERSION)
    return version.major, version.minor
