"""Charts examined as `helm lint` examines them: what will fail is an error, what breaks with convention a warning.

`lint(path, values, Linting())` reads a folder or an archive and gives back its messages, in helm's order and words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kymatui.errors import HelmError
from kymatui.helm.archives import ChartFile, read_archive
from kymatui.helm.capabilities import KUBE_VERSION
from kymatui.helm.charts import Chart, load_files, read_directory
from kymatui.helm.coalescing import coalesce_tables
from kymatui.helm.deprecations import deprecation
from kymatui.helm.govalues.text import from_bytes, to_bytes
from kymatui.helm.govalues.types import go_type
from kymatui.helm.metadata import FIELDS, NESTED_FIELDS, Metadata, read_into
from kymatui.helm.naming import name_problems
from kymatui.helm.rendering import render_to_lint
from kymatui.helm.semver.constraints import parse_constraint
from kymatui.helm.semver.versions import SemverError, parse_strict_version, parse_version
from kymatui.helm.values import load_values, split_documents
from kymatui.helm.yaml import YamlError, load_yaml


class Severity(IntEnum):
    """How bad it is, as helm ranks it."""

    INFO = 1
    WARNING = 2
    ERROR = 3


@dataclass(frozen=True, slots=True)
class Message:
    """One line of the report: `where` is a file of the chart, or "" for all of it."""

    severity: Severity
    where: str
    text: str

    def __str__(self) -> str:
        return f"[{self.severity.name}] {self.where}: {self.text}"


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that was found; `problem` says why a path is no chart at all."""

    messages: tuple[Message, ...] = ()
    problem: str = ""

    @property
    def is_noticed(self) -> bool:
        """Whether there is anything worse than information."""
        return bool(self.problem) or any(message.severity > Severity.INFO for message in self.messages)

    def failed(self, *, strict: bool = False) -> bool:
        """Whether the chart fails; with `strict`, warnings are enough."""
        lowest = Severity.WARNING if strict else Severity.ERROR
        return bool(self.problem) or any(message.severity >= lowest for message in self.messages)

    def lines(self, *, quiet: bool = False) -> Iterator[str]:
        """The report as helm prints it."""
        if self.problem:
            yield f"Error {self.problem}"
        for message in self.messages:
            if not quiet or message.severity > Severity.INFO:
                yield str(message)


@dataclass(frozen=True, slots=True)
class Linting:
    """For which namespace and which Kubernetes ("" for helm's own default) a chart is examined."""

    namespace: str = "default"
    kube_version: str = ""
    check_schema: bool = True


@dataclass(slots=True)
class _Examination:
    """One chart under examination."""

    path: Path
    files: dict[str, bytes]
    values: Mapping[str, Any]
    linting: Linting
    messages: list[Message] = field(default_factory=list)

    def say(self, severity: Severity, where: str, text: str) -> None:
        self.messages.append(Message(severity, where, text))

    def load(self) -> Chart:
        return load_files([ChartFile(name, data) for name, data in self.files.items()])


def lint(path: str | Path, values: Mapping[str, Any] | None = None, linting: Linting | None = None) -> Result:
    """Examines a folder or an archive; what cannot be read is a result too, never an exception."""
    place = Path(path)
    try:
        files = _read(place)
    except (HelmError, OSError) as error:
        return Result(problem=f"unable to open chart {place}: {error}")
    if "Chart.yaml" not in files:
        missing = place / "Chart.yaml"
        return Result(problem=f"unable to check Chart.yaml file in chart: stat {missing}: no such file or directory")
    examination = _Examination(place, files, values or {}, linting or Linting())
    _chart_file(examination)
    _values_file(examination)
    _templates(examination)
    _dependencies(examination)
    _definitions(examination)
    return Result(tuple(examination.messages))


def _read(place: Path) -> dict[str, bytes]:
    if not place.exists():
        return {}
    found = read_directory(place) if place.is_dir() else read_archive(place.read_bytes())
    return {file.name: file.data for file in found}


# Chart.yaml


def _chart_file(examined: _Examination) -> None:
    metadata = Metadata()
    try:
        read_into(metadata, examined.files["Chart.yaml"])
        fields = load_yaml(from_bytes(examined.files["Chart.yaml"]))
    except (YamlError, HelmError) as error:
        examined.say(Severity.ERROR, "Chart.yaml", f"unable to parse YAML\n\t{error}")
        return
    fields = fields if isinstance(fields, dict) else {}
    unknown = _unknown_field(fields)
    if unknown:
        reason = f'error unmarshaling JSON: while decoding JSON: json: unknown field "{unknown}"'
        examined.say(Severity.WARNING, "Chart.yaml", f"failed to strictly parse chart metadata file\n\t{reason}")
    for severity, text in _metadata_faults(metadata, fields):
        examined.say(severity, "Chart.yaml", text)


