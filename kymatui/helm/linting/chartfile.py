"""helm lint on Chart.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.charts.metadata import FIELDS, NESTED_FIELDS, Metadata, read_into
from kymatui.helm.functions.text.urls import parse as parse_url
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.govalues.types import go_type
from kymatui.helm.linting.results import Examination, LintSeverity
from kymatui.helm.semver.constraints import parse_constraint
from kymatui.helm.semver.versions import SemverError, parse_strict_version, parse_version
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_yaml
from kymatui.patterns import deferred


def examine_chart_file(examined: Examination) -> None:
    metadata = Metadata()
    try:
        read_into(metadata, examined.files["Chart.yaml"])
        fields = load_yaml(from_bytes(examined.files["Chart.yaml"]))
    except (YamlError, HelmError) as error:
        examined.add(LintSeverity.ERROR, "Chart.yaml", f"unable to parse YAML\n\t{error}")
        return
    fields = fields if isinstance(fields, dict) else {}
    if reason := _strict_fault(examined.files["Chart.yaml"], fields):
        examined.add(LintSeverity.WARNING, "Chart.yaml", f"failed to strictly parse chart metadata file\n\t{reason}")
    for severity, text in _metadata_faults(metadata, fields):
        examined.add(severity, "Chart.yaml", text)


def _strict_fault(data: bytes, fields: Mapping[str, Any]) -> str:
    """Return Go's error for repeated keys, else for an unknown field; "" if there are none."""
    try:
        load_yaml(from_bytes(data), strict=True)
    except YamlError as error:
        return str(error)
    unknown = _unknown_field(fields)
    return f'error unmarshaling JSON: while decoding JSON: json: unknown field "{unknown}"' if unknown else ""


def _unknown_field(fields: Mapping[str, Any]) -> str:
    """Return the first unknown field of Chart.yaml by name, "" if there is none; Go knows them in any case."""
    for name in sorted(fields):
        if not _knows(FIELDS, name):
            return name
        inner = NESTED_FIELDS.get(name.lower())
        if inner is None or not isinstance(fields[name], list):
            continue
        for entry in fields[name]:
            unknown = [key for key in sorted(entry) if not _knows(inner, key)] if isinstance(entry, dict) else []
            if unknown:
                return str(unknown[0])
    return ""


def _knows(names: frozenset[str], name: str) -> bool:
    return name in names or name.lower() in {known.lower() for known in names}


def _metadata_faults(metadata: Metadata, fields: Mapping[str, Any]) -> Iterator[tuple[LintSeverity, str]]:
    if not metadata.name:
        yield LintSeverity.ERROR, "name is required"
    elif "/" in metadata.name:
        yield LintSeverity.ERROR, f'chart name "{metadata.name}" is invalid'
    if not metadata.api_version:
        yield LintSeverity.ERROR, 'apiVersion is required. The value must be either "v1" or "v2"'
    elif metadata.api_version not in ("v1", "v2"):
        text = f'apiVersion \'{metadata.api_version}\' is not valid. The value must be either "v1" or "v2"'
        yield LintSeverity.ERROR, text
    yield from _type_faults("version", fields)
    yield from _version_faults(metadata.version)
    yield from _type_faults("appVersion", fields)
    yield from ((LintSeverity.ERROR, text) for text in _people_faults(metadata))
    if not metadata.icon:
        yield LintSeverity.INFO, "icon is recommended"
    elif not _is_url(metadata.icon):
        yield LintSeverity.ERROR, f"invalid icon URL '{metadata.icon}'"
    if metadata.type and metadata.api_version != "v2":
        version = metadata.api_version
        yield LintSeverity.ERROR, f"chart type is not valid in apiVersion '{version}'. It is valid in apiVersion 'v2'"
    if metadata.dependencies and metadata.api_version != "v2":
        yield (
            LintSeverity.ERROR,
            f"dependencies are not valid in the Chart file with apiVersion '{metadata.api_version}'."
            " They are valid in apiVersion 'v2'",
        )
    try:
        parse_strict_version(metadata.version)
    except SemverError:
        yield LintSeverity.WARNING, f"version '{metadata.version}' is not a valid SemVerV2"


def _type_faults(key: str, fields: Mapping[str, Any]) -> Iterator[tuple[LintSeverity, str]]:
    value = fields.get(key, "")
    if not isinstance(value, str):
        yield LintSeverity.ERROR, f"{key} should be of type string but it's of type {go_type(value)}"


def _version_faults(text: str) -> Iterator[tuple[LintSeverity, str]]:
    if not text:
        yield LintSeverity.ERROR, "version is required"
        return
    try:
        version = parse_version(text)
    except SemverError:
        yield LintSeverity.ERROR, f"version '{text}' is not a valid SemVer"
        return
    refusals = parse_constraint(">0.0.0-0").refusals(version)
    if refusals:
        yield LintSeverity.ERROR, f"version {refusals[0]}"


def _people_faults(metadata: Metadata) -> Iterator[str]:
    for person in metadata.maintainers:
        if not person.name or person.name == "\0":
            yield "each maintainer requires a name" if not person.name else "a maintainer entry is empty"
        elif person.email and not _EMAIL.fullmatch(person.email):
            yield f"invalid email '{person.email}' for maintainer '{person.name}'"
        elif person.url and not _is_address(person.url):
            yield f"invalid url '{person.url}' for maintainer '{person.name}'"
        else:
            continue
        break
    for source in metadata.sources:
        if not _is_url(source):
            yield f"invalid source URL '{source}'"
            break


_WIDE: Final = "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef"
_ATOM: Final = rf"[\w!#$%&'*+/=?^`{{|}}~{_WIDE}-]+"
_EMAIL: Final = deferred(
    rf"(?:{_ATOM}(?:\.{_ATOM})*|\"[^\"\\\r\n]*\")@"
    rf"[a-zA-Z0-9{_WIDE}](?:[\w.~{_WIDE}-]*[a-zA-Z0-9{_WIDE}])?\."
    rf"[a-zA-Z{_WIDE}](?:[\w~{_WIDE}-]*[a-zA-Z{_WIDE}])?\.?",
    re.ASCII,
)
_HOST: Final = r"\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9\u00a1-\uffff](?:[\w.\u00a1-\uffff-]*[a-zA-Z0-9\u00a1-\uffff])?"
_ADDRESS: Final = deferred(
    rf"(?:(?:ftp|tcp|udp|wss?|https?)://)?(?:\S+@)?(?:{_HOST})\.?(?::[0-9]{{1,5}})?(?:[/?#]\S*)?", re.ASCII
)


def _is_url(text: str) -> bool:
    """Return whether the text is a URL with a scheme, which Go can parse."""
    try:
        return bool(parse_url(text).scheme)
    except ValueError:
        return False


def _is_address(text: str) -> bool:
    """Return whether the text is a URL with or without a scheme, as helm accepts it of maintainers."""
    try:
        url = parse_url(f"http://{text}" if ":" in text and "://" not in text else text)
    except ValueError:
        return False
    if not 3 < len(text) < 2083 or text.startswith(".") or url.host.startswith("."):
        return False
    return bool(url.host or not url.path or "." in url.path) and _ADDRESS.fullmatch(text) is not None
