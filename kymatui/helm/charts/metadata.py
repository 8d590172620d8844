"""Chart.yaml, requirements.yaml and lock files, with Helm's validation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, Final, NamedTuple

from kymatui.errors import HelmError
from kymatui.helm.charts.structs import DECODING, anything, boolean, decode_yaml, sequence, string_map, struct, text
from kymatui.helm.govalues.quoting import is_print, quote
from kymatui.helm.semver.versions import SemverError, parse_version
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.moments import parse_moment
from kymatui.patterns import deferred

V1: Final = "v1"
_ALIAS: Final = deferred(r"[a-zA-Z0-9_-]+\Z")
_SPACES: Final = frozenset("\t\n\v\f\r \x85\xa0")


class Maintainer:
    """An entry of `maintainers`."""

    __slots__ = ("email", "name", "url")

    def __init__(self, name: str = "", email: str = "", url: str = "") -> None:
        self.name = name
        self.email = email
        self.url = url


class Dependency:
    """An entry of `dependencies`: chart, version range, and conditions."""

    __slots__ = ("alias", "condition", "enabled", "import_values", "name", "repository", "tags", "version")

    def __init__(
        self,
        name: str = "",
        version: str = "",
        repository: str = "",
        condition: str = "",
        tags: Iterable[str] = (),
        enabled: bool = False,
        import_values: Iterable[Any] = (),
        alias: str = "",
    ) -> None:
        self.name = name
        self.version = version
        self.repository = repository
        self.condition = condition
        self.tags = list(tags)
        self.enabled = enabled
        self.import_values = list(import_values)
        self.alias = alias


class Metadata:
    """Chart.yaml; a v1 chart's dependencies are in requirements.yaml. None: no `dependencies` at all."""

    __slots__ = (
        "annotations",
        "api_version",
        "app_version",
        "condition",
        "dependencies",
        "deprecated",
        "description",
        "home",
        "icon",
        "keywords",
        "kube_version",
        "maintainers",
        "name",
        "sources",
        "tags",
        "type",
        "version",
    )

    def __init__(self) -> None:
        self.api_version = self.name = self.version = self.type = ""
        self.app_version = self.kube_version = ""
        self.description = self.home = self.icon = ""
        self.condition = self.tags = ""
        self.deprecated = False
        self.sources: list[str] = []
        self.keywords: list[str] = []
        self.maintainers: list[Maintainer] = []
        self.annotations: dict[str, str] | None = None
        self.dependencies: list[Dependency] | None = None

    def copy(self) -> Metadata:
        """Return a copy with its own dependencies."""
        metadata = copy(self)
        if self.dependencies is not None:
            metadata.dependencies = [copy(dependency) for dependency in self.dependencies]
        return metadata


class Lock(NamedTuple):
    """Chart.lock or requirements.lock: creation time, digest of the requirements, resolved versions."""

    generated: str
    digest: str
    dependencies: tuple[Dependency, ...]