def _unknown_field(fields: Mapping[str, Any]) -> str:
    """The first field that Chart.yaml does not have, in the order of names; "" where there is none."""
    for name in sorted(fields):
        inner = NESTED_FIELDS.get(name)
        if name not in FIELDS:
            return name
        for entry in fields[name] if inner is not None and isinstance(fields[name], list) else ():
            found = sorted(key for key in entry if key not in inner) if inner and isinstance(entry, dict) else []
            if found:
                return str(found[0])
    return ""


def _metadata_faults(metadata: Metadata, fields: Mapping[str, Any]) -> Iterator[tuple[Severity, str]]:
    if not metadata.name:
        yield Severity.ERROR, "name is required"
    elif "/" in metadata.name:
        yield Severity.ERROR, f'chart name "{metadata.name}" is invalid'
    if not metadata.api_version:
        yield Severity.ERROR, 'apiVersion is required. The value must be either "v1" or "v2"'
    elif metadata.api_version not in ("v1", "v2"):
        text = f'apiVersion \'{metadata.api_version}\' is not valid. The value must be either "v1" or "v2"'
        yield Severity.ERROR, text
    yield from _type_faults("version", fields)
    yield from _version_faults(metadata.version)
    yield from _type_faults("appVersion", fields)
    yield from ((Severity.ERROR, text) for text in _people_faults(metadata))
    if not metadata.icon:
        yield Severity.INFO, "icon is recommended"
    elif not _is_url(metadata.icon):
        yield Severity.ERROR, f"invalid icon URL '{metadata.icon}'"
    if metadata.type and metadata.api_version != "v2":
        version = metadata.api_version
        yield Severity.ERROR, f"chart type is not valid in apiVersion '{version}'. It is valid in apiVersion 'v2'"
    if metadata.dependencies and metadata.api_version != "v2":
        yield (
            Severity.ERROR,
            f"dependencies are not valid in the Chart file with apiVersion '{metadata.api_version}'."
            " They are valid in apiVersion 'v2'",
        )
    try:
        parse_strict_version(metadata.version)
    except SemverError:
        yield Severity.WARNING, f"version '{metadata.version}' is not a valid SemVerV2"


def _type_faults(key: str, fields: Mapping[str, Any]) -> Iterator[tuple[Severity, str]]:
    value = fields.get(key, "")
    if not isinstance(value, str):
        yield Severity.ERROR, f"{key} should be of type string but it's of type {go_type(value)}"


def _version_faults(text: str) -> Iterator[tuple[Severity, str]]:
    if not text:
        yield Severity.ERROR, "version is required"
        return
    try:
        version = parse_version(text)
    except SemverError:
        yield Severity.ERROR, f"version '{text}' is not a valid SemVer"
        return
    refusals = parse_constraint(">0.0.0-0").refusals(version)
    if refusals:
        yield Severity.ERROR, f"version {refusals[0]}"


def _people_faults(metadata: Metadata) -> Iterator[str]:
    for person in metadata.maintainers:
        if not person.name or person.name == "\0":
            yield "each maintainer requires a name" if not person.name else "a maintainer entry is empty"
        elif person.email and not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", person.email):
            yield f"invalid email '{person.email}' for maintainer '{person.name}'"
        elif person.url and not (_is_url(person.url) or _is_url(f"http://{person.url}")):
            yield f"invalid url '{person.url}' for maintainer '{person.name}'"
        else:
            continue
        break
    for source in metadata.sources:
        if not _is_url(source):
            yield f"invalid source URL '{source}'"
            break


def _is_url(text: str) -> bool:
    """What can be requested: a scheme and something behind it."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) and bool(parts.netloc or parts.path) and ":" in text


# values.yaml


def _values_file(examined: _Examination) -> None:
    name = "values.yaml"
    if name not in examined.files:
        examined.say(Severity.INFO, name, "file does not exist")
        return
    try:
        values = load_values(examined.files[name])
    except (YamlError, HelmError) as error:
        examined.say(Severity.ERROR, name, f"unable to parse YAML: {error}")
        return
    schema = examined.files.get("values.schema.json")
    if schema and examined.linting.check_schema:
        from kymatui.helm.schemas.validating import validate

        merged = coalesce_tables(dict(examined.values), values, merge=False)
        problem = validate(merged, schema)
        if problem:
            # a list of problems ends its last line, a single reason does not: as helm prints them
            examined.say(Severity.ERROR, name, problem if problem.startswith("- ") else problem.rstrip("\n"))


# templates


def _templates(examined: _Examination) -> None:
    where = "templates/"
    if not any(name.startswith("templates/") for name in examined.files):
        examined.say(Severity.WARNING, where, "directory does not exist")
        return
    try:
        chart = examined.load()
        files = _render(chart, examined)
    except (HelmError, YamlError) as error:
        examined.say(Severity.ERROR, where, str(error))
        return
    for template in chart.templates:
        if not _template(examined, template.name, files.get(f"{chart.name}/{template.name}", "")):
            return


def _render(chart: Chart, examined: _Examination) -> dict[str, str]:
    linting = examined.linting
    return render_to_lint(
        chart,
        examined.values,
        namespace=linting.namespace,
        kube_version=linting.kube_version or KUBE_VERSION,
        check_schema=linting.check_schema,
    )


def _template(examined: _Examination, name: str, text: str) -> bool:
    """False where the text cannot be read, which ends the examination of templates as in helm."""
    ending = Path(name).suffix
    if ending not in (".yaml", ".yml", ".tpl", ".txt"):
        message = f"file extension '{ending}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"
        examined.say(Severity.ERROR, name, message)
    if ending.lower() not in (".yaml", ".yml") or not text.strip():
        return True
    first = next(line for line in text.splitlines() if line.strip())
    if first.startswith((" ", "\t")):
        message = f'document starts with an illegal indent: "{first}", which may cause parsing problems'
        examined.say(Severity.WARNING, name, message)
    try:
        for document in split_documents(to_bytes(text)):
            body = load_yaml(from_bytes(document))
            if isinstance(body, dict):
                _object(examined, name, body, text)
    except YamlError as error:
        examined.say(Severity.ERROR, name, f"unable to parse YAML: {error}")
        return False
    return True


def _object(examined: _Examination, where: str, body: Mapping[str, Any], text: str) -> None:
    kind, metadata = str(body.get("kind") or ""), body.get("metadata")
    name = str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
    for problem in name_problems(kind, name):
        quoted = f'metadata.name: Invalid value: "{name}": {problem}'
        text_ = f'object name does not conform to Kubernetes naming requirements: "{name}": {quoted}'
        examined.say(Severity.WARNING, where, text_)
    old = deprecation(str(body.get("apiVersion") or ""), kind, _kubernetes(examined.linting))
    if old is not None:
        examined.say(Severity.WARNING, where, str(old))
    selects = "matchLabels" in text or "matchExpressions" in text
    if kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet") and not selects:
        message = f'a {kind} must contain matchLabels or matchExpressions, and "{name}" does not'
        examined.say(Severity.ERROR, where, message)
    if kind == "List" and any("helm.sh/resource-policy" in _annotations(one) for one in body.get("items") or ()):
        examined.say(Severity.ERROR, where, "annotation 'helm.sh/resource-policy' within List objects are ignored")


def _annotations(body: object) -> Mapping[str, Any]:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _kubernetes(linting: Linting) -> tuple[int, int]:
    version = parse_version(linting.kube_version or KUBE_VERSION)
    return version.major, version.minor


# dependencies and CRDs


def _dependencies(examined: _Examination) -> None:
    try:
        chart = examined.load()
    except (HelmError, YamlError) as error:
        examined.say(Severity.ERROR, "", f"unable to load chart\n\t{error}")
        return
    wanted = chart.metadata.dependencies or []
    names, there = [one.name for one in wanted], [one.name for one in chart.dependencies]
    where = str(examined.path.absolute())
    unknown = [name for name in there if name not in names]
    if unknown:
        examined.say(Severity.ERROR, where, f"chart metadata is missing these dependencies: {','.join(unknown)}")
    keys = [one.alias or one.name for one in wanted]
    twice = [key for index, key in enumerate(keys) if key in keys[:index]]
    if twice:
        examined.say(Severity.ERROR, where, f"multiple dependencies with name or alias: {','.join(twice)}")
    absent = [name for name in names if name not in there]
    if absent:
        examined.say(Severity.WARNING, where, f"chart directory is missing these dependencies: {','.join(absent)}")


def _definitions(examined: _Examination) -> None:
    """The chart's own crds/, and where it has that, those of the charts below it, under the same names."""
    if not any(name.startswith("crds/") for name in examined.files):
        return
    try:
        chart = examined.load()
    except (HelmError, YamlError) as error:
        examined.say(Severity.ERROR, "crds/", str(error))
        return
    for name, data in _crd_files(chart):
        try:
            for document in split_documents(data):
                body = load_yaml(from_bytes(document))
                if isinstance(body, dict):
                    _definition(examined, name, body)
        except YamlError as error:
            examined.say(Severity.ERROR, name, f"unable to parse YAML: {error}")
            return


def _crd_files(chart: Chart) -> Iterator[ChartFile]:
    yield from chart.crd_files()
    for child in chart.dependencies:
        yield from _crd_files(child)


def _definition(examined: _Examination, name: str, body: Mapping[str, Any]) -> None:
    if not str(body.get("apiVersion") or "").startswith("apiextensions.k8s.io"):
        examined.say(Severity.ERROR, name, "apiVersion is not in 'apiextensions.k8s.io'")
    if body.get("kind") != "CustomResourceDefinition":
        examined.say(Severity.ERROR, name, "object kind is not 'CustomResourceDefinition'")