_MOMENT: Final = deferred(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
_NO_MAINTAINER: Final = Maintainer("\0")
_NO_DEPENDENCY: Final = Dependency("\0")
_MAINTAINER = struct("v2.Maintainer", {"name": text, "email": text, "url": text}, lambda fields: Maintainer(**fields))
_STRINGS = sequence(text, "[]string", str)
_DEPENDENCY = struct(
    "v2.Dependency",
    {
        "name": text,
        "version": text,
        "repository": text,
        "condition": text,
        "tags": _STRINGS,
        "enabled": boolean,
        "import-values": sequence(anything, "[]interface {}", lambda: None),
        "alias": text,
    },
    lambda fields: Dependency(**{name.replace("-", "_"): part for name, part in fields.items()}),
)
_DEPENDENCIES = sequence(_DEPENDENCY, "[]*v2.Dependency", lambda: _NO_DEPENDENCY)
_FIELDS: Final = {
    "name": text,
    "home": text,
    "sources": _STRINGS,
    "version": text,
    "description": text,
    "keywords": _STRINGS,
    "maintainers": sequence(_MAINTAINER, "[]*v2.Maintainer", lambda: _NO_MAINTAINER),
    "icon": text,
    "apiVersion": text,
    "condition": text,
    "tags": text,
    "appVersion": text,
    "deprecated": boolean,
    "annotations": string_map,
    "kubeVersion": text,
    "dependencies": _DEPENDENCIES,
    "type": text,
}
_METADATA = struct("v2.Metadata", _FIELDS, dict)

FIELDS: Final = frozenset(_FIELDS)
"""The fields of Chart.yaml."""
NESTED_FIELDS: Final = {
    "maintainers": frozenset({"name", "email", "url"}),
    "dependencies": frozenset(
        {"name", "version", "repository", "condition", "tags", "enabled", "import-values", "alias"}
    ),
}
"""The fields of its entries."""


def _generated(value: Any, _field: str) -> str:
    """Return a time.Time in RFC 3339. Raise YamlError with Go's JSON message."""
    if not isinstance(value, str):
        raise YamlError(f"{DECODING}Time.UnmarshalJSON: input is not a JSON string")
    try:
        if _MOMENT.fullmatch(value) and parse_moment(value):
            return value
    except ValueError:
        pass
    from kymatui.helm.gotime.calendar import UTC_LOCATION
    from kymatui.helm.gotime.time_parser import parse_time

    try:
        parse_time("2006-01-02T15:04:05Z07:00", json.dumps(value, ensure_ascii=False)[1:-1], UTC_LOCATION)
    except ValueError as error:
        raise YamlError(f"{DECODING}{error}") from error
    return value


_LOCK = struct("v2.Lock", {"generated": _generated, "digest": text, "dependencies": _DEPENDENCIES}, dict)
_NAMES: Final = {"apiVersion": "api_version", "appVersion": "app_version", "kubeVersion": "kube_version"}


def read_into(metadata: Metadata, data: bytes, budget: YamlBudget | None = None) -> None:
    """Read Chart.yaml (or requirements.yaml) over existing metadata. Raise YamlError."""
    for name, value in (decode_yaml(data, _METADATA, budget) or {}).items():
        setattr(metadata, _NAMES.get(name, name), value)


def read_lock(data: bytes, budget: YamlBudget | None = None) -> Lock:
    lock = decode_yaml(data, _LOCK, budget) or {}
    return Lock(lock.get("generated", ""), lock.get("digest", ""), tuple(lock.get("dependencies", ())))


_NEEDED: Final = "Chart.yaml needs `apiVersion: v2`, a name, and a version such as 1.0.0."


def check_metadata(metadata: Metadata) -> None:
    """Clean texts and check fields (Helm's Metadata.Validate). Raise HelmError."""
    for name in ("name", "description", "home", "icon", "condition", "tags", "app_version", "kube_version"):
        setattr(metadata, name, clean(getattr(metadata, name)))
    metadata.sources = [clean(source) for source in metadata.sources]
    metadata.keywords = [clean(keyword) for keyword in metadata.keywords]
    if problem := _problem(metadata):
        raise HelmError(f"validation: {problem}", hint=_NEEDED)
    for maintainer in metadata.maintainers:
        if maintainer is _NO_MAINTAINER:
            raise HelmError("validation: maintainers must not contain empty or null nodes")
        maintainer.name, maintainer.email = clean(maintainer.name), clean(maintainer.email)
        maintainer.url = clean(maintainer.url)
    _check_dependencies(metadata.dependencies or ())


def _problem(metadata: Metadata) -> str:
    name, version = metadata.name, metadata.version
    if not metadata.api_version:
        return "chart.metadata.apiVersion is required"
    if not name:
        return "chart.metadata.name is required"
    if name in (".", ".."):
        return f"chart.metadata.name {quote(name)} is not allowed"
    if "/" in name:
        return f"chart.metadata.name {quote(name)} is invalid"
    if not version:
        return "chart.metadata.version is required"
    try:
        parse_version(version)
    except SemverError:
        return f"chart.metadata.version {quote(version)} is invalid"
    return (
        ""
        if metadata.type in ("", "application", "library")
        else ("chart.metadata.type must be application or library")
    )


def _check_dependencies(dependencies: Iterable[Dependency]) -> None:
    known: set[str] = set()
    for dependency in dependencies:
        if dependency is _NO_DEPENDENCY:
            raise HelmError("validation: dependencies must not contain empty or null nodes")
        dependency.name, dependency.version, dependency.repository = (
            clean(dependency.name),
            clean(dependency.version),
            clean(dependency.repository),
        )
        dependency.condition, dependency.tags = clean(dependency.condition), [clean(tag) for tag in dependency.tags]
        if dependency.alias and not _ALIAS.match(dependency.alias):
            raise HelmError(f"validation: dependency {quote(dependency.name)} has disallowed characters in the alias")
        key = dependency.alias or dependency.name
        if key in known:
            raise HelmError(f"validation: more than one dependency with name or alias {quote(key)}")
        known.add(key)


def metadata_fields(metadata: Metadata) -> dict[str, Any]:
    """Return Chart.yaml's fields by their names, without empty ones."""
    return omit_empty(
        {
            "name": metadata.name,
            "home": metadata.home,
            "sources": metadata.sources,
            "version": metadata.version,
            "description": metadata.description,
            "keywords": metadata.keywords,
            "maintainers": [
                omit_empty({"name": maintainer.name, "email": maintainer.email, "url": maintainer.url})
                for maintainer in metadata.maintainers
            ],
            "icon": metadata.icon,
            "apiVersion": metadata.api_version,
            "condition": metadata.condition,
            "tags": metadata.tags,
            "appVersion": metadata.app_version,
            "deprecated": metadata.deprecated,
            "annotations": metadata.annotations,
            "kubeVersion": metadata.kube_version,
            "dependencies": [dependency_fields(dependency) for dependency in metadata.dependencies or ()],
            "type": metadata.type,
        }
    )


def dependency_fields(dependency: Dependency) -> dict[str, Any]:
    """Return a dependency's fields by their names; Helm writes name and repository even if they are empty."""
    optional = {
        "version": dependency.version,
        "condition": dependency.condition,
        "tags": dependency.tags,
        "enabled": dependency.enabled,
        "import-values": dependency.import_values,
        "alias": dependency.alias,
    }
    return {"name": dependency.name, "repository": dependency.repository, **omit_empty(optional)}


def omit_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Apply Go's omitempty."""
    return {name: value for name, value in fields.items() if value}


def clean(value: str) -> str:
    """Replace all kinds of white space by spaces and remove unprintable characters."""
    if value.isascii() and value.isprintable():
        return value
    return "".join(" " if _is_space(char) else char for char in value if _is_space(char) or is_print(char))


def _is_space(char: str) -> bool:
    return char in _SPACES or (char > "\xff" and char.isspace())
